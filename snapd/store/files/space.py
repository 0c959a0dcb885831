"""The bytes that a store takes, without a look at every object each time; and whether there is space for more."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from collections.abc import Callable, Collection

import attrs

from snapd.model.errors import StorageFull, error_from_os_error, os_errors
from snapd.store.files.durable import status_if_there, walked

BYTES = 128 << 10
"""The space to record an operation, beside its entries for files: commits, trees, a frame of the journal."""

PROJECT = "project"
"""The directory of a store with links to objects of the project's own git."""

FILES = 64
"""The number of files and directories for that: loose objects, references, a journal."""

_OF_LOOSE_OBJECTS = re.compile(r"[0-9a-f]{2}")
_FINE, _COARSE = 100_000_000, 2_100_000_000
"""Nanoseconds within which a file system may give two changes of a directory the same time: with fractions of a second,
and without."""


def ensure_space_to_record(directory: str, size: int) -> None:
    """Raises `StorageFull` without space to record an operation with file entries of `size` bytes.

    Writes of other processes meanwhile, and quotas, are unknown; then the operation is recorded later.
    """
    if not hasattr(os, "statvfs"):
        # Windows has no `statvfs`
        return
    with os_errors(directory):
        result = os.statvfs(directory)
    too_small = result.f_bavail * result.f_frsize < BYTES + size
    # a file system without a limit of inodes has 0 of 0 left
    if too_small or (result.f_files and result.f_favail < FILES):
        raise error_from_os_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), directory)


def ensure_space(directory: str, needed: int, purpose: str) -> None:
    """Raises `StorageFull` if fewer than `needed` bytes are free; `purpose` (verb and object) is for the message."""
    free = free_bytes(directory)
    if free < needed:
        message = f"{free} bytes are free and {needed} are needed to {purpose}: free some space"
        raise StorageFull(message, path=directory, errno="ENOSPC")


def free_bytes(directory: str) -> int:
    """Returns the bytes free for the user on the file system of a directory; raises `IoError`."""
    with os_errors(directory):
        return shutil.disk_usage(directory).free


@attrs.frozen
class _DirectorySize:
    """The bytes in a directory, and its inode and modification time when they were added up."""

    inode: int
    changed: int
    size: int


class TotalSize:
    """Adds up the bytes of all files of a store, except those in `without` and `besides`. Safe for several threads.

    Loose objects never change, so the bytes in a directory of them change only with its modification time. `now`
    returns nanoseconds since 1970.
    """

    def __init__(self, store: str, without: str, now: Callable[[], int] = time.time_ns, *, besides: str = "") -> None:
        self._store = store
        self._objects = os.path.join(store, "objects")
        self._without = (without, besides)
        self._now = now
        self._known: dict[str, _DirectorySize] = {}

    def bytes(self) -> int:
        """Returns the bytes of all files, without those removed meanwhile; raises `IoError`."""
        total = 0
        for above, directories, files in walked(self._store):
            if above == self._store:
                directories[:] = [name for name in directories if name not in self._without]
            if above == self._objects:
                loose = {name for name in directories if _OF_LOOSE_OBJECTS.fullmatch(name)}
                directories[:] = [name for name in directories if name not in loose]
                total += self._of_loose(loose)
            total += _of_files(above, files)
        return total

    def _of_loose(self, names: Collection[str]) -> int:
        total = 0
        with os_errors(self._objects):
            try:
                objects = os.open(self._objects, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                return 0
            try:
                asked = self._now()
                # one short call for each: there are 256 of them, and mostly this is all
                for name in names:
                    try:
                        status = os.stat(name, dir_fd=objects, follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    known = self._known.get(name)
                    if known is None or known.changed != status.st_mtime_ns or known.inode != status.st_ino:
                        known = self._look(name, status, asked)
                    total += known.size
            finally:
                os.close(objects)
        return total

    def _look(self, name: str, status: os.stat_result, asked: int) -> _DirectorySize:
        """Adds up the bytes in a directory of loose objects; `status` was read at `asked` or later."""
        matches = list(walked(os.path.join(self._objects, name)))
        changed = status.st_mtime_ns
        known = _DirectorySize(status.st_ino, changed, sum(_of_files(above, files) for above, _, files in matches))
        margin = _FINE if changed % 1_000_000_000 else _COARSE
        # a later change within the same tick of the clock would go unnoticed, and so would any change further below
        if len(matches) == 1 and asked - changed > margin:
            self._known[name] = known
        return known


def _of_files(above: str, files: list[str]) -> int:
    matches = (status_if_there(os.path.join(above, name)) for name in files)
    return sum(status.st_size for status in matches if status is not None)
