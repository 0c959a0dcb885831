"""The sessions, steps and operations of a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from snapd.core.timeline.model import (
        Event,
        Operated,
        OperationId,
        Session,
        SessionId,
        SnapshotId,
        Span,
        Step,
        StepId,
        StepQuery,
        Summary,
        Tally,
        Undone,
    )


class Timeline(Protocol):
    """The sessions, steps and operations of a workspace, as `Store.record` was told of them."""

    @property
    def head(self) -> SnapshotId | None:
        """The work tree, by the last event."""

    @property
    def next_seq(self) -> int:
        """The number of the next event."""

    def session(self, session_id: SessionId) -> Session | None:
        """A session by its name."""

    def sessions(self) -> tuple[Session, ...]:
        """All sessions, in the order in which they were first begun."""

    def step(self, step_id: StepId) -> Step | None:
        """A step by its name."""

    def steps(self, session_id: SessionId) -> tuple[Step, ...]:
        """The steps of a session, in the order in which they were begun."""

    def session_page(self, after: int | None, limit: int | None) -> tuple[tuple[Session, ...], int | None]:
        """Up to `limit` sessions, as `sessions` has them, from where a page ended; and where this one ended."""

    def step_page(
        self, session_id: SessionId, after: int | None, limit: int | None
    ) -> tuple[tuple[Step, ...], int | None]:
        """Up to `limit` steps, as `steps` has them, from where a page ended; and where this one ended."""

    def find_steps(self, wanted: StepQuery, limit: int | None) -> tuple[Step, ...]:
        """Up to `limit` steps that are asked for, the one that was begun last first."""

    def parts(self, step_id: StepId) -> tuple[Step, ...]:
        """The steps that were begun as parts of a step, in that order, whatever their session; not parts of parts."""

    def open_steps(self) -> tuple[Step, ...]:
        """The steps that are open, of all sessions, in the order in which they were begun."""

    def spans(self, step_id: StepId, *, spoken_for: bool = False) -> tuple[Span, ...]:
        """The spans that have a step among their `steps`, in their order.

        As here and in `events`, a step that was left stands among the `steps` once somebody spoke for it.

        Args:
            step_id: the step.
            spoken_for: as if somebody spoke for it.
        """

    def beside(self, step_id: StepId) -> tuple[StepId, ...]:
        """The other steps in spans that a step is in, be it as one that was left."""

    def operation(self, operation_id: OperationId) -> Operated | None:
        """An operation by its name."""

    def redoable(self, session_id: SessionId) -> tuple[Undone, ...]:
        """What can be done again of a session's steps, in the order in which that is to be: the last taken back first.

        A step of which parts were taken back one after the other is among them several times.
        """

    def undone(self, step_id: StepId) -> tuple[Undone, ...]:
        """What was taken back of a step and not done again, in the order of time, be it that it still can be or not."""

    def tally(self, session_id: SessionId) -> Tally:
        """What can be done in a session."""

    def keep_summary(self, step_id: StepId, summary: Summary, next_seq: int) -> None:
        """Keeps what a step itself changed, unless something happened since: it follows from the rest, and may be lost.

        It is dropped when a step ends that was open beside it: who wrote what may look different then.

        Args:
            step_id: the step.
            summary: what it changed.
            next_seq: as it was when that was found out.
        """

    def events(self, before: int | None, limit: int) -> tuple[Event, ...]:
        """The latest events with a `seq` below one, or of all, the newest first; so many at most."""

    def supposing(self) -> AbstractContextManager[None]:
        """Makes room for events that only might happen: what `suppose` adds is forgotten when the block ends.

        Whoever else asks something meanwhile waits, so that the block is to be short.
        """

    def suppose(self, event: Event) -> None:
        """Answers from now on as if an event had happened, until the `supposing` block ends; writes nothing."""

    def reserve(self, count: int) -> int:
        """Numbers for notifications that were never given out, not even before a crash: the first of so many."""
