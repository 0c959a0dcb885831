"""System calls that Python lacks: atomic renames, one sync for many new files, birth times.

`renameat2(2)` (Linux) and `renameatx_np(2)` (macOS) rename to a free name, and swap two files. Without them, a file is
moved by a hard link, which replaces nothing; else by a plain rename right after a check. What another program writes in
between is then lost; no call avoids that.

`syncfs(2)` flushes the disk once for all files, but waits for the data of other programs too: if that is much, each
file is synced by itself. It is only used on some local file systems: others do not pass it on to their server. It
reports no error before Linux 5.8 and on overlayfs, so each file is asked afterwards (`check_written`).
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
import time

import attrs

_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP})
_NO_LINKS = _UNSUPPORTED | {errno.EPERM, errno.EMLINK, errno.EACCES}  # EPERM: the file system has none; else: this file

_library = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None


def _last_error(*about: object) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code), *about)


@attrs.frozen
class SystemRename:
    """The system's rename with flags: takes a descriptor and a name, twice, and the flags; sets `errno`."""

    function: ctypes._NamedFuncPointer
    no_replace: int  # fails if the new name is taken
    exchange: int  # swaps the files


def load_rename(platform: str, library: ctypes.CDLL) -> SystemRename | None:
    """Returns the rename with flags from the C library of a `sys.platform`; None if it has none."""
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


def waited_ns() -> int:
    """How long this thread has waited for a processor so far, in nanoseconds; 0 if the system does not say."""
    try:
        with open("/proc/thread-self/schedstat", "rb", buffering=0) as file:
            return int((file.read() or b"").split()[1])
    except (OSError, IndexError, ValueError):
        return 0


renames = load_rename(sys.platform, _library) if _library is not None else None


def _rename(source: int, old: bytes, target: int, new: bytes, flag: int) -> bool:
    """Returns False if the system cannot do it."""
    assert renames is not None
    if renames.function(source, old, target, new, flag) == 0:
        return True
    if ctypes.get_errno() in _UNSUPPORTED:
        return False
    raise _last_error(os.fsdecode(new))


def rename_no_replace(source: int, old: bytes, target: int, new: bytes) -> None:
    """Moves a file to a free name; raises `FileExistsError` if it is taken, else `OSError`: nothing moved."""
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
    """Swaps two files in one step; returns False if the system cannot."""
    return renames is not None and _rename(source, old, target, new, renames.exchange)


MOST_WAITING = 256 << 20  # bytes; beyond, `syncfs` would wait long for data of other programs

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
"""`SYNC_FILE_RANGE_WAIT_BEFORE`: waits for writes in progress, writes nothing, and returns the file's error."""


@attrs.frozen
class SystemSync:
    """The sync calls of Linux."""

    syncfs: ctypes._NamedFuncPointer
    fstatfs: ctypes._NamedFuncPointer
    sync_file_range: ctypes._NamedFuncPointer


def load_sync(platform: str, library: ctypes.CDLL) -> SystemSync | None:
    """Returns the platform's sync calls, as `load_rename`; None if it lacks one."""
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
    """Returns whether one call can sync all files of a descriptor's file system."""
    if syncs is None:
        return False
    # larger than `struct statfs` of any system
    buffer = ctypes.create_string_buffer(512)
    if syncs.fstatfs(descriptor, buffer) != 0:
        return False
    return ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF in LOCAL


def sync_together(descriptor: int) -> bool:
    """Makes all files of a file system durable; returns False if too much other data waits, or on an error."""
    assert syncs is not None
    waiting = bytes_waiting()
    return waiting is not None and waiting <= MOST_WAITING and syncs.syncfs(descriptor) == 0


def check_written(descriptor: int) -> None:
    """Raises `OSError` if a file's data did not reach the disk in the last sync of its file system."""
    assert syncs is not None
    if syncs.sync_file_range(descriptor, 0, 0, _WAIT_BEFORE) != 0:
        raise _last_error()


def bytes_waiting() -> int | None:
    """Returns the bytes that wait to be written to any disk; None if unknown."""
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
    """Returns the birth time of a name, nanoseconds since 1970; renames and edits keep it. None if unknown."""
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


def booted_at() -> int:
    """Returns when the machine started, in milliseconds since 1970; 0 if unknown."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return 0 if clock is None else int((time.time() - time.clock_gettime(clock)) * 1000)
