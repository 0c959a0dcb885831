"""What is about to be done to the work tree: a private file, there before the first change and gone after the last."""

from __future__ import annotations

import contextlib
import logging
import os
import zlib
from typing import TYPE_CHECKING

from snapd.core.errors import SnapdError, os_errors
from snapd.failpoints import failpoint
from snapd.store.files.durable import remove_if_there, sync_directory, write_file
from snapd.store.files.free_space import ensure_space
from snapd.store.files.quarantine import Quarantine

from .codec import decode_intent, encode_intent

if TYPE_CHECKING:
    from snapd.core.timeline.model import Intent

logger = logging.getLogger(__name__)

NAME = "intent"

_FORMAT = b"snapdI1\n"
_SUM_BYTES = 4
_TIMES_TOLD = 4


class IntentFile:
    """The file that keeps the intent of a store.

    Args:
        directory: the store's, which the caller owns.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = os.path.join(directory, NAME)

    def keep(self, intent: Intent) -> None:
        """Keeps it durably, in place of the one before, where there is room to tell of it later, too.

        Raises:
            InvalidParams: a text in it is not valid Unicode.
            StorageFull, IoError: it was not kept.
        """
        data = encode_intent(intent)
        # this file, and its event: as JSON in the journal, in an object, and in the database
        ensure_space(self._directory, _TIMES_TOLD * len(data))
        try:
            write_file(self._path, _FORMAT + _sum(data) + data)
        except BaseException:
            # it may be there, and only its name not be durable: what was refused must not be done by the next process
            with contextlib.suppress(SnapdError):
                self.forget()
            raise

    def read(self) -> Intent | None:
        """What is kept, None if nothing is.

        It was written aside and renamed, so a crash leaves all of it or none. What is there and damaged all the same
        tells nobody what was meant; it is put in quarantine, so that it keeps nobody from the store.

        Raises:
            IoError: it is there and cannot be read now; to go on as if it were not would leave its operation half done.
            WrittenByNewer: only a newer snapd can end that operation.
            StorageFull: it is damaged, and there is no room to put it aside.
        """
        with os_errors(self._path):
            try:
                failpoint("intent.read")
                with open(self._path, "rb") as file:
                    data = file.read()
            except FileNotFoundError:
                return None
            except IsADirectoryError:
                logger.warning("%s is none of ours and is passed over", self._path)
                return None
        try:
            return decode_file(data)
        except (ValueError, RecursionError) as error:
            logger.warning("%s is damaged and is put aside: %s", self._path, error)
            Quarantine(self._directory).move(self._path, str(error))
            return None

    def forget(self) -> None:
        """Drops it, durably: one that came back after a power cut would speak of a work tree that is no more.

        Raises:
            IoError: it may be there still.
        """
        with os_errors(self._path):
            failpoint("intent.forget")
            remove_if_there(self._path)
            sync_directory(self._directory)


def decode_file(data: bytes) -> Intent:
    """The intent that the bytes of the file say.

    Raises:
        ValueError, RecursionError: they say none.
        WrittenByNewer: a newer snapd wrote it.
    """
    start = len(_FORMAT) + _SUM_BYTES
    if not data.startswith(_FORMAT) or data[len(_FORMAT) : start] != _sum(data[start:]):
        raise ValueError("its sum is another")
    return decode_intent(data[start:])


def _sum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_SUM_BYTES, "big")
