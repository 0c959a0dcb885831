"""Opens directories without following a symlink that somebody puts in the way, and keeps those open that come again.

Linux opens one in one call, `openat2(2)` (since 5.6). Elsewhere, and where a sandbox forbids that call, each part of
the path is opened from the one before. Imports only the standard library, as `listing.py` does.
"""

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
    # a process that lists directories loads as little as it can
    from snapd.model.snapshot import RelPath

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""The flags to open a directory with."""

_OPENAT2 = 437
"""The number of the call on all processors but Alpha; the C library has no name for it."""
_NO_SYMLINKS = 0x04
"""`RESOLVE_NO_SYMLINKS`: the call fails with ELOOP if any part of the path is a symlink."""
_OTHER_WAY = frozenset({errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG, errno.ENAMETOOLONG, errno.EINTR})
"""The kernel does not know the call, a sandbox forbids it, the path is longer than a call takes, or a signal came."""


class _How(ctypes.Structure):
    """`struct open_how`."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _load() -> Callable[[int, bytes], int] | None:
    """The system's own way to open a directory; returns -1 and sets `errno` if it cannot."""
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
    """Opens a directory below an open one, or itself for an empty path, without following any symlink.

    Raises:
        OSError: ENOENT, ENOTDIR or ELOOP if the path does not lead to a directory, or leads through a symlink.
    """
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
    """Sets the permissions of a directory below an open one, as `os.chmod`; raises `OSError`."""
    with opened_directory(root, path) as descriptor:
        os.fchmod(descriptor, permissions)


_KEPT_OPEN = 64
_HELD = 256


class Directories:
    """Directories below a root, each opened from its parent; the last used ones stay open.

    So a visit parent by parent costs one system call each, however deep. A context manager.
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
        """The descriptor of a directory: do not close it, and use it before you open many others; raises `OSError`."""
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
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._held: dict[RelPath, int] = {}
        self._lock = threading.Lock()

    @contextmanager
    def open(self, path: RelPath) -> Iterator[int]:
        """The descriptor of a directory, open for the length of the block; raises `OSError`."""
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
        """Closes them."""
        while self._held:
            os.close(self._held.popitem()[1])
