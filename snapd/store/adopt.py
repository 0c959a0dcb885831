"""Adopts objects of the user's own git, or of another store, by links or copies, so that they need not be made again.

Many loose objects become one pack, because a sync and a name for each takes longer than making it anew. The user's
directories are only read, by our own code, which does not trust them. Missing files are skipped.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress

from snapd.failpoints import failpoint
from snapd.model.errors import FULL, StoreCorrupt, os_errors
from snapd.model.snapshot import Entry, ObjectId, RelPath, TreeEntry
from snapd.model.trees import file_at
from snapd.store.files.durable import (
    PRIVATE_FILE,
    DamagedData,
    ignoring_unreadable,
    remove_if_there,
    sync_directory,
    sync_if_there,
)
from snapd.store.objects.codec import ObjectKind, decode_tree
from snapd.store.objects.loose import check_loose, describe, loose_files, move_in, object_path, read_whole
from snapd.store.objects.pack_entry import pack_object
from snapd.store.objects.pack_index import PackIndex, PackIndexes
from snapd.store.objects.pack_writer import PackWriter

from .repository import ShadowRepository

COPY_BYTES = 64 << 20
COPY_BYTES_EACH = 16 << 10
"""A pack is copied if it has at most `COPY_BYTES`, or this for each wanted object in it.

A source file takes about 4 KiB in a pack, and copying 16 KiB takes less time than compressing that file.
"""

LOOSE_COUNT = 32
"""More loose objects than this become one pack."""
PACKED_BYTES = 8 << 20
"""Larger loose objects are never read into memory."""

_NO_LINKS = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EACCES, errno.ENOTSUP, errno.ENOSYS})
_COPY_CHUNK = 1 << 20
_LINK = re.compile(rb"^(?:tree|parent) ([0-9a-f]{40})$", re.MULTILINE)


def adopt(
    repository: ShadowRepository, directories: Sequence[bytes], wanted: Collection[ObjectId]
) -> frozenset[ObjectId]:
    """Adds objects of the user's repository and its alternates, durably; returns those of `wanted` that exist now.

    `directories` are absolute paths of `objects` directories. A loose object is compared with its id; of a pack, only
    its index, both ends and the counts are compared.
    """
    missing = set(wanted)
    missing -= repository.packs.among(missing)
    missing -= set(loose_among(repository.objects, missing))
    sources = [os.fsdecode(directory) for directory in directories]
    for adopt_from in (_adopt_packs, adopt_loose):
        for source in sources:
            if missing:
                missing -= adopt_from(repository, source, missing)
    return frozenset(wanted) - missing if missing else frozenset(wanted)


# -- packs


def _adopt_packs(repository: ShadowRepository, source: str, missing: set[ObjectId]) -> set[ObjectId]:
    directory = os.path.join(source, "pack")
    object_ids: set[ObjectId] = set()
    for name in _names(directory):
        if len(object_ids) == len(missing):
            break
        if name.startswith("pack-") and name.endswith(".idx"):
            object_ids |= _adopt_pack(repository, os.path.join(directory, name[:-4]), missing - object_ids)
    if object_ids:
        with os_errors(repository.pack_directory):
            sync_directory(repository.pack_directory)
        repository.packs.forget()
    return object_ids


def _adopt_pack(repository: ShadowRepository, base: str, missing: set[ObjectId]) -> set[ObjectId]:
    theirs = PackIndex.load(f"{base}.idx", f"{base}.pack")
    if theirs is None or not (object_ids := theirs.among(missing)):
        return set()
    temporary = os.path.join(repository.pack_directory, f"tmp_adopt_{secrets.token_hex(8)}")
    pack, index = f"{temporary}.pack_", f"{temporary}.idx_"
    budget = max(COPY_BYTES, COPY_BYTES_EACH * len(object_ids))
    try:
        # git deletes the index first, so if both exist in this order, they belong together
        if not own_file(f"{base}.pack", pack, budget) or not own_file(f"{base}.idx", index, budget):
            return set()
        # the file may have been replaced since; our link cannot be
        ours = PackIndex.load(index, pack)
        if ours is None or not ours.is_copy_of(theirs):
            return set()
        with os_errors(repository.pack_directory):
            failpoint("adopt.sync")
            sync_if_there(pack)
            sync_if_there(index)
            name = os.path.join(repository.pack_directory, f"pack-{ours.checksum.hex()}")
            failpoint("adopt.rename")
            os.rename(pack, f"{name}.pack")
            failpoint("adopt.rename_index")
            os.rename(index, f"{name}.idx")
        return object_ids
    finally:
        # a rename onto another name of the same file leaves both names
        remove_if_there(pack)
        remove_if_there(index)


# -- loose objects


def adopt_loose(repository: ShadowRepository, source: str, missing: set[ObjectId]) -> set[ObjectId]:
    """Adopts loose objects of the project; returns those adopted."""
    there = set(loose_among(source, missing))
    packed = _pack_loose(repository, source, there) if len(there) > LOOSE_COUNT else set()
    return packed | _own_loose(repository, source, there - packed)


def _pack_loose(repository: ShadowRepository, source: str, there: set[ObjectId]) -> set[ObjectId]:
    """Makes one pack of the sound objects that fit into memory easily; returns these."""
    object_ids: set[ObjectId] = set()
    pack = PackWriter(repository.pack_directory)
    try:
        for oid in there:
            whole = _small_object(object_path(source, oid), oid)
            if whole is not None:
                pack.add(oid, pack_object(*whole))
                object_ids.add(oid)
        if object_ids:
            pack.finish()
            repository.packs.forget()
    finally:
        # after `finish`, this removes nothing
        pack.discard()
    return object_ids


def _small_object(path: str, oid: ObjectId) -> tuple[ObjectKind, bytes] | None:
    # by default git does not sync loose objects: a power cut may have left any of them empty
    with ignoring_unreadable(), suppress(StoreCorrupt):
        stated = describe(path, oid)
        if stated is not None and stated[1] <= PACKED_BYTES:
            return read_whole(path, oid)
    return None


def _own_loose(repository: ShadowRepository, source: str, there: set[ObjectId]) -> set[ObjectId]:
    object_ids: set[ObjectId] = set()
    for oid in there:
        temporary = os.path.join(repository.objects, f"tmp_obj_{secrets.token_hex(8)}")
        try:
            if not own_file(object_path(source, oid), temporary, COPY_BYTES) or not _is_sound(temporary, oid):
                continue
            with os_errors(repository.objects):
                sync_if_there(temporary)
                move_in(temporary, object_path(repository.objects, oid))
            object_ids.add(oid)
        finally:
            remove_if_there(temporary)
    directories = {os.path.dirname(object_path(repository.objects, oid)) for oid in object_ids}
    with os_errors(repository.objects):
        for directory in sorted(directories):
            sync_directory(directory)
        if object_ids:
            sync_directory(repository.objects)
    return object_ids


def loose_among(objects: str, wanted: Collection[ObjectId]) -> Iterator[ObjectId]:
    """Yields those of `wanted` with a loose file, damaged or not. Lists the directories instead of trying each id."""
    with ignoring_unreadable():
        yield from (oid for oid, _ in (loose_files(objects) if wanted else ()) if oid in wanted)


def _is_sound(path: str, oid: ObjectId) -> bool:
    try:
        return check_loose(path, oid) is not None
    except DamagedData:
        return False


# -- files


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def own_file(source: str, target: str, budget: int) -> bool:
    """Links a file of the user, or copies it if it has at most `budget` bytes; returns False if neither works."""
    try:
        source = os.path.realpath(source, strict=True)
        if not stat.S_ISREG(os.lstat(source).st_mode):
            return False
    except OSError:
        return False
    with os_errors(target):
        failpoint("adopt.link")
        try:
            os.link(source, target, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            return _copy(source, target, budget)
    if stat.S_ISREG(os.lstat(target).st_mode):
        return True
    os.unlink(target)
    return False


def _copy(source: str, target: str, budget: int) -> bool:
    try:
        theirs = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    with open(theirs, "rb") as file:
        status = os.fstat(theirs)
        if not stat.S_ISREG(status.st_mode) or status.st_size > budget:
            return False
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            with open(descriptor, "wb") as ours:
                failpoint("adopt.copy")
                shutil.copyfileobj(file, ours, _COPY_CHUNK)
        except OSError as error:
            remove_if_there(target)
            # the wanted objects may need far less space than the whole pack
            if error.errno in FULL:
                return False
            raise
    return True


Adopt = Callable[[Sequence[bytes], Collection[ObjectId]], frozenset[ObjectId]]
"""Copies wanted objects from other git `objects` directories, as `adopt` does; returns those stored now."""


class ProjectBlobs:
    """Objects in absolute `objects` directories that may be missing, damaged or malicious.

    Methods raise `IoError` if file descriptors or memory are lacking.
    """

    def __init__(self, directories: Sequence[bytes]) -> None:
        self._directories = [os.fsdecode(directory) for directory in directories]
        self._packs = [PackIndexes(os.path.join(directory, "pack")) for directory in self._directories]
        self._trees: dict[ObjectId, tuple[TreeEntry, ...]] = {}

    def sizes(self, wanted: Collection[ObjectId]) -> dict[ObjectId, int]:
        """Returns the sizes in bytes that packs state for the wanted blobs.

        Without loose objects: checking one takes as long as reading the file it was made from, and git does not sync
        them.
        """
        result: dict[ObjectId, int] = {}
        missing = set(wanted)
        for packs in self._packs:
            with ignoring_unreadable():
                for index in packs.now().indexes.values():
                    result.update((oid, size) for oid, kind, size in index.describe_all(missing) if kind == "blob")
                    missing -= result.keys()
        return result

    def files_at(self, commit: ObjectId, paths: Collection[RelPath], *, is_stash: bool) -> dict[RelPath, Entry]:
        """Returns the readable files and symlinks that a commit has at some paths.

        `is_stash` marks an entry of the stash, whose third parent has the files that git did not track.
        """
        result: dict[RelPath, Entry] = {}
        tree, parents = self._links(commit)
        for each in [tree, *(self._links(parent)[0] for parent in parents[2:] if is_stash)]:
            if each is not None:
                there = ((path, file_at(self._entry, each, path)) for path in paths)
                result |= {path: entry for path, entry in there if entry is not None}
        return result

    def _links(self, commit: ObjectId) -> tuple[ObjectId | None, list[ObjectId]]:
        head = (self.read(commit, PACKED_BYTES, "commit") or b"").partition(b"\n\n")[0]
        tree, *parents = (bytes.fromhex(oid.decode()) for oid in _LINK.findall(head)) if head else (None,)
        return tree, parents

    def _entry(self, tree: ObjectId, name: bytes) -> TreeEntry | None:
        if tree not in self._trees:
            with suppress(StoreCorrupt):
                self._trees[tree] = decode_tree(self.read(tree, PACKED_BYTES, "tree") or b"", tree)
        return next((entry for entry in self._trees.get(tree, ()) if entry.name == name), None)

    def read(self, oid: ObjectId, most: int, kind: ObjectKind = "blob") -> bytes | None:
        """Reads an object, which matches its id; None if it is missing, damaged, or larger than `most` bytes."""
        for directory, packs in zip(self._directories, self._packs, strict=True):
            result = None
            with ignoring_unreadable():
                result = packs.read(oid, most)
            with ignoring_unreadable(), suppress(StoreCorrupt):
                result = result or _read_loose(object_path(directory, oid), oid, most)
            if result is not None:
                return result[1] if result[0] == kind else None
        return None


def _read_loose(path: str, oid: ObjectId, most: int) -> tuple[ObjectKind, bytes] | None:
    stated = describe(path, oid)
    return None if stated is None or stated[1] > most else read_whole(path, oid)


OpenBlobs = Callable[[Sequence[bytes]], ProjectBlobs]
"""Opens the blobs in git `objects` directories; reads nothing yet."""
