"""Calls on files that Python does not have: renames that lose nothing, one sync for many new files, times of birth.

Linux has `renameat2(2)`, macOS `renameatx_np(2)`: both rename to a free name, and swap two files. Where the system or
the file system has neither, a file is moved to a free name by a hard link, which never replaces anything. Where there
are no hard links either (FAT, many file systems in user space), it is moved by a plain rename right after a check that
the name is free: what somebody puts there between these two calls is replaced. There is no other way: only a rename
moves a file, as the same file, in one step. For the same reason, where two files cannot be swapped, the new one is
renamed over the old one right after a check (`apply/files.py`), and what somebody writes between these two calls is
lost.

`fsync(2)` has the disk flushed once for each file. `syncfs(2)` writes out a whole file system with one flush, however
many files are new. It has three weaknesses, and this module keeps away from each:

- It waits for what others have written as well. Where much of that waits, each file is synced by itself.
- A network or FUSE file system does not pass it on to its server. It is used on some local file systems alone.
- It does not say whose data was lost: before Linux 5.8 it reports nothing, on overlayfs neither. So each file is asked
  afterwards (`check_written`), which neither reads nor writes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

import attrs

_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP})
_NO_LINKS = _UNSUPPORTED | {errno.EPERM, errno.EMLINK, errno.EACCES}
"""`link(2)` fails with EPERM on a file system without hard links; with EACCES or EMLINK for this file alone."""

_library = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None


def _last_error(*about: object) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code), *about)


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


def load_rename(platform: str, library: ctypes.CDLL) -> SystemRename | None:
    """A platform's rename with flags, from its C library; None where there is none. `platform` is as `sys.platform`."""
    try:
        if platform.startswith("linux"):
            calls = SystemRename(library.renameat2, no_replace=1, exchange=2)
        elif platform == "darwin":
            calls = SystemRename(library.renameatx_np, no_replace=4, exchange=2)
        else:
            return None
    except AttributeError:
        return None
    calls.function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return calls


renames = load_rename(sys.platform, _library) if _library is not None else None


def _rename(source: int, old: bytes, target: int, new: bytes, flag: int) -> bool:
    """Whether the system renamed; False where it cannot."""
    assert renames is not None
    if renames.function(source, old, target, new, flag) == 0:
        return True
    if ctypes.get_errno() in _UNSUPPORTED:
        return False
    raise _last_error(os.fsdecode(new))


def rename_no_replace(source: int, old: bytes, target: int, new: bytes) -> None:
    """Moves a file to a free name, each of them in an open directory.

    Raises:
        FileExistsError: the name is taken; nothing moved.
        OSError: nothing moved.
    """
    if renames is not None and _rename(source, old, target, new, renames.no_replace):
        return
    try:
        os.link(old, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        try:
            os.stat(new, dir_fd=target, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(old, new, src_dir_fd=source, dst_dir_fd=target)
            return
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fsdecode(new)) from None
    try:
        os.unlink(old, dir_fd=source)
    except OSError:
        os.unlink(new, dir_fd=target)
        raise


def exchange(source: int, old: bytes, target: int, new: bytes) -> bool:
    """Swaps two files in one step; returns False if the system cannot, and nothing moved."""
    return renames is not None and _rename(source, old, target, new, renames.exchange)


MOST_WAITING = 256 << 20
"""Bytes: if more waits to be written on this machine, `syncfs` would hold us up with what others wrote."""

LOCAL = frozenset(
    {
        0xEF53,  # ext4
        0x58465342,  # xfs
        0x9123683E,  # btrfs
        0xF2F52010,  # f2fs
        0xCA451A4E,  # bcachefs
        0x2FC12FC1,  # zfs
        0x794C7630,  # overlayfs, which syncs the file system below it
        0x01021994,  # tmpfs
    }
)
"""File systems on which `syncfs` is as good as `fsync` of each file, by `f_type` of `statfs(2)`."""
_WAIT_BEFORE = 1
"""`SYNC_FILE_RANGE_WAIT_BEFORE`: waits for what is being written, writes nothing, and gives the error of the file."""


@attrs.frozen
class SystemSync:
    """The calls of Linux that sync.

    Attributes:
        fstatfs: takes a descriptor and a buffer, which begins with the type of the file system.
        sync_file_range: takes a descriptor, an offset, a length and flags.
    """

    syncfs: ctypes._NamedFuncPointer
    fstatfs: ctypes._NamedFuncPointer
    sync_file_range: ctypes._NamedFuncPointer


def load_sync(platform: str, library: ctypes.CDLL) -> SystemSync | None:
    """A system's calls that sync, as `load_rename`; None where it lacks one."""
    if not platform.startswith("linux"):
        return None
    try:
        calls = SystemSync(library.syncfs, library.fstatfs, library.sync_file_range)
    except AttributeError:
        return None
    calls.syncfs.argtypes = (ctypes.c_int,)
    calls.fstatfs.argtypes = (ctypes.c_int, ctypes.c_void_p)
    calls.sync_file_range.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return calls


syncs = load_sync(sys.platform, _library) if _library is not None else None


def can_sync_together(descriptor: int) -> bool:
    """Whether one call can sync all files of the file system that something open is on."""
    if syncs is None:
        return False
    # larger than any system's structure
    buffer = ctypes.create_string_buffer(512)
    if syncs.fstatfs(descriptor, buffer) != 0:
        return False
    return ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF in LOCAL


def sync_together(descriptor: int) -> bool:
    """Makes all files durable on the file system of a descriptor, for which `can_sync_together` holds.

    Returns False if that was not done: too much of others waits, or something could not be written, of whomever.
    """
    assert syncs is not None
    waiting = bytes_waiting()
    return waiting is not None and waiting <= MOST_WAITING and syncs.syncfs(descriptor) == 0


def check_written(descriptor: int) -> None:
    """Raises `OSError` if the data of a file did not reach the disk when its file system was synced."""
    assert syncs is not None
    if syncs.sync_file_range(descriptor, 0, 0, _WAIT_BEFORE) != 0:
        raise _last_error()


def bytes_waiting() -> int | None:
    """The bytes that wait to be written to any disk, or are being written; None if the system does not say."""
    amounts = {}
    try:
        with open("/proc/meminfo", "rb") as file:
            for line in file:
                name, _, value = line.partition(b":")
                if name in (b"Dirty", b"Writeback"):
                    amounts[name] = int(value.split()[0]) << 10
    except OSError:
        return None
    return sum(amounts.values()) if len(amounts) == 2 else None


_BTIME = 0x800
_UNFOLLOWED = 0x100
_MASK = struct.Struct("=I")
_TIME = struct.Struct("=80xqI")
_STATX_BYTES = 256

_statx = getattr(_library, "statx", None) if sys.platform.startswith("linux") else None
if _statx is not None:
    _statx.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p)


def birth_ns(directory: int, name: bytes) -> int | None:
    """When a name in an open directory was born, nanoseconds since 1970; None where nobody knows, or nothing is there.

    A rename and an edit leave that time as it is, and no program can set it.
    """
    if _statx is None:
        try:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except OSError:
            return None
        seconds: float | None = getattr(status, "st_birthtime", None)
        return None if seconds is None else int(seconds * 1e9)
    buffer = ctypes.create_string_buffer(_STATX_BYTES)
    if _statx(directory, name, _UNFOLLOWED, _BTIME, buffer) != 0 or not _MASK.unpack_from(buffer)[0] & _BTIME:
        return None
    whole, rest = _TIME.unpack_from(buffer)
    return int(whole) * 1_000_000_000 + int(rest)
