"""File handles (name_to_handle_at(2)): how fanotify names a file. Each file system has its own layout for them."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import NamedTuple

from .inotify import Unsupported, last_error, library

HANDLE = struct.Struct("=Ii")
"""The head of a handle: its length in bytes, and its type."""
_LONGEST = 128
_EMPTY_PATH = 0x1000


class Layout(NamedTuple):
    """Where a file system puts the inode number into a handle.

    Attributes:
        size: of the handle, bytes.
        form: unpacks the inode number from it.
    """

    size: int
    form: struct.Struct

    def inode(self, handle: bytes) -> int | None:
        """The inode number in a handle; None if the handle has another size."""
        return int(self.form.unpack(handle)[0]) if len(handle) == self.size else None


_INODE_FIRST = Layout(8, struct.Struct("=I4x"))
_LAYOUTS = {
    "btrfs": Layout(20, struct.Struct("=Q12x")),
    "ext2": _INODE_FIRST,
    "ext3": _INODE_FIRST,
    "ext4": _INODE_FIRST,
    "f2fs": _INODE_FIRST,
    "tmpfs": Layout(12, struct.Struct("=4xQ")),
    "xfs": Layout(12, struct.Struct("=Q4x")),
}


def layout_of(directory: int, kind: str | None) -> Layout:
    """The layout of a file system's handles, checked against the handle of one of its directories.

    Args:
        directory: a descriptor of the directory.
        kind: the type of the file system; None if unknown.

    Raises:
        Unsupported: the system has no handles, or their layout is unknown for this file system.
        OSError: EOPNOTSUPP where the file system has none.
    """
    layout = _LAYOUTS.get(kind or "")
    if layout is None or layout.inode(_handle(directory)) != os.fstat(directory).st_ino:
        raise Unsupported(errno.EOPNOTSUPP, f"the file handles of {kind or 'an unknown file system'} are not known")
    return layout


def _handle(descriptor: int) -> bytes:
    try:
        call = library().name_to_handle_at
    except AttributeError as error:
        raise Unsupported(errno.ENOSYS, "the C library has no file handles") from error
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_int)
    buffer = ctypes.create_string_buffer(HANDLE.pack(_LONGEST, 0), HANDLE.size + _LONGEST)
    if call(descriptor, b"", buffer, ctypes.byref(ctypes.c_int()), _EMPTY_PATH) < 0:
        raise last_error("name_to_handle_at")
    size, _ = HANDLE.unpack_from(buffer.raw)
    return buffer.raw[HANDLE.size : HANDLE.size + size]
