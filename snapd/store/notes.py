"""Durable notes beside the events of a store: a few named texts in a file that rarely changes. No step waits for it."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
import zlib
from collections.abc import Collection

from snapd.model.errors import IoError

from .files.durable import read_if_there, write_file
from .files.quarantine import Quarantine
from .refs.database import ReferenceDatabase

logger = logging.getLogger(__name__)

NAME = "notes"

NUMBERS = "notifications"
"""The next unused number for a notification."""
SWEEP = "sweep"
"""References are or will be removed, whose objects must be swept: `PARTLY`, or `WHOLLY` if no pack may keep them."""
LINEAGE = "handovers"
"""The last handovers of the folder to another machine, and from there."""


class Notes:
    """The notes of a store, which the caller owns. Safe to use from several threads."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._path = os.path.join(store, NAME)
        self._lock = threading.RLock()
        self._texts: dict[str, str] | None = None
        self._next_number: int | None = None
        self._is_closed = False

    def close(self) -> None:
        """Stops all writing: from now on, another process may own the file."""
        with self._lock:
            self._is_closed = True

    def get(self, name: str) -> str | None:
        """Returns the text of a note; raises `IoError`."""
        with self._lock:
            return self._read().get(name)

    def keep(self, name: str, text: str | None) -> None:
        """Writes a note durably, or drops it; after `StorageFull` or `IoError`, it is unchanged."""
        with self._lock:
            if text is not None:
                self._write({**self._read(), name: text})
            elif self._read().get(name) is not None:
                self.keep_only([each for each in self._read() if each != name])

    def keep_only(self, names: Collection[str]) -> None:
        """Drops all others; raises as `keep`."""
        with self._lock:
            texts = self._read()
            if texts.keys() - names:
                self._write({name: text for name, text in texts.items() if name in names})

    def reserve(self, count: int) -> int:
        """Reserves numbers for notifications, durably, and returns the first; none is reused, even after a crash."""
        with self._lock:
            first = self._next_number or self._first_number()
            self.keep(NUMBERS, str(first + count))
            self._next_number = first + count
        return first

    def _first_number(self) -> int:
        result = self._read().get(NUMBERS, "")
        if result.isdecimal():
            return int(result)
        if not ReferenceDatabase(self._store).read().targets:
            # nothing was ever announced
            return 1
        logger.warning("%s is lost: notifications are numbered by the clock from now on", self._path)
        return int(time.time() * 1000)

    def _read(self) -> dict[str, str]:
        if self._texts is None:
            data = read_if_there(self._path)
            result = {} if data is None else decode(data)
            if result is None:
                logger.warning("%s is damaged, and is kept in quarantine", self._path)
                Quarantine(self._store).move(self._path, "its checksum does not match")
            self._texts = result or {}
        return self._texts

    def _write(self, texts: dict[str, str]) -> None:
        if self._is_closed:
            raise IoError(f"{self._store} is closed", hint="open the folder again", errno="EBADF", path=self._store)
        data = json.dumps(texts).encode("ascii")
        write_file(self._path, b"%08x %s\n" % (zlib.crc32(data), data))
        self._texts = texts


def decode(data: bytes) -> dict[str, str] | None:
    """Decodes the file; None if it is damaged."""
    checksum, _, text = data.removesuffix(b"\n").partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    result: dict[str, str] = json.loads(text)
    return result
