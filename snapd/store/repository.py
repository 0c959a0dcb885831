"""The shadow repository on disk: created if it does not exist, read by our own code, written through batches."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TypeVar

import pygit2

from snapd.model.errors import StoreCorrupt, os_errors
from snapd.model.snapshot import EMPTY_TREE, ObjectId, Snapshot, TreeEntry
from snapd.model.timeline import SnapshotId
from snapd.store.coverage import Coverages
from snapd.store.files.durable import DamagedData, make_directories, reading, write_file
from snapd.store.files.space import PROJECT, TotalSize
from snapd.store.journal.journal import JOURNAL, Journal
from snapd.store.objects.cache import RecentCache
from snapd.store.objects.codec import ObjectKind, decode_commit, decode_tree, differing_entries
from snapd.store.objects.loose import describe, expand_loose, object_path, read_chunks, read_whole
from snapd.store.objects.pack_index import KnownPacks, PackIndexes
from snapd.store.refs.database import ReferenceDatabase

T = TypeVar("T")

FORMAT_VERSION = 3
"""Since version 2, snapshots are events; since version 3, notes have one file: see `upgrade`."""
_KEPT_ENTRIES = 32_768
"""The most directory entries cached for lookups, about 10 MB."""
_KEPT_TREES, _LARGEST_TREE = 1 << 20, 1 << 16
"""The most bytes of trees cached for comparison, and of one of them: a step compares the same ones again."""
_OPEN_AGAIN = "close the folder in every client and open it again: snapd then begins a new store"

_CONFIG = f"""[core]
\trepositoryformatversion = 0
\tbare = true
\tautocrlf = false
\tlogAllRefUpdates = false
\tsharedRepository = 0600
[gc]
\tauto = 0
[pack]
\tdeltaCacheSize = 8m
\twindowMemory = 16m
[snapd]
\tversion = {FORMAT_VERSION}
"""
# a git command run by hand on the store must not convert or hide anything
_ATTRIBUTES = "* -text -ident !eol !filter !working-tree-encoding !diff !merge\n"


class ShadowRepository:
    """A bare git repository with the snapshots of one workspace, owned by the caller; created if it does not exist.

    Raises `StoreCorrupt` if it was made by a newer snapd, or is not a repository. Every method that reads an object
    raises `StoreCorrupt` if it is missing, damaged or of another kind, and `IoError` if it cannot be read now.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.objects = os.path.join(path, "objects")
        self.pack_directory = os.path.join(self.objects, "pack")
        self._size = TotalSize(path, JOURNAL, besides=PROJECT)
        self._sweeps = 0
        self._is_empty = True
        if not os.path.exists(os.path.join(path, "HEAD")):
            self._create()
        check_version(self.path)
        with os_errors(path):
            status = os.stat(path)
        self._identity = (status.st_dev, status.st_ino)
        self.packs = PackIndexes(self.pack_directory)
        self._directories: RecentCache[ObjectId, dict[bytes, TreeEntry]] = RecentCache(_KEPT_ENTRIES, len)
        self._trees: RecentCache[ObjectId, bytes] = RecentCache(_KEPT_TREES, len, _LARGEST_TREE)
        self.references = ReferenceDatabase(path)
        self.references.clear_locks()
        self.journal = Journal(path, self.references)
        self.journal.replay(self._before)
        self.coverages = Coverages()

    def check_present(self) -> None:
        """Raises `StoreCorrupt` if the store was deleted or replaced while it was open."""
        try:
            status = os.stat(self.path)
            os.stat(os.path.join(self.path, "HEAD"))
        except OSError as error:
            raise StoreCorrupt(f"the store {self.path} is gone", hint=_OPEN_AGAIN, object=self.path) from error
        if (status.st_dev, status.st_ino) != self._identity:
            raise StoreCorrupt(f"the store {self.path} was replaced", hint=_OPEN_AGAIN, object=self.path)

    def is_empty(self) -> bool:
        """Whether no object was stored yet."""
        if self._is_empty and not self.journal:
            with os_errors(self.objects):
                # a plain file there was left by a process that was killed; a large store has a pack
                self._is_empty = not _had_files(self.pack_directory) and not any(
                    _had_files(entry.path)
                    for entry in list(os.scandir(self.objects))
                    if entry.name != "info" and entry.is_dir(follow_symlinks=False)
                )
        return self._is_empty and not self.journal

    def has(self, oid: ObjectId, packs: KnownPacks | None = None) -> bool:
        """Whether the object is stored. A caller that asks for many objects passes the packs as of a moment ago."""
        known = packs if packs is not None else self.packs.now()
        # the journal first: an object becomes a file before it leaves the journal
        return oid in self.journal or oid in known or os.path.exists(object_path(self.objects, oid))

    def read_blob(self, oid: ObjectId) -> bytes:
        """Reads a file."""
        return self._read(oid, "blob")

    def read_small_blob(self, oid: ObjectId, most: int) -> bytes | None:
        """Reads a file; None if it has more than `most` bytes."""
        result = self.packs.read(oid, most)
        if result is not None and result[0] == "blob":
            return result[1]
        return None if self.blob_size(oid) > most else self.read_blob(oid)

    def read_tree(self, oid: ObjectId) -> tuple[TreeEntry, ...]:
        """Reads the entries of a directory."""
        return decode_tree(self._tree(oid), oid)

    def entry_in(self, tree: ObjectId, name: bytes) -> TreeEntry | None:
        """Returns the entry of a directory with a name, or None. Many names of one directory cost one read.

        Also raises `StoreCorrupt` if the directory has a name twice, so it was forged.
        """
        if tree == EMPTY_TREE:
            return None
        directory = self._directories.get(tree)
        if directory is None:
            entries = self.read_tree(tree)
            directory = {entry.name: entry for entry in entries}
            if len(directory) < len(entries):
                raise StoreCorrupt(f"tree {tree.hex()} has a name twice", object=tree.hex())
            self._directories.keep(tree, directory)
        return directory.get(name)

    def differing(self, old: ObjectId, new: ObjectId) -> list[tuple[TreeEntry | None, TreeEntry | None]]:
        """Returns the entries in which two directories differ, each as (old, new), in no order."""
        return differing_entries((old, self._tree(old)), (new, self._tree(new)))

    def read_commit(self, oid: ObjectId) -> bytes:
        """Reads a commit."""
        return self._read(oid, "commit")

    def load(self, snapshot: SnapshotId) -> Snapshot:
        """Loads the snapshot that an event names."""
        return Snapshot(snapshot.tree, self.coverages.decoded(snapshot.coverage, self.read_blob))

    def blob_size(self, oid: ObjectId) -> int:
        """Returns the size of a file in bytes, without reading all of it."""
        kind, size = self.describe(oid)
        if kind != "blob":
            raise self._damaged(oid)
        return size

    def blob_chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """Yields the bytes of a file, in pieces if it is loose; the last comes only if all of them match the id."""
        loose = read_chunks(object_path(self.objects, oid), oid)
        if loose is not None:
            yield from loose
        else:
            yield self.read_blob(oid)

    def forget_packs(self) -> None:
        """Makes every thread list the packs again: some were removed, or are about to be."""
        self._sweeps += 1
        self.packs.forget()
        self._directories.clear()
        self._trees.clear()

    def bytes_on_disk(self) -> int:
        """The bytes of all files of the store, without the small journal and what the project's git has, too.

        What only the journal has counts as the files that it becomes in a moment.
        """
        return self._size.bytes() + self.journal.recorded_bytes

    def read(self, oid: ObjectId) -> tuple[ObjectKind, bytes]:
        """Reads an object, which matches its id, with its type."""
        return self._waiting(oid) or self._find(oid, self.packs.read, read_whole)

    def describe(self, oid: ObjectId) -> tuple[ObjectKind, int]:
        """Returns the type and the size in bytes that an object states."""
        if (waiting := self._waiting(oid)) is not None:
            return waiting[0], len(waiting[1])
        return self._find(oid, self.packs.describe, describe)

    def _waiting(self, oid: ObjectId) -> tuple[ObjectKind, bytes] | None:
        """Reads an object that waits in the journal: reading it is no reason to sync."""
        compressed = self.journal.waiting(oid)
        return None if compressed is None else expand_loose(compressed, oid)

    def _find(
        self, oid: ObjectId, in_packs: Callable[[ObjectId], T | None], loose: Callable[[str, ObjectId], T | None]
    ) -> T:
        while True:
            sweeps = self._sweeps
            # packs again: a git command run on the store may just have packed it
            t = in_packs(oid) or loose(object_path(self.objects, oid), oid) or in_packs(oid)
            if t is not None:
                return t
            # otherwise its file was removed meanwhile, and it is in another one now
            if self._sweeps == sweeps:
                self.check_present()
                raise self._damaged(oid)

    def _read(self, oid: ObjectId, kind: ObjectKind) -> bytes:
        result, data = self.read(oid)
        if result != kind:
            raise self._damaged(oid)
        return data

    def _tree(self, oid: ObjectId) -> bytes:
        data = self._trees.get(oid)
        if data is None:
            data = self._read(oid, "tree")
            self._trees.keep(oid, data)
        return data

    def _before(self, commit: ObjectId) -> ObjectId | None:
        try:
            return decode_commit(self.read_commit(commit), commit)[1]
        except StoreCorrupt:
            return None

    def _damaged(self, oid: ObjectId) -> StoreCorrupt:
        return StoreCorrupt(f"object {oid.hex()} is missing or damaged", object=oid.hex())

    def _create(self) -> None:
        for directory in ("objects/pack", "objects/info", "refs/heads", "refs/snapd", "info"):
            make_directories(os.path.join(self.path, directory))
        write_config(self.path)


def check_version(store: str) -> None:
    """Raises `StoreCorrupt` if a directory is no store of this version: `data["object"]` is its `config`, or itself."""
    refuse_newer(store)
    if version_of(store) is None:
        path = os.path.join(store, "config")
        raise StoreCorrupt(f"{path} does not say that this is a store of snapd", object=path)


def refuse_newer(store: str) -> None:
    """Raises `StoreCorrupt` if the store has a newer format; other damage is detected later."""
    version = version_of(store)
    if version is not None and version > FORMAT_VERSION:
        raise StoreCorrupt(
            f"{store} was made by a newer snapd (format {version}, this one knows {FORMAT_VERSION})",
            hint="use the newer snapd",
            object=store,
        )


def version_of(store: str) -> int | None:
    """Returns the format of a store; None if its `config` does not state it. Raises `IoError` if it is unreadable."""
    path = os.path.join(store, "config")
    try:
        return int(pygit2.Config(path)["snapd.version"] or "")
    except (OSError, KeyError, ValueError, pygit2.GitError):
        # libgit2 does not say whether the file could not be read just now
        with contextlib.suppress(FileNotFoundError, DamagedData), reading(path), open(path, "rb") as file:
            file.read()
        return None


def write_config(store: str) -> None:
    """Writes the files that make the directory a git repository, durably; raises `StorageFull`, `IoError`."""
    write_file(os.path.join(store, "config"), _CONFIG.encode())
    write_file(os.path.join(store, "info", "attributes"), _ATTRIBUTES.encode())
    # HEAD last: if it exists, so does the rest
    write_file(os.path.join(store, "HEAD"), b"ref: refs/heads/none\n")


def _had_files(directory: str) -> bool:
    try:
        return bool(os.listdir(directory))
    except FileNotFoundError:
        # a git command run by hand packed its objects just now
        return True
