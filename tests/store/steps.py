"""Steps taken on a bare store, with a dict as the model of what it must give back, and git as its judge."""

from __future__ import annotations

import math
import os
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.retention import Limits
from snapd.model.snapshot import REGULAR, TREE, Coverage, ObjectId, Snapshot, TreeEntry
from snapd.store.object_store import ObjectBatch
from snapd.store.store import Store
from tests.support.git import run_git
from tests.support.trees import encode_tree

Files = Mapping[str, bytes]
PLAIN = Coverage()


def write_tree(batch: ObjectBatch, files: Files) -> ObjectId:
    """Stores files given by their paths."""
    entries = []
    below: dict[str, dict[str, bytes]] = {}
    for path, data in files.items():
        name, _, rest = path.partition("/")
        if rest:
            below.setdefault(name, {})[rest] = data
        else:
            entries.append(TreeEntry(name.encode(), REGULAR, batch.blob(data)))
    entries += [TreeEntry(name.encode(), TREE, write_tree(batch, inner)) for name, inner in below.items()]
    return batch.encoded_tree(encode_tree(entries))


def read_files(store: Store, tree: ObjectId, above: str = "") -> dict[str, bytes]:
    """What a store has of a tree."""
    found: dict[str, bytes] = {}
    for entry in store.read_tree(tree):
        path = above + entry.name.decode()
        if entry.mode == TREE:
            found |= read_files(store, entry.oid, f"{path}/")
        else:
            found[path] = store.read_blob(entry.oid)
    return found


def expire_all(store: Store) -> tuple[int, int]:
    """Drops all that may go; gives how many snapshots that were, and the bytes freed."""
    return store.maintenance.clean(Limits(time.time(), 0), None, Call())


def expire_nothing(store: Store) -> tuple[int, int]:
    """A cleanup that finds everything young enough."""
    return store.maintenance.clean(Limits(time.time(), math.inf), None, Call())


class Steps:
    """A store, and what was answered about it.

    Attributes:
        path: where the store lies.
        store: it, open.
        answered: files and coverage of every snapshot whose recording returned, in their order.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answered: dict[ObjectId, tuple[Files, Coverage]] = {}
        self.open()

    def open(self) -> None:
        """Opens the store, as a new process would."""
        self.store = Store(str(self.path), None)

    def reopen(self) -> None:
        """Closes it and opens it again."""
        self.store.close()
        self.open()

    def kill(self, where: Path | None = None) -> None:
        """Ends its process without a close; goes on with the store at another place, if one is given."""
        self.leave()
        self.path = where or self.path
        self.open()

    def leave(self) -> None:
        """Ends its process without a close."""
        self.store.ownership.release()
        database = self.store.timeline.database
        if database is not None:
            # what was not written yet is lost
            database.connection.close()

    def store_files(self, files: Files) -> ObjectId:
        """Stores files and records nothing."""
        with self.store.batch() as batch:
            tree = write_tree(batch, files)
            batch.commit()
        return tree

    def take(self, files: Files, coverage: Coverage = PLAIN) -> ObjectId:
        """Takes a snapshot."""
        tree = self.store_files(files)
        self.store.record(Snapshot(tree, coverage), "track")
        self.answered[tree] = (files, coverage)
        return tree

    def git(self, *args: str, input: bytes | None = None) -> bytes:  # noqa: A002 - named as in subprocess.run
        """Runs git on the store."""
        return run_git(self.path, "--git-dir=.", *args, input=input)

    def recorded(self) -> list[str]:
        """The trees that events alone record, the newest first, as git finds them."""
        names = self.git("log", "--all", "--format=%H:snapshot")
        found = self.git("cat-file", "--batch-check=%(objectname)", input=names).decode().splitlines()
        return [line for line in found if not line.endswith("missing")]

    def check(self) -> None:
        """Everything answered is there, for us and for git, and git finds nothing wrong."""
        for tree, (files, coverage) in self.answered.items():
            assert self.store.find(tree) == Snapshot(tree, coverage)
            assert read_files(self.store, tree) == files
        named = [
            (f"{tree.hex()}:{path}", data) for tree, (files, _) in self.answered.items() for path, data in files.items()
        ]
        asked = "".join(f"{name}\n" for name, _ in named).encode()
        told = b"".join(b"blob %d\n%b\n" % (len(data), data) for _, data in named)
        assert self.git("cat-file", "--batch=%(objecttype) %(objectsize)", input=asked) == told
        said = self.git("fsck", "--strict", "--full", "--no-dangling")
        assert b"missing" not in said
        assert b"broken" not in said
        assert {tree.hex() for tree in self.answered} <= set(self.recorded())
        if self.answered:
            assert self.store.last == list(self.answered)[-1]


class Disk:
    """What a disk has of a directory: bytes and names that were synced, and nothing else.

    Args:
        root: the directory; all in it now is taken for synced.
        monkeypatch: listens to the syncs of this process.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._root = root
        self.contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, tuple[int, bool]]] = {}
        # so that no inode number comes again
        self._held: list[int] = []
        self._listens = True
        self.syncs = 0
        for directory, _, files in os.walk(root):
            for path in (directory, *(os.path.join(directory, name) for name in files)):
                descriptor = os.open(path, os.O_RDONLY)
                self.note(descriptor)
                os.close(descriptor)
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self._listener(getattr(os, name)))

    def _listener(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def sync(descriptor: int) -> None:
            real(descriptor)
            if self._listens:
                self.syncs += 1
                self.note(descriptor)

        return sync

    def note(self, descriptor: int) -> None:
        self._held.append(os.dup(descriptor))
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            self._names[status.st_ino] = {
                entry.name: (entry.inode(), entry.is_dir()) for entry in os.scandir(f"/proc/self/fd/{descriptor}")
            }
        else:
            self.contents[status.st_ino] = Path(f"/proc/self/fd/{descriptor}").read_bytes()

    def close(self) -> None:
        """Listens no more, and lets go of what was held."""
        self._listens = False
        while self._held:
            os.close(self._held.pop())

    def after_a_cut(self, where: Path, names_stay: bool) -> Path:
        """What is found when power comes back.

        Args:
            where: a new directory for it.
            names_stay: whether names that were not synced made it all the same, without bytes.
        """
        if names_stay:
            self._copy_named(self._root, where)
        else:
            self._copy_synced(os.stat(self._root).st_ino, where)
        return where

    def _copy_named(self, source: Path, target: Path) -> None:
        target.mkdir(mode=0o700)
        for entry in os.scandir(source):
            if entry.is_dir():
                self._copy_named(Path(entry.path), target / entry.name)
            else:
                (target / entry.name).write_bytes(self.contents.get(entry.inode(), b""))

    def _copy_synced(self, inode: int, target: Path) -> None:
        target.mkdir(mode=0o700)
        for name, (below, is_directory) in self._names.get(inode, {}).items():
            if is_directory:
                self._copy_synced(below, target / name)
            else:
                (target / name).write_bytes(self.contents.get(below, b""))
