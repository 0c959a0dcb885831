"""What is about to be done to the work tree: a private file, there before the first change and gone after the last."""

from __future__ import annotations

import logging
import os
import zlib
from typing import TYPE_CHECKING

from snapd.core.errors import os_errors
from snapd.store.durable import remove_if_there, sync_directory, write_file

from .codec import decode_intent, encode_intent

if TYPE_CHECKING:
    from snapd.core.history import Intent

logger = logging.getLogger(__name__)

NAME = "intent"

_FORMAT = b"snapdI1\n"
_SUM_BYTES = 4


class IntentFile:
    """Where the intent of a store is kept.

    Args:
        directory: the store's, which the caller owns.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = os.path.join(directory, NAME)

    def keep(self, intent: Intent) -> None:
        """Keeps it durably, in place of the one before.

        Raises:
            InvalidParams: a text in it is not valid Unicode.
            StorageFull, IoError: it was not kept.
        """
        data = encode_intent(intent)
        write_file(self._path, _FORMAT + _sum(data) + data)

    def read(self) -> Intent | None:
        """What is kept, None where nothing is.

        It was written aside and renamed, so a crash leaves all of it or none. What is there and damaged all the same
        tells nobody what was meant; it is dropped, so that it keeps nobody from the store.
        """
        try:
            with open(self._path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            logger.warning("%s cannot be read and is passed over: %s", self._path, error.strerror)
            return None
        try:
            return decode_intent(_checked(data))
        except (ValueError, RecursionError) as error:
            logger.warning("%s is damaged and is dropped: %s", self._path, error)
            self.forget()
            return None

    def forget(self) -> None:
        """Drops it, durably: one that came back after a power cut would speak of a work tree that is no more.

        Raises:
            IoError: it may be there still.
        """
        with os_errors(self._path):
            remove_if_there(self._path)
            sync_directory(self._directory)


def _checked(data: bytes) -> bytes:
    start = len(_FORMAT) + _SUM_BYTES
    if not data.startswith(_FORMAT) or data[len(_FORMAT) : start] != _sum(data[start:]):
        raise ValueError("its sum is another")
    return data[start:]


def _sum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_SUM_BYTES, "big")
