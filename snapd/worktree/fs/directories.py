"""Opens directories below a descriptor, part by part, without following a symlink that somebody puts in the way.

Imports only the standard library, as `listing.py` does.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.model import RelPath

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_KEPT_OPEN = 64
_HELD = 256


def open_directory(root: int, path: RelPath) -> int:
    """Opens a directory below another without following any symlink.

    Args:
        root: descriptor of the directory to start from.
        path: relative to it; empty for itself.

    Returns:
        A descriptor that the caller closes.

    Raises:
        OSError: ENOENT, ENOTDIR or ELOOP if the path does not lead to a directory, or leads through a symlink.
    """
    descriptor = os.open(b".", _DIRECTORY, dir_fd=root)
    for part in path.split(b"/") if path else ():
        try:
            below = os.open(part, _DIRECTORY, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


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
            descriptor = self._keep(path, os.open(name, _DIRECTORY, dir_fd=descriptor))
        return descriptor

    def _keep(self, path: RelPath, descriptor: int | None) -> int:
        if descriptor is None:
            descriptor = os.open(b".", _DIRECTORY, dir_fd=self._root)
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
