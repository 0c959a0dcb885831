"""The timeline of a session that came from another machine: its own events alone, which never change."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING, TypeVar

from snapd.core.errors import StoreCorrupt

from .chain import walk
from .database import Database
from .view import TimelineView

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.core.model import ObjectId
    from snapd.core.timeline.model import StepId, Summary
    from snapd.store.repository import ShadowRepository

T = TypeVar("T")


class FetchedTimeline(TimelineView):
    """The timeline of a fetched session. Safe to use from several threads.

    It is read at its first use; any method may raise `StoreCorrupt` or `IoError` if that fails.

    Args:
        repository: holds its events; the caller owns it.
        chain: the name of its reference.
        head: its newest event.
    """

    def __init__(self, repository: ShadowRepository, chain: str, head: ObjectId) -> None:
        self._repository = repository
        self._chain = chain
        self._head = head
        self._lock = threading.Lock()
        self._database: Database | None = None
        self.epoch = 0

    def check(self) -> None:
        """Reads it; raises `StoreCorrupt` if its events cannot follow each other."""
        self._ask(Database.last)

    def close(self) -> None:
        """Forgets what was read."""
        with self._lock:
            database, self._database = self._database, None
            if database is not None:
                database.close()

    @property
    def next_seq(self) -> int:
        """The number that the next event would have."""
        return (self._previous() or 0) + 1

    def keep_summary(self, step_id: StepId, summary: Summary, next_seq: int) -> None:
        """Keeps the summary of a step until `close`; there is no later event that could change it."""
        assert next_seq == self.next_seq
        self._ask(lambda database: database.keep_summary(step_id, summary))

    def _ask(self, question: Callable[[Database], T]) -> T:
        with self._lock:
            return question(self._opened())

    def _opened(self) -> Database:
        if self._database is None:
            links = list(walk(self._chain, self._head, self._repository.read_commit))
            database = Database(None)
            try:
                database.create(reversed(links))
            except (ValueError, sqlite3.IntegrityError) as error:
                database.close()
                raise StoreCorrupt(
                    f"the events of the fetched session {self._chain} are inconsistent: {error}", object=self._chain
                ) from error
            self._database = database
        return self._database
