"""Renames that lose nothing: never over a file that nobody expected, and swaps that can be checked and undone.

Linux has `renameat2(2)` for both, macOS `renameatx_np(2)`. Where the system or the file system has neither, a file is
moved to a free name by a hard link, which never replaces anything. Where there are no hard links either (FAT, many
file systems in user space), it is moved by a plain rename right after a check that the name is free: what somebody
puts there between these two calls is replaced. There is no other way: only a rename moves a file, as the same file, in
one step. For the same reason, where two files cannot be swapped, the new one is renamed over the old one right after a
check (`swap.py`), and what somebody writes between these two calls is lost.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

import attrs

_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP})
_NO_LINKS = _UNSUPPORTED | {errno.EPERM, errno.EMLINK, errno.EACCES}
"""`link(2)` fails with EPERM on a file system without hard links; with EACCES or EMLINK for this file alone."""


@attrs.frozen
class SystemRename:
    """The system's rename that takes flags.

    Attributes:
        function: takes a directory's descriptor and a name, twice, and the flags; returns 0, or sets `errno`.
        no_replace: the flag that makes it fail if the new name is taken.
        exchange: the flag that makes it swap the two.
    """

    function: ctypes._NamedFuncPointer
    no_replace: int
    exchange: int


def load(platform: str, library: ctypes.CDLL) -> SystemRename | None:
    """A system's rename with flags; None where there is none.

    Args:
        platform: as `sys.platform`.
        library: the C library.
    """
    try:
        if platform.startswith("linux"):
            found = SystemRename(library.renameat2, no_replace=1, exchange=2)
        elif platform == "darwin":
            found = SystemRename(library.renameatx_np, no_replace=4, exchange=2)
        else:
            return None
    except AttributeError:
        return None
    found.function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return found


_system = load(sys.platform, ctypes.CDLL(None, use_errno=True)) if os.name == "posix" else None


def _rename(source: int, old: bytes, target: int, new: bytes, flag: int) -> bool:
    """Whether the system renamed; False where it cannot."""
    assert _system is not None
    if _system.function(source, old, target, new, flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), os.fsdecode(new))


def rename_no_replace(source: int, old: bytes, target: int, new: bytes) -> None:
    """Moves a file to a free name.

    Args:
        source: descriptor of the directory that `old` is in.
        old: the name there.
        target: descriptor of the directory to move it to.
        new: the name there.

    Raises:
        FileExistsError: the name is taken; nothing moved.
        OSError: nothing moved.
    """
    if _system is not None and _rename(source, old, target, new, _system.no_replace):
        return
    if not _link(source, old, target, new):
        _rename_if_free(source, old, target, new)
        return
    try:
        os.unlink(old, dir_fd=source)
    except OSError:
        os.unlink(new, dir_fd=target)
        raise


def _link(source: int, old: bytes, target: int, new: bytes) -> bool:
    """Gives a file a second name; returns False where the file system has no links."""
    try:
        os.link(old, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NO_LINKS:
            return False
        raise
    return True


def _rename_if_free(source: int, old: bytes, target: int, new: bytes) -> None:
    try:
        os.stat(new, dir_fd=target, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(old, new, src_dir_fd=source, dst_dir_fd=target)
    else:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fsdecode(new))


def exchange(source: int, old: bytes, target: int, new: bytes) -> bool:
    """Swaps two files in one step.

    Returns:
        False if the system cannot; nothing moved.
    """
    return _system is not None and _rename(source, old, target, new, _system.exchange)
