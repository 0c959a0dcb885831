"""Sees whether there is room in a store for what must not fail any more later on."""

from __future__ import annotations

import errno
import os
import shutil

from snapd.core.errors import from_os_error, os_errors

BYTES = 128 << 10
"""What telling of an operation takes, beside what it says of each file: commits, trees, a frame of the journal."""

FILES = 64
"""The files and directories that it takes: loose objects, references, a journal."""


def ensure_space(directory: str, size: int) -> None:
    """Sees whether an operation can be told of when it is done.

    What others write meanwhile, and what a quota allows, nobody can see; then it is told of later.

    Args:
        directory: the store's.
        size: bytes of what is to be told.

    Raises:
        StorageFull: there is too little.
        IoError: the system does not say.
    """
    if not hasattr(os, "statvfs"):
        # Windows tells of bytes alone, and elsewhere
        return
    with os_errors(directory):
        found = os.statvfs(directory)
    too_small = found.f_bavail * found.f_frsize < BYTES + size
    # file systems without a number of inodes have none left of none
    if too_small or (found.f_files and found.f_favail < FILES):
        raise from_os_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), directory)


def free_bytes(directory: str) -> int:
    """The bytes that the user may still write to the file system of a directory; raises `IoError`."""
    with os_errors(directory):
        return shutil.disk_usage(directory).free
