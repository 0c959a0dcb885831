"""Lists what steps changed and nobody took back, change by change, in the order of time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import attrs

from snapd.core.actions.sessions import Sessions
from snapd.core.attribution import Delta, owners
from snapd.model.call import Call
from snapd.model.snapshot import Change, ObjectId, RelPath
from snapd.model.timeline import Event, Operated, Operation, SessionId, Span, State, Step, StepId
from snapd.store.store import Store

from .steps.step_changes import StepChanges

Asked = tuple[Step, frozenset[RelPath] | None]
"""A step, and those of its files that were not taken back; None for all of them."""


@attrs.frozen
class MadeChange:
    """One change of a file, with where its bytes are.

    Attributes:
        delta: the change; its `others` are the steps of other sessions that may have made it, and were not asked for.
        before: the tree with the file before.
        after: the tree with the file afterwards.
        by: those of the steps that were asked for that made it; none for an operation that took some of it back.
        moved_from: where the file was before, if it was moved.
    """

    delta: Delta
    before: ObjectId
    after: ObjectId
    by: tuple[Step, ...]
    moved_from: RelPath | None = None


class MadeChanges:
    """Lists the changes of steps one by one.

    Args:
        store: of the workspace.
        sessions: knows the steps.
        step_changes: says what of a step is in force.
    """

    def __init__(self, store: Store, sessions: Sessions, step_changes: StepChanges) -> None:
        self._store = store
        self._timeline = store.timeline
        self._sessions = sessions
        self._step_changes = step_changes

    def of(
        self, session_ids: Iterable[SessionId], step_ids: Iterable[StepId], call: Call
    ) -> dict[RelPath, tuple[MadeChange, ...]]:
        """Lists the changes of the ended steps of some sessions, and of some steps, each with its parts.

        A step that was taken back is not there; nor are files of a step that were taken back alone. Of a file of which
        hunks were taken back, the operation that did so is among the changes.

        Args:
            session_ids: the sessions.
            step_ids: the steps.
            call: the request.

        Returns:
            For each file its changes, the oldest first; ordered by path.

        Raises:
            UnknownSession, UnknownStep: there is no such session or step.
            StoreCorrupt: an object is missing or damaged.
            Cancelled: the client does not want the answer any more.
        """
        steps = self._asked(session_ids, step_ids)
        found: list[tuple[int, MadeChange, RelPath]] = []
        for event in self._seen(steps, call):
            assert event.seen is not None
            found += [(event.seq, made, path) for path, made in self._in_span(event.seen, steps, call)]
        changed = {path for _, _, path in found}
        for event in self._taken_back(steps):
            found += [(event.seq, made, path) for path, made in self._by_operation(event, changed, call)]
        # an operation comes after what its own event saw
        found.sort(key=lambda each: (each[0], not each[1].by))
        by_path: dict[RelPath, list[MadeChange]] = {path: [] for path in sorted(changed)}
        for _, made, path in found:
            by_path[path].append(made)
        return {path: tuple(every) for path, every in by_path.items()}

    def _asked(self, session_ids: Iterable[SessionId], step_ids: Iterable[StepId]) -> dict[StepId, Asked]:
        """The steps to tell of, by their names."""
        named = [self._sessions.known_step(step_id) for step_id in step_ids]
        for session_id in session_ids:
            named += self._timeline.steps(self._sessions.known(session_id).session_id)
        steps = {part.step_id: part for step in named for part in self._step_changes.with_parts(step)}
        return {
            name: (step, self._in_force(step)) for name, step in steps.items() if step.state in ("applied", "partly")
        }

    def _in_force(self, step: Step) -> frozenset[RelPath] | None:
        if not self._timeline.undone(step.step_id):
            return None
        return frozenset(self._step_changes.in_force(step).files)

    def _seen(self, steps: Collection[StepId], call: Call) -> Iterator[Event]:
        """The events in whose spans steps were at work, each once, in the order of time."""
        events: dict[int, Event] = {}
        for step_id in steps:
            call.check()
            events |= {event.seq: event for event in self._timeline.events_of(step_id)}
        return (events[seq] for seq in sorted(events))

    def _in_span(self, span: Span, steps: dict[StepId, Asked], call: Call) -> list[tuple[RelPath, MadeChange]]:
        authors = self._step_changes.authors(span.steps)
        trees = span.before.tree, span.after.tree
        made: list[tuple[Change, tuple[Step, ...], tuple[StepId, ...]]] = []
        for change in self._changes(span.before, span.after, call):
            found = owners(change.path, authors)
            mine = [steps[name] for name in found if name in steps]
            by = tuple(step for step, files in mine if files is None or change.path in files)
            if by:
                own = {step.session_id for step in by}
                others = tuple(name for name in found if name not in steps and authors[name].session_id not in own)
                made.append((change, by, others))
        gone = {change.path for change, _, _ in made if change.new is None}
        come = {change.path for change, _, _ in made if change.old is None}
        moves = self._store.renames(span.before, span.after) if gone and come else {}
        moves = {new: old for new, old in moves.items() if new in come and old in gone}
        return [
            (change.path, MadeChange(Delta(change.old, change.new, others), *trees, by, moves.get(change.path)))
            for change, by, others in made
        ]

    def _taken_back(self, steps: dict[StepId, Asked]) -> Iterator[Event]:
        for session_id in dict.fromkeys(step.session_id for step, _ in steps.values()):
            yield from self._timeline.operations_about(session_id)

    def _by_operation(
        self, event: Event, changed: Collection[RelPath], call: Call
    ) -> Iterator[tuple[RelPath, MadeChange]]:
        """What an operation took back in some files and nobody did again."""
        assert isinstance(event.what, Operated)
        operation = self._timeline.unit(event.what.operation_id)
        assert isinstance(operation, Operation)
        files = self._step_changes.in_force(operation).files.keys() & changed
        trees = operation.from_.tree, operation.after.tree
        for change in self._changes(operation.from_, operation.after, call, files) if files else ():
            yield change.path, MadeChange(Delta(change.old, change.new), *trees, ())

    def _changes(self, old: State, new: State, call: Call, only: Collection[RelPath] = ()) -> Iterator[Change]:
        for change in self._store.changes(old, new, only=only):
            call.check()
            yield change
