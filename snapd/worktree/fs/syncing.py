"""Makes many new files durable at once.

`fsync(2)` has the disk flushed once for each file. `syncfs(2)` writes out a whole file system with one flush, however
many files are new. It has three weaknesses, and this module keeps away from each:

- It waits for what others have written as well. Where much of that waits, each file is synced by itself.
- A network or FUSE file system does not pass it on to its server. It is used on some local file systems alone.
- It does not say whose data was lost: before Linux 5.8 it reports nothing, on overlayfs neither. So each file is asked
  afterwards (`check_written`), which neither reads nor writes.
"""

from __future__ import annotations

import ctypes
import os
import sys

import attrs

MOST_WAITING = 256 << 20
"""Bytes: if more waits to be written on this machine, `syncfs` would hold us up with what others wrote."""

_LOCAL = frozenset(
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
    """The calls of Linux that Python does not have.

    Attributes:
        syncfs: takes the descriptor of anything on the file system.
        fstatfs: takes a descriptor and a buffer, which begins with the type of the file system.
        sync_file_range: takes a descriptor, an offset, a length and flags.
    """

    syncfs: ctypes._NamedFuncPointer
    fstatfs: ctypes._NamedFuncPointer
    sync_file_range: ctypes._NamedFuncPointer


def load(platform: str, library: ctypes.CDLL) -> SystemSync | None:
    """A system's calls; None where it lacks one.

    Args:
        platform: as `sys.platform`.
        library: the C library.
    """
    if not platform.startswith("linux"):
        return None
    try:
        found = SystemSync(library.syncfs, library.fstatfs, library.sync_file_range)
    except AttributeError:
        return None
    found.syncfs.argtypes = (ctypes.c_int,)
    found.fstatfs.argtypes = (ctypes.c_int, ctypes.c_void_p)
    found.sync_file_range.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return found


_system = load(sys.platform, ctypes.CDLL(None, use_errno=True)) if os.name == "posix" else None


def can_sync_together(descriptor: int) -> bool:
    """Whether one call can sync all files of the file system that something open is on."""
    if _system is None:
        return False
    # larger than any system's structure
    buffer = ctypes.create_string_buffer(512)
    if _system.fstatfs(descriptor, buffer) != 0:
        return False
    return ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF in _LOCAL


def sync_together(descriptor: int) -> bool:
    """Makes all files of a file system durable, for which `can_sync_together` holds.

    Args:
        descriptor: of anything on it.

    Returns:
        False if that was not done: too much of others waits, or something could not be written, of whomever.
    """
    assert _system is not None
    waiting = _waiting()
    return waiting is not None and waiting <= MOST_WAITING and _system.syncfs(descriptor) == 0


def check_written(descriptor: int) -> None:
    """Makes sure that the data of a file reached the disk when its file system was synced.

    Raises:
        OSError: it did not.
    """
    assert _system is not None
    if _system.sync_file_range(descriptor, 0, 0, _WAIT_BEFORE) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _waiting() -> int | None:
    """The bytes that wait to be written to any disk, or are being written; None if the system does not say."""
    found = {}
    try:
        with open("/proc/meminfo", "rb") as file:
            for line in file:
                name, _, value = line.partition(b":")
                if name in (b"Dirty", b"Writeback"):
                    found[name] = int(value.split()[0]) << 10
    except OSError:
        return None
    return sum(found.values()) if len(found) == 2 else None
