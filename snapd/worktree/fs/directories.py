"""Keeps directories below a descriptor open, for who needs them again.

Imports only the standard library, as `listing.py` does.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .opening import DIRECTORY, open_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.model import RelPath

_KEPT_OPEN = 64
_HELD = 256


class Directories:
    """Directories below a root, each opened from its parent; the last used ones stay open.

    So a visit parent by parent costs one system call each, however deep. A context manager.

    Args:
        root: descriptor of the directory that paths are relative to.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._kept: OrderedDict[RelPath, int] = OrderedDict()

    def __enter__(self) -> Directories:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._kept.values():
            os.close(descriptor)
        self._kept.clear()

    def open(self, path: RelPath) -> int:
        """The descriptor of a directory: do not close it, and use it before you open many others.

        Raises:
            OSError: as `open_directory`.
        """
        missing = []
        while path not in self._kept and path:
            path, _, name = path.rpartition(b"/")
            missing.append(name)
        descriptor = self._keep(path, self._kept.pop(path, None))
        for name in reversed(missing):
            path = path + b"/" + name if path else name
            descriptor = self._keep(path, os.open(name, DIRECTORY, dir_fd=descriptor))
        return descriptor

    def _keep(self, path: RelPath, descriptor: int | None) -> int:
        if descriptor is None:
            descriptor = os.open(b".", DIRECTORY, dir_fd=self._root)
        self._kept[path] = descriptor
        if len(self._kept) > _KEPT_OPEN:
            os.close(self._kept.popitem(last=False)[1])
        return descriptor


class HeldDirectories:
    """Directories that stay the same while somebody else moves them.

    The first `_HELD` stay open until `close`: a process may only have some thousand files open. Safe to use from
    several threads.

    Args:
        root: descriptor of the directory that paths are relative to.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._held: dict[RelPath, int] = {}
        self._lock = threading.Lock()

    @contextmanager
    def open(self, path: RelPath) -> Iterator[int]:
        """The descriptor of a directory, open for the length of the block.

        Raises:
            OSError: as `open_directory`.
        """
        with self._lock:
            descriptor = self._held.get(path)
            if descriptor is None and len(self._held) < _HELD:
                descriptor = self._held[path] = open_directory(self._root, path)
        if descriptor is not None:
            yield descriptor
            return
        descriptor = open_directory(self._root, path)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Closes them."""
        while self._held:
            os.close(self._held.popitem()[1])
