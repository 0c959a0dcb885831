"""The intent: a private file with the changes of an operation, from before the first one until after the last."""

from __future__ import annotations

import contextlib
import logging
import os
import zlib
from typing import TYPE_CHECKING

from snapd.core.errors import SnapdError, os_errors
from snapd.failpoints import failpoint
from snapd.store.files.durable import remove_if_there, sync_directory, write_file
from snapd.store.files.free_space import ensure_space_to_record
from snapd.store.files.quarantine import Quarantine

from .codec import decode_intent, encode_intent

if TYPE_CHECKING:
    from snapd.core.timeline.model import Intent

logger = logging.getLogger(__name__)

NAME = "intent"

_FORMAT = b"snapdI1\n"
_SUM_BYTES = 4
_COPIES = 4


class IntentFile:
    """The file that keeps the intent of a store.

    Args:
        directory: of the store, which the caller owns.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = os.path.join(directory, NAME)

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
