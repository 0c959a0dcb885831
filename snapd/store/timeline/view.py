"""The questions that a timeline answers from its database; implements `core.ports.TimelineView`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from . import paging
from .database import Database
from .tables import messages, touched

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from snapd.core.timeline.model import SnapshotId, Span, StepId

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
    message = _asked_of(messages.one)
    last_message = _asked_of(messages.last_sent)
    message_page = _asked_of(messages.page)
    step = _asked(Database.step)
    step_of_part = _asked(Database.step_of_part)
    steps = _asked(Database.steps)
    session_page = _asked(Database.session_page)
    step_page = _asked(Database.step_page)
    neighbours = _asked_of(paging.neighbours)
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
    unlisted = _asked_of(touched.unlisted)
    list_files = _asked_of(touched.add)
    touched_of = _asked_of(touched.of_file)
    touched_since = _asked_of(touched.since)

    def spans(self, step_id: StepId, *, spoken_for: bool = False) -> tuple[Span, ...]:
        """See `core.ports.timeline.Timeline`."""
        events = self.events_of(step_id, spoken_for=spoken_for)
        return tuple([event.seen for event in events if event.seen is not None])
