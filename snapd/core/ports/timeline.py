"""The sessions, steps and operations of a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from snapd.core.model import ObjectId, RelPath
    from snapd.core.timeline.model import (
        Event,
        Message,
        Operated,
        OperationId,
        Session,
        SessionId,
        SnapshotId,
        Span,
        Step,
        StepId,
        Summary,
        Undone,
        UndoUnit,
    )
    from snapd.core.timeline.queries import StepQuery, Tally, Touched


class TimelineView(Protocol):
    """The sessions, steps and operations of a workspace, or of a fetched session, as the events record them."""

    @property
    def head(self) -> SnapshotId | None:
        """The work tree at the last event."""

    @property
    def next_seq(self) -> int:
        """The number of the next event."""

    @property
    def epoch(self) -> int:
        """A number that grows when events go, or become others; not when events are added."""

    def session(self, session_id: SessionId) -> Session | None:
        """A session by its name."""

    def sessions(self) -> tuple[Session, ...]:
        """All sessions, in the order in which they were first begun."""

    def message(self, session_id: SessionId, message_id: str) -> Message | None:
        """A message of a session by its id."""

    def last_message(self, session_id: SessionId) -> Message | None:
        """The message that was sent last in a session; None if none was, whatever steps name."""

    def message_page(
        self, session_id: SessionId | None, prefix: str, after: int | None, limit: int | None
    ) -> tuple[tuple[Message, ...], int | None]:
        """Lists up to `limit` messages from where a page ended; and where this one ends.

        A message that only steps name is among them, at the place of its first step.

        Args:
            session_id: only those of this session, oldest first; None for those of all sessions, newest first.
            prefix: the beginning of their ids; a whole id means that message alone.
            after: where the page before ended; None for the first page.
            limit: messages, at most; None for all.
        """

    def step(self, step_id: StepId) -> Step | None:
        """A step by its name."""

    def step_of_part(self, session_id: SessionId, message_id: str | None, part_id: str) -> Step | None:
        """The first step of a session that was begun for a part of a message, or that is open for a part of any."""

    def steps(self, session_id: SessionId) -> tuple[Step, ...]:
        """The steps of a session, in the order in which they were begun."""

    def session_page(self, after: int | None, limit: int | None) -> tuple[tuple[Session, ...], int | None]:
        """Lists up to `limit` sessions in the order of `sessions`, from where a page ended; and where this one ends."""

    def step_page(
        self, session_id: SessionId, after: int | None, limit: int | None
    ) -> tuple[tuple[Step, ...], int | None]:
        """Lists up to `limit` steps, in the order of `steps`, from where a page ended; and says where this one ends."""

    def neighbours(self, name: str) -> tuple[str, ...]:
        """The ids of each kind that come right before and after one in order, as far as there are any."""

    def find_steps(self, wanted: StepQuery, limit: int | None) -> tuple[Step, ...]:
        """Finds up to `limit` steps, newest first."""

    def parts(self, step_id: StepId) -> tuple[Step, ...]:
        """The direct parts of a step, of any session, in the order in which they were begun."""

    def open_steps(self) -> tuple[Step, ...]:
        """The open steps of all sessions, in the order in which they were begun."""

    def spans(self, step_id: StepId, *, spoken_for: bool = False) -> tuple[Span, ...]:
        """The spans that have a step among their `steps`, in the order of time.

        Here and in `events`, a step of `Span.left` is also among the `steps` once somebody spoke for it.

        Args:
            step_id: the step.
            spoken_for: answer as if somebody had spoken for it.
        """

    def events_of(self, step_id: StepId, *, spoken_for: bool = False) -> tuple[Event, ...]:
        """The events whose `seen` is one of the `spans` of a step, in the order of time. Arguments as of `spans`."""

    def events_of_session(self, session_id: SessionId) -> tuple[Event, ...]:
        """The events that say anything about a session or its steps, whichever session they are of, oldest first."""

    def operations_about(self, session_id: SessionId) -> tuple[Event, ...]:
        """The operations about a session that changed something by themselves and were not taken back as a whole.

        They are given as their events, in the order of time.
        """

    def beside(self, step_id: StepId) -> tuple[StepId, ...]:
        """The other steps in the spans of a step, including the spans that have it in `Span.left`."""

    def operation(self, operation_id: OperationId) -> Operated | None:
        """An operation by its name."""

    def unit(self, name: StepId | OperationId) -> UndoUnit | None:
        """A step, or an operation that can be taken back, by its name."""

    def in_force(self) -> tuple[StepId | OperationId, ...]:
        """What was not taken back as a whole, as far as it may have changed something: the last to do so first.

        These are steps of all sessions, open ones included, and operations.
        """

    def redoable(self, session_id: SessionId | None) -> tuple[Undone, ...]:
        """What can be done again, the last taken back first; a step taken back piece by piece is there several times.

        Args:
            session_id: only steps of this session; None for all steps and operations.
        """

    def undone(self, name: StepId | OperationId) -> tuple[Undone, ...]:
        """What was taken back of a step or an operation and not done again, oldest first.

        What cannot be done again any more is there, too.
        """

    def tally(self, session_id: SessionId) -> Tally:
        """Counts the steps of a session that can be undone and redone."""

    def keep_summary(self, step_id: StepId, summary: Summary, next_seq: int) -> None:
        """Keeps the summary of a step, unless an event was added since; it may be lost, and is computed again then.

        It is dropped when another step ends that was open at the same time, because that can change who owns what.

        Args:
            step_id: the step.
            summary: what it changed.
            next_seq: the number of the next event when the summary was computed.
        """

    def events(self, before: int | None, limit: int) -> tuple[Event, ...]:
        """Lists up to `limit` events with a `seq` below `before`, or of all events for None, newest first."""

    def event(self, seq: int) -> Event | None:
        """The event with a number."""

    def events_within(self, first: int, last: int, head: ObjectId | None) -> tuple[Event, ...]:
        """Lists the events between two times, newest first.

        Args:
            first: milliseconds since 1970.
            last: the same.
            head: only events that found or left this tree; None for all.
        """

    def unlisted(self, most: int) -> tuple[int, ...]:
        """The numbers of up to `most` events whose files are not listed yet, oldest first; see `list_files`."""

    def list_files(self, seq: int, files: Iterable[Touched]) -> None:
        """Lists the files that an event changed; it is the oldest whose files are not listed yet.

        The list follows from the snapshots of the event. It may be lost, and is made again then.
        """

    def touched_of(self, path: RelPath, before: int, after: int = 0) -> tuple[Touched, ...]:
        """What the listed events with a number below `before` and above `after` did to a file, oldest first."""

    def touched_since(self, seq: int) -> tuple[Touched, ...]:
        """What the listed events with a number above `seq` did, in their order."""


class Timeline(TimelineView, Protocol):
    """The timeline of a workspace, to which events are added."""

    def supposing(self) -> AbstractContextManager[None]:
        """Opens a block for events that only might happen: at its end, what `suppose` added is forgotten.

        All other readers wait until the block ends, so keep it short.
        """

    def suppose(self, event: Event) -> None:
        """Makes all answers be as if an event had happened, until the `supposing` block ends; writes nothing."""

    def reserve(self, count: int) -> int:
        """Reserves `count` numbers for notifications, and gives the first; gives none twice, even after a crash."""
