"""The bytes that a store takes, without looking at every object each time."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

import attrs

from .walking import status_if_there, walked

if TYPE_CHECKING:
    from collections.abc import Callable

_OF_LOOSE_OBJECTS = re.compile(r"[0-9a-f]{2}")
_FINE, _COARSE = 100_000_000, 2_100_000_000
"""Nanoseconds within which a file system may give two changes of a directory the same time: where it keeps fractions
of a second, and where it does not."""


@attrs.frozen
class _Known:
    """The bytes in a directory, and its inode and modification time when they were added up."""

    inode: int
    changed: int
    size: int


class TotalSize:
    """Adds up the bytes of all files of a store.

    A loose object never changes. So the bytes in a directory of loose objects change only if a file comes or goes,
    and then the modification time of the directory changes, too. Safe to use from several threads.

    Args:
        store: the directory of the store.
        without: the name of a directory in it that does not count.
        now: nanoseconds since 1970.
    """

    def __init__(self, store: str, without: str, now: Callable[[], int] = time.time_ns) -> None:
        self._store = store
        self._objects = os.path.join(store, "objects")
        self._without = without
        self._now = now
        self._known: dict[str, _Known] = {}

    def bytes(self) -> int:
        """The bytes of all files; those that are removed meanwhile do not count.

        Raises:
            IoError: a directory cannot be listed, or a file cannot be looked at.
        """
        total = 0
        for above, directories, files in walked(self._store):
            if above == self._store and self._without in directories:
                directories.remove(self._without)
            if above == self._objects:
                loose = {name for name in directories if _OF_LOOSE_OBJECTS.fullmatch(name)}
                directories[:] = [name for name in directories if name not in loose]
                total += sum(self._in_directory(os.path.join(above, name)) for name in loose)
            total += _of_files(above, files)
        return total

    def _in_directory(self, path: str) -> int:
        asked = self._now()
        status = status_if_there(path)
        if status is None:
            return 0
        known = self._known.get(path)
        if known is not None and (known.inode, known.changed) == (status.st_ino, status.st_mtime_ns):
            return known.size
        found = list(walked(path))
        size = sum(_of_files(above, files) for above, _, files in found)
        changed = status.st_mtime_ns
        margin = _FINE if changed % 1_000_000_000 else _COARSE
        # a later change within the same tick of the clock would go unnoticed, and so would any change further below
        if len(found) == 1 and asked - changed > margin:
            self._known[path] = _Known(status.st_ino, changed, size)
        return size


def _of_files(above: str, files: list[str]) -> int:
    found = (status_if_there(os.path.join(above, name)) for name in files)
    return sum(status.st_size for status in found if status is not None)
