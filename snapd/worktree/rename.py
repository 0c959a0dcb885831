"""Renames that lose nothing: never over a file that nobody expected, and swaps that can be looked at and undone.

Linux has `renameat2(2)`; elsewhere the same is done in two steps, with a window between that the caller's own checks
narrow.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

_NOREPLACE = 1
_EXCHANGE = 2
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


def _load() -> ctypes._NamedFuncPointer | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return function


_renameat2 = _load()


def _rename(source: int, old: bytes, target: int, new: bytes, flag: int) -> bool:
    """Whether the system did it; False where it cannot."""
    if _renameat2 is None:
        return False
    if _renameat2(source, old, target, new, flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), os.fsdecode(new))


def place(source: int, old: bytes, target: int, new: bytes) -> None:
    """Moves a file to a name that is free.

    Args:
        source: descriptor of the directory that `old` is in.
        old: the name there.
        target: descriptor of the directory to move it to.
        new: the name there.

    Raises:
        FileExistsError: the name is taken; nothing moved.
    """
    if _rename(source, old, target, new, _NOREPLACE):
        return
    os.link(old, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    os.unlink(old, dir_fd=source)


def exchange(source: int, old: bytes, target: int, new: bytes) -> bool:
    """Swaps two files in one step.

    Returns:
        False where the system cannot; then nothing moved.
    """
    return _rename(source, old, target, new, _EXCHANGE)
