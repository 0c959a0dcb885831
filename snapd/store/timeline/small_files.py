"""The small files of a store beside its timeline.

`intent` is private, and has the changes of an operation, from before the first one until after the last.
`notifications` has the numbers of notifications, reserved in blocks; none is ever used twice, even after a crash.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
import time
import zlib

from snapd.failpoints import failpoint
from snapd.model.errors import SnapdError, os_errors
from snapd.model.timeline import Intent
from snapd.store.files.durable import read_if_there, remove_if_there, sync_directory, write_file
from snapd.store.files.quarantine import Quarantine
from snapd.store.files.space import ensure_space_to_record

from .codec import decode_intent, encode_intent

logger = logging.getLogger(__name__)

INTENT = "intent"

_FORMAT = b"snapdI1\n"
_SUM_BYTES = 4
_COPIES = 4

NUMBERS = "notifications"

_LINE = re.compile(rb"([1-9][0-9]*) ([0-9a-f]{8})\n")


class IntentFile:
    """The file that keeps the intent of a store.

    Args:
        directory: of the store, which the caller owns.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = os.path.join(directory, INTENT)

    def keep(self, intent: Intent) -> None:
        """Writes the intent durably, in place of the previous one, if there is also space to record it later.

        Raises:
            InvalidParams: a text in it is not valid Unicode.
            StorageFull, IoError: it was not written.
        """
        data = encode_intent(intent)
        # this file, and its event in the journal, in an object and in the database
        ensure_space_to_record(self._directory, _COPIES * len(data))
        try:
            write_file(self._path, _FORMAT + _sum(data) + data)
        except BaseException:
            # the file may exist: the next process must not carry out an operation that was refused
            with contextlib.suppress(SnapdError):
                self.forget()
            raise

    def read(self) -> Intent | None:
        """The intent, or None.

        The file is written under another name and renamed, so a crash leaves all of it or nothing. A damaged one is
        useless; it is moved to quarantine, so that the store can be opened.

        Raises:
            IoError: the file exists and cannot be read now; ignoring it would leave its operation half done.
            WrittenByNewer: only a newer snapd can finish that operation.
            StorageFull: it is damaged, and there is no space for the quarantine.
        """
        with os_errors(self._path):
            try:
                failpoint("intent.read")
                with open(self._path, "rb") as file:
                    data = file.read()
            except FileNotFoundError:
                return None
            except IsADirectoryError:
                logger.warning("%s is a directory, which snapd does not make; it is ignored", self._path)
                return None
        try:
            return decode_file(data)
        except (ValueError, RecursionError) as error:
            logger.warning("%s is damaged and is moved to quarantine: %s", self._path, error)
            Quarantine(self._directory).move(self._path, str(error))
            return None

    def forget(self, *, durably: bool = True) -> None:
        """Removes the file.

        Args:
            durably: whether a power cut may not bring it back: an old intent would not match the work tree.

        Raises:
            IoError: it may still exist.
        """
        with os_errors(self._path):
            failpoint("intent.forget")
            remove_if_there(self._path)
            if durably:
                sync_directory(self._directory)


def decode_file(data: bytes) -> Intent:
    """The intent in the bytes of the file.

    Raises:
        ValueError, RecursionError: it is damaged.
        WrittenByNewer: a newer snapd wrote it.
    """
    start = len(_FORMAT) + _SUM_BYTES
    if not data.startswith(_FORMAT) or data[len(_FORMAT) : start] != _sum(data[start:]):
        raise ValueError("its checksum does not match")
    return decode_intent(data[start:])


def _sum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_SUM_BYTES, "big")


class Numbers:
    """The numbers of a store. Safe to use from several threads.

    The next free number is in a file of its own, because the database may be rebuilt. The file is durable before a
    number is used, so without a file none was. If it is damaged, the milliseconds since 1970 are higher than any number
    before.

    Args:
        directory: of the store, which the caller owns.
    """

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, NUMBERS)
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
