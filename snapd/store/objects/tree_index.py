"""Finds names in directories of the store; a directory is read and indexed once for many names."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from snapd.core.errors import StoreCorrupt
from snapd.core.model import EMPTY_TREE

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.core.model import ObjectId, TreeEntry

_KEPT_ENTRIES = 32_768
"""The most entries that are kept, about 10 MB; a larger directory is kept until another one is needed."""


class EntryIndex:
    """The entries of the directories that were used last, by name. Safe to use from several threads.

    It has no reference to its repository: a cycle would keep the packs open after the store is closed, until the
        garbage
    collector runs, which is rare in the daemon.
    """

    def __init__(self) -> None:
        self._directories: OrderedDict[ObjectId, dict[bytes, TreeEntry]] = OrderedDict()
        self._entries = 0
        self._lock = threading.Lock()

    def find(self, tree: ObjectId, name: bytes, read: Callable[[ObjectId], tuple[TreeEntry, ...]]) -> TreeEntry | None:
        """The entry of a directory with a name, or None.

        Args:
            tree: the directory.
            name: one part of a path.
            read: returns the entries of a stored directory.

        Raises:
            StoreCorrupt: the directory is missing or damaged, or has a name twice, so it was forged.
        """
        if tree == EMPTY_TREE:
            return None
        with self._lock:
            directory = self._directories.get(tree)
            if directory is not None:
                self._directories.move_to_end(tree)
        if directory is None:
            entries = read(tree)
            directory = {entry.name: entry for entry in entries}
            if len(directory) < len(entries):
                raise StoreCorrupt(f"tree {tree.hex()} has a name twice", object=tree.hex())
            self._keep(tree, directory)
        return directory.get(name)

    def forget(self) -> None:
        """Drops everything: objects are about to be removed from the store."""
        with self._lock:
            self._directories.clear()
            self._entries = 0

    def _keep(self, tree: ObjectId, directory: dict[bytes, TreeEntry]) -> None:
        with self._lock:
            if tree in self._directories:
                return
            self._directories[tree] = directory
            self._entries += len(directory)
            while self._entries > _KEPT_ENTRIES and len(self._directories) > 1:
                self._entries -= len(self._directories.popitem(last=False)[1])
