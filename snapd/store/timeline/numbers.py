"""The numbers of notifications, reserved in blocks; none is ever used twice, even after a crash."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
import zlib

from snapd.store.files.durable import write_file
from snapd.store.files.walking import read_if_there

logger = logging.getLogger(__name__)

NAME = "notifications"

_LINE = re.compile(rb"([1-9][0-9]*) ([0-9a-f]{8})\n")


class Numbers:
    """The numbers of a store. Safe to use from several threads.

    The next free number is in a file of its own, because the database may be rebuilt. The file is durable before a
    number is used, so without a file none was. If it is damaged, the milliseconds since 1970 are higher than any number
    before.

    Args:
        directory: of the store, which the caller owns.
    """

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, NAME)
        self._lock = threading.Lock()
        self._next: int | None = None

    def reserve(self, count: int) -> int:
        """Reserves numbers, durably.

        Args:
            count: how many.

        Returns:
            The first of them.

        Raises:
            StorageFull, IoError: none was reserved.
        """
        with self._lock:
            first = self._next if self._next is not None else self._read()
            shown = b"%d" % (first + count)
            write_file(self._path, b"%s %08x\n" % (shown, zlib.crc32(shown)))
            self._next = first + count
        return first

    def _read(self) -> int:
        data = read_if_there(self._path)
        if data is None:
            return 1
        number = decode_numbers(data)
        if number is None:
            logger.warning("%s is damaged: notifications are numbered by the clock from now on", self._path)
            return int(time.time() * 1000)
        return number


def decode_numbers(data: bytes) -> int | None:
    """The number in the bytes of the file; None if they are damaged."""
    found = _LINE.fullmatch(data)
    return int(found[1]) if found is not None and zlib.crc32(found[1]) == int(found[2], 16) else None
