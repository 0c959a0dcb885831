"""Checks in advance that there is space for writes that must not fail later."""

from __future__ import annotations

import errno
import os
import shutil

from snapd.core.errors import StorageFull, from_os_error, os_errors

BYTES = 128 << 10
"""The space to record an operation, beside its entries for files: commits, trees, a frame of the journal."""

FILES = 64
"""The number of files and directories that this takes: loose objects, references, a journal."""


def ensure_space_to_record(directory: str, size: int) -> None:
    """Checks that an operation can be recorded when it is done.

    What others write meanwhile, and quotas, cannot be known; then the operation is recorded later.

    Args:
        directory: of the store.
        size: of the entries for files, in bytes.

    Raises:
        StorageFull: there is too little space.
        IoError: the system does not say how much there is.
    """
    if not hasattr(os, "statvfs"):
        # Windows has no `statvfs`
        return
    with os_errors(directory):
        found = os.statvfs(directory)
    too_small = found.f_bavail * found.f_frsize < BYTES + size
    # a file system without a limit of inodes has 0 of 0 left
    if too_small or (found.f_files and found.f_favail < FILES):
        raise from_os_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), directory)


def ensure_space(directory: str, needed: int, purpose: str) -> None:
    """Raises `StorageFull` if fewer than `needed` bytes are free on the file system of a directory, and `IoError`.

    Args:
        directory: as given in the error.
        needed: bytes.
        purpose: a verb and its object, for the message.
    """
    free = free_bytes(directory)
    if free < needed:
        message = f"{free} bytes are free and {needed} are needed to {purpose}: free some space"
        raise StorageFull(message, path=directory, errno="ENOSPC")


def free_bytes(directory: str) -> int:
    """The bytes that are free for the user on the file system of a directory; raises `IoError`."""
    with os_errors(directory):
        return shutil.disk_usage(directory).free
