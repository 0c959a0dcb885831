"""The questions that a timeline answers from its database; and the timeline of a session from another machine."""

from __future__ import annotations

import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import ObjectId
from snapd.model.timeline import SnapshotId, Span, StepId, Summary
from snapd.store.repository import ShadowRepository

from . import rows, tables
from .chain import walk
from .database import Database

P = ParamSpec("P")
T = TypeVar("T")


def _asked(question: Callable[Concatenate[Database, P], T]) -> Callable[Concatenate[TimelineView, P], T]:
    """The method of `TimelineView` that asks its database a question."""

    @wraps(question)
    def ask(timeline: TimelineView, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return timeline._ask(lambda database: question(database, *args, **kwargs))

    return ask


def _asked_of(question: Callable[Concatenate[sqlite3.Connection, P], T]) -> Callable[Concatenate[TimelineView, P], T]:
    """The method of `TimelineView` that asks one table of its database a question."""

    @wraps(question)
    def ask(timeline: TimelineView, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return timeline._ask(lambda database: question(database.connection, *args, **kwargs))

    return ask


class TimelineView(ABC):
    """The sessions, steps and operations in a database, wherever its events are."""

    @abstractmethod
    def _ask(self, question: Callable[[Database], T]) -> T:
        """Asks the database a question."""

    @abstractmethod
    def keep_summary(self, step_id: StepId, summary: Summary, next_seq: int) -> None:
        """Keeps the summary of a step, unless an event was added since; it may be lost, and is computed again then.

        It is dropped when another step ends that was open at the same time, because that can change who owns what.

        Args:
            step_id: the step.
            summary: what it changed.
            next_seq: the number of the next event when the summary was computed.
        """

    @property
    @abstractmethod
    def next_seq(self) -> int:
        """The number of the next event."""

    @property
    def head(self) -> SnapshotId | None:
        """The snapshot of the work tree at the last event."""
        last = self._ask(Database.last)
        return last[1] if last is not None else None

    def _previous(self) -> int | None:
        """The `seq` of the last event."""
        last = self._ask(Database.last)
        return last[0] if last is not None else None

    _session_of = _asked(Database.session_of)

    session = _asked(Database.session)
    sessions = _asked(Database.sessions)
    message = _asked_of(tables.message)
    last_message = _asked_of(tables.last_message)
    message_page = _asked_of(tables.message_page)
    step = _asked(Database.step)
    step_of_part = _asked(Database.step_of_part)
    steps = _asked(Database.steps)
    session_page = _asked(Database.session_page)
    step_page = _asked(Database.step_page)
    neighbours = _asked_of(rows.neighbours)
    find_steps = _asked(Database.find_steps)
    parts = _asked(Database.parts)
    open_steps = _asked(Database.open_steps)
    events_of = _asked(Database.events_of)
    events_of_session = _asked(Database.events_of_session)
    operations_about = _asked(Database.operations_about)
    beside = _asked(Database.beside)
    operation = _asked(Database.operation)
    unit = _asked(Database.unit)
    in_force = _asked(Database.in_force)
    redoable = _asked(Database.redoable)
    undone = _asked(Database.undone)
    tally = _asked(Database.tally)
    event = _asked(Database.event)
    events = _asked(Database.events)
    events_within = _asked(Database.events_within)
    unlisted = _asked_of(tables.unlisted)
    list_files = _asked(Database.list_files)
    touched_of = _asked_of(tables.touched_of)
    touched_since = _asked_of(tables.touched_since)

    def spans(self, step_id: StepId, *, spoken_for: bool = False) -> tuple[Span, ...]:
        """The spans that have a step among their `steps`, in the order of time.

        Here and in `events`, a step of `Span.left` is also among the `steps` once somebody spoke for it.

        Args:
            step_id: the step.
            spoken_for: answer as if somebody had spoken for it.
        """
        events = self.events_of(step_id, spoken_for=spoken_for)
        return tuple([event.seen for event in events if event.seen is not None])


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
            try:
                self._database = Database.made(None, reversed(links))
            except (ValueError, sqlite3.IntegrityError) as error:
                raise StoreCorrupt(
                    f"the events of the fetched session {self._chain} are inconsistent: {error}", object=self._chain
                ) from error
        return self._database
