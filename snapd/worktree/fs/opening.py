"""Opens directories without following a symlink that somebody puts in the way.

Linux does it in one call, `openat2(2)` (since 5.6). Elsewhere, and where a sandbox forbids that call, each part of the
path is opened from the one before. Imports only the standard library, as `listing.py` does.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.core.model import RelPath

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


_system = _load()


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
    if _system is not None and path:
        descriptor = _system(root, path)
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


def set_permissions(root: int, path: RelPath, permissions: int) -> None:
    """Sets the permissions of a directory; raises `OSError`.

    Args:
        root: as of `open_directory`.
        path: as of `open_directory`.
        permissions: as of `os.chmod`.
    """
    descriptor = open_directory(root, path)
    try:
        os.fchmod(descriptor, permissions)
    finally:
        os.close(descriptor)
