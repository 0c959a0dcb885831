"""Brings loose objects and packs of ours together in one pack with deltas, and drops the files that it replaces.

Nothing is judged here: what is in a file that goes is in the new pack, wanted by a snapshot or not. Packs roll up as
with `git repack --geometric=2`: each that stays holds at least twice as many objects as all smaller ones together, so
an object is packed again a number of times that grows with the logarithm of all there are.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import threading
from typing import TYPE_CHECKING

import attrs
import pygit2
from pygit2.ffi import C, ffi

from snapd.core.errors import StoreCorrupt, os_errors
from snapd.core.model import ObjectId

from .durable import PRIVATE_FILE, make_directories, remove_if_there, sync_directory, sync_if_there
from .expiry import CHEAP_BYTES, PACK_ENDINGS, drop_summaries, pack_names
from .loose import loose_files, read_whole
from .objects import KINDS, decode_tree
from .packindex import PackIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .objects import ObjectKind
    from .repository import ShadowRepository

PACKING = "packing"
"""The directory in the store where new packs are written."""

LARGE_BYTES = 8 << 20
"""A loose file above this stays loose: libgit2 would hold all of it in memory."""


class Revoked(Exception):
    """The permission to consolidate was withdrawn; nothing was dropped."""


class Permission:
    """Lets a consolidation drop files, until it is revoked. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.revoked = False

    def revoke(self) -> None:
        """Withdraws it: nothing of the repository is changed once this returns. Waits for files that go right now."""
        self.revoked = True
        with self._lock:
            pass

    def check(self) -> None:
        """Raises `Revoked` where it was withdrawn."""
        if self.revoked:
            raise Revoked

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """While the repository is changed; raises `Revoked` where that may not be any more."""
        with self._lock:
            self.check()
            yield


@attrs.frozen
class Holdings:
    """What could be packed together.

    Attributes:
        loose: the file of each loose object that is ours alone and not large.
        packs: by name, those that are ours alone and not large, ascending by their number of objects.
        others: how many packs there are besides.
    """

    loose: Mapping[ObjectId, str]
    packs: Mapping[str, PackIndex]
    others: int


@attrs.frozen
class Consolidated:
    """What a consolidation left.

    Attributes:
        packed: objects that were packed.
        loose: loose objects that stayed, among those that could have been packed.
        packs: packs that there are now.
    """

    packed: int
    loose: int
    packs: int


def survey(repository: ShadowRepository) -> Holdings:
    """Lists what could be packed together; what the user's git has too, or would take long, is left alone.

    Raises:
        StoreCorrupt: a pack is damaged, or its index is not of version 2.
        IoError: the repository cannot be listed.
    """
    loose = {
        oid: entry.path
        for oid, entry in loose_files(repository.objects)
        if (status := _status(entry.path)) is not None and status.st_nlink == 1 and status.st_size <= LARGE_BYTES
    }
    packs = {}
    names = pack_names(repository)
    for name in names:
        path = os.path.join(repository.pack_directory, name)
        status = _status(f"{path}.pack")
        if status is None or status.st_nlink > 1 or status.st_size > CHEAP_BYTES or os.path.exists(f"{path}.keep"):
            continue
        index = PackIndex.load(f"{path}.idx", f"{path}.pack")
        if index is None:
            raise StoreCorrupt(f"{path} is damaged, or its index is not of version 2", object=name)
        packs[name] = index
    ascending = dict(sorted(packs.items(), key=lambda item: (item[1].count, item[0])))
    return Holdings(loose, ascending, len(names) - len(packs))


def rolled_up(holdings: Holdings) -> list[str]:
    """The packs to bring together with the loose objects, so that each of the rest outweighs all below it twice."""
    below = len(holdings.loose)
    chosen = 0
    for place, index in enumerate(holdings.packs.values(), 1):
        if index.count < 2 * below:
            chosen = place
        below += index.count
    return list(holdings.packs)[:chosen]


def consolidate(
    repository: ShadowRepository, holdings: Holdings, packs: list[str], permission: Permission, threads: int
) -> Consolidated:
    """Writes one pack of the loose objects and of some packs, and drops these.

    Others may read and write meanwhile. Whenever it ends, each object is in a durable file of the repository.

    Args:
        repository: where to.
        holdings: what was found in it.
        packs: the names of those to roll up.
        permission: asked before each phase.
        threads: how many look for deltas; 0 for one on each processor.

    Raises:
        Revoked: as the permission has it.
        StoreCorrupt: an object is damaged; nothing was dropped.
        StorageFull, IoError: what was not dropped is there twice, at most.
    """
    directory = os.path.join(repository.path, PACKING, secrets.token_hex(8))
    members = set(holdings.loose)
    for name in packs:
        members |= holdings.packs[name].ids()
    total = len(holdings.packs) + holdings.others
    if not members:
        return Consolidated(0, 0, total)
    with permission.used():
        _remove_leftovers(repository)
        make_directories(directory)
    try:
        written = _write(repository, holdings, members, directory, permission, threads)
        with permission.used(), os_errors(repository.pack_directory):
            _move_in(repository, written, directory)
            # before anything goes: whoever misses an object from here on looks at the new pack
            repository.swept()
            _drop(repository, holdings, [name for name in packs if name != written])
    finally:
        # what cannot be removed is a leftover for the next time
        shutil.rmtree(directory, ignore_errors=True)
        repository.swept()
    return Consolidated(len(members), 0, total - len(packs) + 1)


def tidy(repository: ShadowRepository) -> None:
    """Removes empty directories of loose objects and packs without an index; nobody may write meanwhile."""
    indexed = set(pack_names(repository))
    with os_errors(repository.pack_directory):
        for name in os.listdir(repository.pack_directory):
            if name.startswith("pack-") and name.endswith(".pack") and name[:-5] not in indexed:
                os.unlink(os.path.join(repository.pack_directory, name))
    with os_errors(repository.objects):
        for entry in list(os.scandir(repository.objects)):
            if len(entry.name) == 2 and entry.is_dir(follow_symlinks=False) and not os.listdir(entry.path):
                os.rmdir(entry.path)


class _PackBuilder(pygit2.PackBuilder):
    """Tells libgit2 the name of a file, by which it finds versions of the same; pygit2 itself has none to tell."""

    def add_named(self, oid: ObjectId, name: bytes) -> None:
        target = ffi.new("git_oid *")
        ffi.buffer(target)[:] = oid
        if C.git_packbuilder_insert(self._packbuilder, target, name):
            raise pygit2.GitError(f"object {oid.hex()} cannot be packed")


def _write(
    repository: ShadowRepository,
    holdings: Holdings,
    members: set[ObjectId],
    directory: str,
    permission: Permission,
    threads: int,
) -> str:
    """Writes the pack aside, durably; gives its name without an ending, once all members are seen to be in it."""
    try:
        # a handle of its own: it must not outlive the files that go
        handle = pygit2.Repository(repository.path)
        builder = _PackBuilder(handle)
        builder.set_threads(threads)
        for oid, called in _in_order(handle, holdings, members, permission).items():
            permission.check()
            builder.add_named(oid, called)
        builder.write(directory)
    except (KeyError, pygit2.GitError) as error:
        permission.check()
        raise StoreCorrupt(f"{repository.path} cannot be packed: {error}", object=repository.path) from error
    permission.check()
    with os_errors(directory):
        names = [entry[:-4] for entry in os.listdir(directory) if entry.endswith(".idx")]
        if len(names) != 1:
            raise StoreCorrupt(f"{directory} holds {len(names)} packs instead of one", object=directory)
        name = names[0]
        path = os.path.join(directory, name)
        for ending in ("pack", "idx"):
            os.chmod(f"{path}.{ending}", PRIVATE_FILE)
            sync_if_there(f"{path}.{ending}")
    # libgit2 made the index from the bytes of the pack, not from what it was asked to write
    index = PackIndex.load(f"{path}.idx", f"{path}.pack")
    if index is None or index.among(members) != members:
        raise StoreCorrupt(f"{path}.pack does not hold what was packed", object=name)
    return name


def _in_order(
    handle: pygit2.Repository, holdings: Holdings, members: set[ObjectId], permission: Permission
) -> dict[ObjectId, bytes]:
    """The members, newest first, each with the name that a tree gives it; loose ones are checked on the way.

    libgit2 looks for deltas among objects of one name and size in the order in which it was told of them.
    """
    below: dict[ObjectId, list[tuple[ObjectId, bytes]]] = {}
    commits: dict[ObjectId, tuple[ObjectId, ObjectId | None]] = {}
    for oid in sorted(members):
        permission.check()
        kind, data = _member(handle, holdings, oid)
        if kind == "tree":
            below[oid] = [(entry.oid, entry.name) for entry in decode_tree(data, oid) if entry.oid in members]
        elif kind == "commit":
            commits[oid] = _parsed(data)
    found: dict[ObjectId, bytes] = {}
    trees = []
    parents = {parent for _, parent in commits.values()}
    for head in commits.keys() - parents:
        commit: ObjectId | None = head
        while commit is not None and commit in commits:
            found[commit] = b""
            tree, commit = commits[commit]
            trees.append(tree)
    for tree in trees:
        pending = [(tree, b"")] if tree in members else []
        while pending:
            oid, name = pending.pop()
            if oid not in found:
                found[oid] = name
                pending += below.get(oid, ())
    # what hangs on no commit among the members
    for entries in below.values():
        for oid, name in entries:
            found.setdefault(oid, name)
    return found | dict.fromkeys(sorted(members - found.keys()), b"")


def _member(handle: pygit2.Repository, holdings: Holdings, oid: ObjectId) -> tuple[ObjectKind, bytes]:
    """Type and bytes of a member; of a blob in a pack, which libgit2 checks as it packs it, no bytes."""
    path = holdings.loose.get(oid)
    # libgit2 never returns from one that is cut short; it may have been packed by a git run by hand
    loose = read_whole(path, oid) if path is not None else None
    if loose is not None:
        return loose
    key = pygit2.Oid(raw=oid)
    kind = KINDS[int(handle.odb.read_header(key)[0])]
    return (kind, b"") if kind == "blob" else (kind, bytes(handle.odb.read(key)[1]))


def _parsed(commit: bytes) -> tuple[ObjectId, ObjectId | None]:
    """The tree of a commit, and its first parent."""
    lines = commit.split(b"\n", 2)
    parent = lines[1].removeprefix(b"parent ") if lines[1].startswith(b"parent ") else None
    return bytes.fromhex(lines[0][5:].decode()), bytes.fromhex(parent.decode()) if parent else None


def _move_in(repository: ShadowRepository, name: str, directory: str) -> None:
    # git takes a pack for there when it sees the index, so the pack comes first
    for ending in ("pack", "idx"):
        os.rename(
            os.path.join(directory, f"{name}.{ending}"), os.path.join(repository.pack_directory, f"{name}.{ending}")
        )
    sync_directory(repository.pack_directory)


def _drop(repository: ShadowRepository, holdings: Holdings, packs: list[str]) -> None:
    drop_summaries(repository)
    for name in packs:
        for ending in PACK_ENDINGS:
            remove_if_there(os.path.join(repository.pack_directory, f"{name}.{ending}"))
    for path in holdings.loose.values():
        remove_if_there(path)


def _remove_leftovers(repository: ShadowRepository) -> None:
    path = os.path.join(repository.path, PACKING)
    with os_errors(path), contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None
