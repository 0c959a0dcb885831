"""The shadow repository on disk: made where it is missing, read by our own code, written through batches."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from typing import TYPE_CHECKING

import pygit2

from snapd.core.errors import StoreCorrupt, os_errors
from snapd.store.files.disk_errors import Damaged, reading
from snapd.store.files.durable import make_directories, write_file
from snapd.store.files.walking import walked
from snapd.store.journal.journal import JOURNAL, Journal
from snapd.store.objects.codec import decode_commit, decode_tree, differing_entries
from snapd.store.objects.loose import describe, object_path, read_chunks, read_whole
from snapd.store.objects.pack_index import PackIndexes
from snapd.store.objects.tree_index import EntryIndex
from snapd.store.refs.database import ReferenceDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.model import ObjectId, TreeEntry
    from snapd.store.objects.codec import ObjectKind
    from snapd.store.objects.pack_index import KnownPacks

logger = logging.getLogger(__name__)

FORMAT_VERSION = 1
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
# so that a git run by hand on the store converts and hides nothing
_ATTRIBUTES = "* -text -ident !eol !filter !working-tree-encoding !diff !merge\n"


class ShadowRepository:
    """A bare git repository that holds the snapshots of one workspace.

    Args:
        path: its directory, which the caller owns; made, private, where it is missing.

    Attributes:
        objects: where the loose objects lie.
        pack_directory: where the packs lie.
        packs: what these hold.
        references: the references.
        journal: what makes small steps durable.

    Raises:
        StoreCorrupt: it was made by a newer snapd, or is no repository.
        IoError, StorageFull: it could not be made.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.objects = os.path.join(path, "objects")
        self.pack_directory = os.path.join(self.objects, "pack")
        self._sweeps = 0
        self._is_empty = True
        if not os.path.exists(os.path.join(path, "HEAD")):
            self._create()
        check_version(self.path)
        with os_errors(path):
            status = os.stat(path)
        self._identity = (status.st_dev, status.st_ino)
        self.packs = PackIndexes(self.pack_directory)
        self._entries = EntryIndex()
        self.references = ReferenceDatabase(path)
        self.references.clear_locks()
        self.journal = Journal(path, self.references)
        self.journal.replay(self._before)

    def check_present(self) -> None:
        """Raises `StoreCorrupt` where somebody deleted or replaced the store under us (never: "all is gone")."""
        try:
            status = os.stat(self.path)
            os.stat(os.path.join(self.path, "HEAD"))
        except OSError as error:
            raise StoreCorrupt(f"the store {self.path} is gone", hint=_OPEN_AGAIN, object=self.path) from error
        if (status.st_dev, status.st_ino) != self._identity:
            raise StoreCorrupt(f"the store {self.path} was replaced", hint=_OPEN_AGAIN, object=self.path)

    def is_empty(self) -> bool:
        """Whether no object was ever stored."""
        if self._is_empty and not self.journal:
            with os_errors(self.objects):
                # a file there is a leftover of a process that was killed
                self._is_empty = not any(
                    os.listdir(entry.path)
                    for entry in list(os.scandir(self.objects))
                    if entry.name != "info" and entry.is_dir(follow_symlinks=False)
                )
        return self._is_empty and not self.journal

    def has(self, oid: ObjectId, packs: KnownPacks | None = None) -> bool:
        """Whether the object is stored.

        Args:
            oid: its id.
            packs: those that there were a moment ago, for who asks for many.
        """
        known = packs if packs is not None else self.packs.now()
        # the journal first: what waits there becomes a file before it goes from there
        return oid in self.journal or oid in known or os.path.exists(object_path(self.objects, oid))

    def read_blob(self, oid: ObjectId) -> bytes:
        """The bytes of a file.

        Raises:
            StoreCorrupt: missing, damaged, or no blob.
        """
        return self._read(oid, "blob")

    def read_small_blob(self, oid: ObjectId, most: int) -> bytes | None:
        """The bytes of a file; None where it has more than `most`.

        Raises:
            StoreCorrupt: missing, damaged, or no blob.
        """
        found = self.packs.read(oid, most)
        if found is not None and found[0] == "blob":
            return found[1]
        return None if self.blob_size(oid) > most else self.read_blob(oid)

    def read_tree(self, oid: ObjectId) -> tuple[TreeEntry, ...]:
        """The entries of a directory.

        Raises:
            StoreCorrupt: missing, damaged, or no tree.
        """
        return decode_tree(self._read(oid, "tree"), oid)

    def entry_in(self, tree: ObjectId, name: bytes) -> TreeEntry | None:
        """What a directory has under a name; None where it has nothing. Many names of one directory cost one read.

        Raises:
            StoreCorrupt: the directory is missing, damaged, or no tree.
        """
        return self._entries.find(tree, name, self.read_tree)

    def differing(self, old: ObjectId, new: ObjectId) -> list[tuple[TreeEntry | None, TreeEntry | None]]:
        """The entries in which two directories differ, each before and after; in no order.

        Raises:
            StoreCorrupt: either is missing, damaged, or no tree.
        """
        return differing_entries((old, self._read(old, "tree")), (new, self._read(new, "tree")))

    def read_commit(self, oid: ObjectId) -> bytes:
        """The bytes of a commit.

        Raises:
            StoreCorrupt: missing, damaged, or no commit.
        """
        return self._read(oid, "commit")

    def blob_size(self, oid: ObjectId) -> int:
        """The size of a file in bytes, without reading all of it.

        Raises:
            StoreCorrupt: missing, damaged, or no blob.
            IoError: it cannot be read for now.
        """
        kind, size = self.describe(oid)
        if kind != "blob":
            raise self._damaged(oid)
        return size

    def blob_chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """The bytes of a file, in pieces where it is stored so; checked as a whole before the last one comes.

        Raises:
            StoreCorrupt: missing, damaged, or no blob.
        """
        self._place(oid)
        loose = read_chunks(object_path(self.objects, oid), oid)
        if loose is not None:
            yield from loose
        else:
            yield self.read_blob(oid)

    def swept(self) -> None:
        """Has every thread look at the disk anew: packs were removed, or are about to be."""
        self._sweeps += 1
        self.packs.forget()
        self._entries.forget()

    def bytes_on_disk(self) -> int:
        """What the store takes, in bytes of its files, but for the journal: that is small and goes by itself.

        Raises:
            IoError: a part of it cannot be listed.
        """
        total = 0
        for directory, directories, files in walked(self.path):
            if directory == self.path and JOURNAL in directories:
                directories.remove(JOURNAL)
            for name in files:
                try:
                    total += os.lstat(os.path.join(directory, name)).st_size
                except FileNotFoundError:
                    continue
        return total

    def remember_root(self, root: bytes, device: int, inode: int) -> bool:
        """Keeps which folder the store belongs to.

        Returns:
            False where the store so far belonged to another folder at the same path.

        Raises:
            IoError, StorageFull: nobody knows; or it is not kept.
        """
        path = os.path.join(self.path, "root.json")
        now = {"path": os.fsdecode(root), "device": device, "inode": inode}
        then = None
        try:
            with os_errors(path), contextlib.suppress(FileNotFoundError), open(path, encoding="ascii") as file:
                then = json.load(file)
        except ValueError:
            logger.warning("%s is damaged, and written anew", path)
        if then != now:
            write_file(path, json.dumps(now).encode("ascii"))
        return then is None or then == now

    def _place(self, oid: ObjectId) -> None:
        """Makes an object that waits in the journal part of the repository."""
        if oid in self.journal:
            self.journal.flush()

    def read(self, oid: ObjectId) -> tuple[ObjectKind, bytes]:
        """The type and the bytes of an object, which match its id.

        Raises:
            StoreCorrupt: missing or damaged.
            IoError: it cannot be read for now.
        """
        self._place(oid)
        sweeps = self._sweeps
        found = self.packs.read(oid) or read_whole(object_path(self.objects, oid), oid)
        # a git that somebody runs on the store may have put it into a pack in this moment
        found = found or self.packs.read(oid)
        if found is not None:
            return found
        # it lay in a file that went meanwhile, and lies in another now
        if self._sweeps != sweeps:
            return self.read(oid)
        self.check_present()
        raise self._damaged(oid)

    def describe(self, oid: ObjectId) -> tuple[ObjectKind, int]:
        """The type of an object and its size in bytes, as it says itself; raises as `read`."""
        self._place(oid)
        sweeps = self._sweeps
        found = self.packs.describe(oid) or describe(object_path(self.objects, oid), oid) or self.packs.describe(oid)
        if found is not None:
            return found
        if self._sweeps != sweeps:
            return self.describe(oid)
        self.check_present()
        raise self._damaged(oid)

    def _read(self, oid: ObjectId, kind: ObjectKind) -> bytes:
        found, data = self.read(oid)
        if found != kind:
            raise self._damaged(oid)
        return data

    def _before(self, commit: ObjectId) -> ObjectId | None:
        """The commit before one in its chain; None where there is none, or it cannot be read."""
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
    """Raises `StoreCorrupt` where a directory is no store of this version: `data["object"]` is its `config`, or itself.

    Args:
        store: the directory; its `config` says the version. Raises `IoError` where that cannot be read now.
    """
    refuse_newer(store)
    if _version(store) is None:
        path = os.path.join(store, "config")
        raise StoreCorrupt(f"{path} does not say that this is a store of snapd", object=path)


def refuse_newer(store: str) -> None:
    """Raises `StoreCorrupt` where a directory is a store of a newer version; whatever else is wrong is found later."""
    version = _version(store)
    if version is not None and version > FORMAT_VERSION:
        raise StoreCorrupt(
            f"{store} was made by a newer snapd (format {version}, this one knows {FORMAT_VERSION})",
            hint="use the newer snapd",
            object=store,
        )


def _version(store: str) -> int | None:
    path = os.path.join(store, "config")
    try:
        return int(pygit2.Config(path)["snapd.version"] or "")
    except (OSError, KeyError, ValueError, pygit2.GitError):
        # libgit2 does not tell whether it could not be read for a moment
        with contextlib.suppress(FileNotFoundError, Damaged), reading(path), open(path, "rb") as file:
            file.read()
        return None


def write_config(store: str) -> None:
    """Writes the files that say what a store is, durably; raises `StorageFull`, `IoError`."""
    write_file(os.path.join(store, "config"), _CONFIG.encode())
    write_file(os.path.join(store, "info", "attributes"), _ATTRIBUTES.encode())
    # last: its presence says that the rest is there
    write_file(os.path.join(store, "HEAD"), b"ref: refs/heads/none\n")
