"""Lists the history of a workspace as people read it: steps, operations, and what the user did in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from snapd.core.answers import Page, StepView
from snapd.core.timeline.model import (
    FileSummary,
    Operated,
    Operation,
    OperationKind,
    SessionId,
    StepBegun,
    StepId,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.call import Call
    from snapd.core.model import ObjectId
    from snapd.core.ports.timeline import Timeline
    from snapd.core.timeline.model import Event

    from .step_changes import StepChanges

_AT_ONCE = 200


@attrs.frozen
class HistoryEntry:
    """An entry of the history.

    Attributes:
        seq: the number of its event.
        kind: a step, an operation, or "user" for what belongs to no step.
        milliseconds: when it began, since 1970; for "user", when snapd noticed it.
        before: the work tree before it.
        after: the work tree after it; None while the step is open.
        files: what it changed, ordered by path.
        step: the step, for the entry of a step.
        session_id: the session that an operation was about.
        turned: the steps that an operation took back or did again.
        state: of an operation, if it was taken back as a whole or in part.
        operations: the operations that an operation took back or did again.
    """

    seq: int
    kind: Literal["step", "user"] | OperationKind
    milliseconds: int
    before: ObjectId
    after: ObjectId | None
    files: tuple[FileSummary, ...]
    step: StepView | None = None
    session_id: SessionId | None = None
    turned: tuple[StepId, ...] = ()
    state: Literal["partly", "undone"] | None = None
    operations: tuple[Operation, ...] = ()


class History:
    """Lists the history of a workspace.

    Args:
        timeline: of the workspace.
        step_changes: says what steps changed.
    """

    def __init__(self, timeline: Timeline, step_changes: StepChanges) -> None:
        self._timeline = timeline
        self._step_changes = step_changes

    def page(self, before: int | None, limit: int, call: Call) -> Page[HistoryEntry]:
        """Lists the latest entries, newest first.

        Args:
            before: only entries of events below this number; None for all.
            limit: entries, at most; a few more where one event has several entries.
            call: the request.

        Raises:
            StoreCorrupt: an object is missing or damaged.
            IoError, Cancelled: the texts were not compared.
        """
        entries: list[HistoryEntry] = []
        for event in self._events(before):
            call.check()
            if len(entries) >= limit:
                return Page(tuple(entries), entries[-1].seq)
            entries += self._entries(event, call)
        return Page(tuple(entries), None)

    def _events(self, before: int | None) -> Iterator[Event]:
        while True:
            events = self._timeline.events(before, _AT_ONCE)
            yield from events
            if len(events) < _AT_ONCE:
                return
            before = events[-1].seq

    def _entries(self, event: Event, call: Call) -> Iterator[HistoryEntry]:
        what, seen = event.what, event.seen
        if isinstance(what, StepBegun):
            yield from self._step(event, what, call)
        elif isinstance(what, Operated) and event.head is not None:
            yield HistoryEntry(
                event.seq,
                what.kind,
                event.milliseconds,
                what.before.tree,
                event.head.tree,
                self._step_changes.between(what.before.tree, event.head.tree, call),
                session_id=what.session_id,
                turned=tuple(dict.fromkeys(turn.step_id for turn in what.turned if turn.step_id is not None)),
                state=self._state(what),
                operations=tuple(self._operations(what)),
            )
        if seen is not None:
            files = self._step_changes.users(seen, call)
            if files or not seen.steps:
                yield HistoryEntry(event.seq, "user", event.milliseconds, seen.before.tree, seen.after.tree, files)

    def _state(self, what: Operated) -> Literal["partly", "undone"] | None:
        found = self._timeline.deed(what.operation_id)
        return found.state if isinstance(found, Operation) and found.state != "applied" else None

    def _operations(self, what: Operated) -> Iterator[Operation]:
        for name in dict.fromkeys(turn.name for turn in what.turned if turn.step_id is None):
            found = self._timeline.deed(name)
            if isinstance(found, Operation):
                yield found

    def _step(self, event: Event, begun: StepBegun, call: Call) -> Iterator[HistoryEntry]:
        step = self._timeline.step(begun.step_id)
        session = self._timeline.session(begun.session_id)
        if step is None or session is None:
            return
        view = self._step_changes.view(step, session.agent, call)
        yield HistoryEntry(
            event.seq,
            "step",
            event.milliseconds,
            step.from_.tree,
            step.to.tree if step.to is not None else None,
            view.files or (),
            step=view,
        )
