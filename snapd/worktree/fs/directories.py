"""Opens directories without following symlinks, and caches them; imports only the standard library."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # the lister process loads as little as possible
    from snapd.model.snapshot import RelPath

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_OPENAT2 = 437  # its number on all processors but Alpha; the C library has no name for it
_NO_SYMLINKS = 0x04  # `RESOLVE_NO_SYMLINKS`: fails with ELOOP if any part of the path is a symlink
_OTHER_WAY = frozenset({errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG, errno.ENAMETOOLONG, errno.EINTR})
"""The kernel lacks the call, a sandbox forbids it, the path is too long for it, or a signal came."""


class _How(ctypes.Structure):
    """`struct open_how`."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _load() -> Callable[[int, bytes], int] | None:
    """Returns a function that calls `openat2(2)` (Linux 5.6); it returns -1 and sets `errno` on failure."""
    if not sys.platform.startswith("linux"):
        return None
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_How), ctypes.c_size_t)
    call.restype = ctypes.c_long
    how, size = ctypes.pointer(_How(DIRECTORY, 0, _NO_SYMLINKS)), ctypes.sizeof(_How)

    def opened(root: int, path: bytes) -> int:
        return int(call(_OPENAT2, root, path, how, size))

    return opened


system = _load()


def open_directory(root: int, path: RelPath) -> int:
    """Opens a directory (empty path: `root`); raises `OSError`: ENOENT, ENOTDIR, or ELOOP for a symlink in it."""
    if system is not None and path:
        descriptor = system(root, path)
        if descriptor >= 0:
            return descriptor
        code = ctypes.get_errno()
        if code not in _OTHER_WAY:
            raise OSError(code, os.strerror(code), os.fsdecode(path))
    descriptor = os.open(b".", DIRECTORY, dir_fd=root)
    for part in path.split(b"/") if path else ():
        try:
            below = os.open(part, DIRECTORY, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


@contextmanager
def opened_directory(root: int, path: RelPath) -> Iterator[int]:
    """Opens a directory as `open_directory`, for the block."""
    descriptor = open_directory(root, path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def set_permissions(root: int, path: RelPath, permissions: int) -> None:
    """Sets the permissions of a directory below an open one; raises `OSError`."""
    with opened_directory(root, path) as descriptor:
        os.fchmod(descriptor, permissions)


_KEPT_OPEN = 64
_HELD = 256


class Directories:
    """Directories below a root, each opened from its parent; the last used ones stay open. A context manager."""

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
        """Returns a descriptor that stays open until many others were opened; do not close it. Raises `OSError`."""
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
    """Directories that stay open, and so are found after a move, up to `_HELD`; thread-safe."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._held: dict[RelPath, int] = {}
        self._lock = threading.Lock()

    @contextmanager
    def open(self, path: RelPath) -> Iterator[int]:
        """Opens a directory for the block; raises `OSError`."""
        with self._lock:
            descriptor = self._held.get(path)
            if descriptor is None and len(self._held) < _HELD:
                descriptor = self._held[path] = open_directory(self._root, path)
        if descriptor is not None:
            yield descriptor
        else:
            with opened_directory(self._root, path) as descriptor:
                yield descriptor

    def close(self) -> None:
        """Closes all directories."""
        while self._held:
            os.close(self._held.popitem()[1])
