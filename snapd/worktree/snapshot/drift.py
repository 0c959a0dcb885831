"""How the work tree differs from a snapshot, from its state and the unread files."""

from __future__ import annotations

import os
from collections.abc import Iterator

import attrs

from snapd.model.snapshot import SYMLINK, TREE, Drift, DriftedFile, DriftQuery, Entry, ObjectId, RelPath
from snapd.model.trees import files
from snapd.worktree.fs.directories import open_directory
from snapd.worktree.fs.stable_read import read_link, read_stable, tree_mode
from snapd.worktree.state.file_state import entry_of
from snapd.worktree.state.nodes import DirectoryNode
from snapd.worktree.state.tree_state import TreeState

from .walker import GONE

_NOT_STORED: ObjectId = bytes(20)


class _EnoughError(Exception):
    """A limit is reached."""


@attrs.define
class DriftFinder:
    """Compares a state with a snapshot; enters only directories that differ.

    Attributes:
        root: descriptor of the workspace.
        state: as of a look just now.
        query: what to compare it with, and how far.
        unfinished: see `Drift`.
    """

    root: int
    state: TreeState
    query: DriftQuery
    unfinished: bool
    _found: list[DriftedFile] = attrs.field(factory=list)
    _bytes: int = 0
    _truncated: bool = False
    _unread_below: set[DirectoryNode] = attrs.field(factory=set)

    def find(self) -> Drift:
        """What differs from the snapshot, ordered by path.

        Raises:
            StoreCorrupt: a stored tree is damaged.
            IoError: the disk is in trouble.
        """
        for unread in self.state.unread:
            node: DirectoryNode | None = unread
            while node is not None and node not in self._unread_below:
                self._unread_below.add(node)
                node = node.parent
        try:
            self._directory(b"", self.query.base, self.state.root)
        except _EnoughError:
            self._truncated = True
        found = tuple(sorted(self._found, key=lambda drifted: drifted.path))
        return Drift(found, self._truncated, self.unfinished)

    def _directory(self, path: RelPath, old: ObjectId | None, node: DirectoryNode) -> None:
        if node.tree is not None and node.tree == old and node not in self._unread_below:
            return
        prefix = path + b"/" if path else b""
        before = {entry.name: entry for entry in self.query.read_tree(old)} if old is not None else {}
        unread = self.state.unread.get(node, {})
        for name in {**before, **node.files, **node.directories, **unread}:
            entry = before.get(name)
            was = Entry(entry.mode, entry.oid) if entry is not None and entry.mode != TREE else None
            child = node.directories.get(name)
            if child is not None:
                self._directory(prefix + name, entry.oid if entry is not None and was is None else None, child)
            elif entry is not None and was is None:
                for below, gone in files(self.query.read_tree, entry.oid):
                    self._add(prefix + name + b"/" + below, gone, None)
            if name in unread:
                self._read(prefix + name, was, unread[name], path)
            elif (record := node.files.get(name)) is not None:
                if (now := entry_of(record)) != was:
                    self._add(prefix + name, was, now)
            elif was is not None:
                self._add(prefix + name, was, None)

    def _read(self, path: RelPath, was: Entry | None, is_link: bool, folder: RelPath) -> None:
        held: list[bytes] = []

        def keep(_: int, chunks: Iterator[bytes]) -> ObjectId:
            held[:] = chunks
            return _NOT_STORED

        name = path.rpartition(b"/")[2]
        try:
            descriptor = open_directory(self.root, folder)
        except OSError as error:
            if error.errno not in GONE:
                raise
            return
        try:
            if is_link:
                found = read_link(descriptor, name, keep)
            else:
                found = read_stable(descriptor, name, self.query.max_bytes - self._bytes, keep)
        except OSError as error:
            if error.errno not in GONE:
                raise
            if was is not None:
                self._add(path, was, None)
            return
        finally:
            os.close(descriptor)
        if not isinstance(found, tuple):
            # it is being written, or is over the limit
            self._truncated = True
            return
        data = b"".join(held)
        self._bytes += len(data)
        mode = SYMLINK if is_link else tree_mode(found[1].mode)
        self._add(path, was, Entry(mode, _NOT_STORED), data)

    def _add(self, path: RelPath, was: Entry | None, now: Entry | None, data: bytes | None = None) -> None:
        if now is None and self.state.is_left_out(path):
            return
        if len(self._found) >= self.query.max_files:
            raise _EnoughError
        self._found.append(DriftedFile(path, was, now, data))
