"""The numbers of a store's notifications, in a note of its journal."""

from __future__ import annotations

import logging
import threading
import time

from .journal.frames import NUMBERS
from .repository import ShadowRepository

logger = logging.getLogger(__name__)


class Numbers:
    """The numbers of the notifications of a store. Safe to use from several threads.

    Args:
        repository: of the store.
    """

    def __init__(self, repository: ShadowRepository) -> None:
        self._repository = repository
        self._lock = threading.Lock()
        self._next: int | None = None

    def reserve(self, count: int) -> int:
        """Reserves numbers, durably; none is ever given twice, not even after a crash.

        Args:
            count: how many.

        Returns:
            The first of them.

        Raises:
            StorageFull, IoError: none was reserved.
        """
        with self._lock:
            first = self._next or self._first()
            self._repository.journal.note({NUMBERS: b"%d" % (first + count)})
            self._next = first + count
        return first

    def _first(self) -> int:
        data = self._repository.journal.notes.get(NUMBERS, b"")
        if data.isdigit():
            return int(data)
        if not self._repository.references.read().targets:
            # nothing was ever announced
            return 1
        path = self._repository.path
        logger.warning("%s has lost its journal: notifications are numbered by the clock from now on", path)
        return int(time.time() * 1000)
