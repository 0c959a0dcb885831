"""Lists the history of a workspace for display: steps, operations, and what the user did in between."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Literal

import attrs

from snapd.core.actions.sessions import Sessions
from snapd.core.actions.step_changes import StepChanges
from snapd.core.answers import StepView
from snapd.core.attribution import Delta, git_at_work, owners
from snapd.model.call import Call
from snapd.model.git import GitChange
from snapd.model.snapshot import Change, ObjectId, RelPath
from snapd.model.timeline import (
    Event,
    FileSummary,
    Message,
    MessageSent,
    Operated,
    Operation,
    OperationKind,
    SessionId,
    Span,
    State,
    Step,
    StepBegun,
    StepId,
)
from snapd.model.trees import is_among
from snapd.store.store import Store
from snapd.store.timeline.timeline import Timeline

_AT_FIRST = 8
"""How many events to read first: most questions end within a few."""
_AT_ONCE = 200
"""The maximum number of events to read at once: a reader that stops early has read one page too many."""


def newest_first(timeline: Timeline, before: int | None = None) -> Iterator[Event]:
    """Yields the events of a timeline, newest first, below a number or from the latest on."""
    count = _AT_FIRST
    while True:
        events = timeline.events(before, count)
        yield from events
        if len(events) < count:
            return
        before, count = events[-1].seq, min(2 * count, _AT_ONCE)


@attrs.frozen
class HistoryQuery:
    """A filter for entries of the history: of one session, and with changes of certain files or directories.

    An entry then shows only those files; an empty set selects all. With `renames`, a moved file is one, and `files`
    includes its older names.
    """

    session_id: SessionId | None = None
    files: frozenset[RelPath] = frozenset()
    renames: bool = False


@attrs.frozen
class HistoryPosition:
    """Where a page of the history ended: its last event, and older names of the requested files."""

    seq: int
    names: frozenset[RelPath] = frozenset()


@attrs.frozen
class HistoryEntry:
    """A step, an operation, a message, or a change that belongs to no step; with the trees before and after."""

    seq: int  # the number of its event
    kind: Literal["step", "user", "message"] | OperationKind
    milliseconds: int  # when it began, since 1970; for "user", when snapd noticed it
    before: ObjectId
    after: ObjectId | None  # None while the step is open
    files: tuple[FileSummary, ...]
    step: StepView | None = None
    session_id: SessionId | None = None  # the session of a message, or the one that an operation was about
    turned: tuple[StepId, ...] = ()  # the steps that an operation undid or redid
    state: Literal["partly", "undone"] | None = None  # of an operation, if it was undone as a whole or in part
    operations: tuple[Operation, ...] = ()  # the operations that an operation undid or redid
    message: Message | None = None
    # whether some of the files belong to another history, so that it may not have been the user
    is_unknown: bool = False
    git: GitChange | None = None  # how the git state changed


@attrs.frozen
class HistoryPage:
    """A part of the history, latest first; `after` is where the next page starts, None on the last one."""

    entries: tuple[HistoryEntry, ...]
    after: HistoryPosition | None


@attrs.frozen
class History:
    """Lists the history of a workspace; for `is_elsewhere`, see `Workspace`."""

    _timeline: Timeline
    _step_changes: StepChanges
    _is_elsewhere: Callable[[RelPath], bool] = lambda _: False

    def page(self, query: HistoryQuery, after: HistoryPosition | None, limit: int, call: Call) -> HistoryPage:
        """Returns the latest entries, newest first, continuing where the previous page ended.

        The page has a few more entries than `limit` if one event has several.
        """
        names = set(query.files if after is None else query.files | after.names)
        entries: list[HistoryEntry] = []
        for event in newest_first(self._timeline, None if after is None else after.seq):
            call.check()
            if len(entries) >= limit:
                return HistoryPage(tuple(entries), HistoryPosition(entries[-1].seq, frozenset(names) - query.files))
            matches = (_of_files(entry, names) for entry in self._entries(event, query, names, call))
            entries += [entry for entry in matches if entry is not None]
        return HistoryPage(tuple(entries), None)

    def _entries(
        self, event: Event, query: HistoryQuery, names: Collection[RelPath], call: Call
    ) -> Iterator[HistoryEntry]:
        what, seen = event.what, event.seen
        if isinstance(what, StepBegun):
            if query.session_id in (None, what.session_id):
                yield from self._step(event, what, query, names, call)
        elif isinstance(what, MessageSent):
            if query.session_id in (None, what.session_id) and not names:
                yield from self._message(event, what)
        elif (
            isinstance(what, Operated)
            and event.head is not None
            and query.session_id in (None, what.session_id)
            and self._touches(what.before.tree, event.head.tree, names)
        ):
            yield HistoryEntry(
                event.seq,
                what.kind,
                event.milliseconds,
                what.before.tree,
                event.head.tree,
                self._step_changes.between(what.before.tree, event.head.tree, call, renames=query.renames),
                session_id=what.session_id,
                turned=tuple(dict.fromkeys(turn.step_id for turn in what.turned if turn.step_id is not None)),
                state=self._state(what),
                operations=tuple(self._operations(what)),
                git=self._step_changes.git_change_of(what),
            )
        if seen is not None and query.session_id is None and self._touches(seen.before.tree, seen.after.tree, names):
            files = self._step_changes.users(seen, call, renames=query.renames)
            git = self._step_changes.git_change([event], lambda steps: not steps) if not names else None
            if files or git or (not seen.steps and seen.before != seen.after):
                # it depends on the directory alone
                one_of_each = {file.path.rpartition(b"/")[0]: file.path for file in files}
                unknown = any(map(self._is_elsewhere, one_of_each.values()))
                trees = seen.before.tree, seen.after.tree
                yield HistoryEntry(event.seq, "user", event.milliseconds, *trees, files, is_unknown=unknown, git=git)

    def _state(self, what: Operated) -> Literal["partly", "undone"] | None:
        result = self._timeline.unit(what.operation_id)
        return result.state if isinstance(result, Operation) and result.state != "applied" else None

    def _operations(self, what: Operated) -> Iterator[Operation]:
        for name in dict.fromkeys(turn.name for turn in what.turned if turn.step_id is None):
            result = self._timeline.unit(name)
            if isinstance(result, Operation):
                yield result

    def _touches(self, old: ObjectId, new: ObjectId, names: Collection[RelPath]) -> bool:
        """Whether an entry may match the filter; counting the lines of all its files would take longer."""
        return not names or self._step_changes.differ_in(old, new, names)

    def _message(self, event: Event, what: MessageSent) -> Iterator[HistoryEntry]:
        message = self._timeline.message(what.session_id, what.message_id)
        if message is not None and event.head is not None:
            tree = event.head.tree
            yield HistoryEntry(
                event.seq, "message", event.milliseconds, tree, tree, (), session_id=what.session_id, message=message
            )

    def _step(
        self, event: Event, begun: StepBegun, query: HistoryQuery, names: Collection[RelPath], call: Call
    ) -> Iterator[HistoryEntry]:
        step = self._timeline.step(begun.step_id)
        session = self._timeline.session(begun.session_id)
        if step is None or session is None:
            return
        view = self._step_changes.view(step, session.agent, call)
        if names and not any(is_among(file.path, names) for file in view.files or ()):
            return
        if query.renames:
            view = self._step_changes.joined(view, call)
        yield HistoryEntry(
            event.seq,
            "step",
            event.milliseconds,
            step.from_.tree,
            step.to.tree if step.to is not None else None,
            view.files or (),
            step=view,
            git=view.git,
        )


def _of_files(entry: HistoryEntry, names: set[RelPath]) -> HistoryEntry | None:
    """Returns the entry with its requested files only, None if it has none; adds older names of moved files."""
    if not names:
        return entry
    files = []
    for file in entry.files:
        if is_among(file.path, names) or (file.renamed_from is not None and is_among(file.renamed_from, names)):
            files.append(file)
            if file.renamed_from is not None and file.path in names:
                names.add(file.renamed_from)
    return attrs.evolve(entry, files=tuple(files)) if files else None


Asked = tuple[Step, frozenset[RelPath] | None]
"""A step, and those of its files that were not undone; None for all of them."""


@attrs.frozen
class ChangeRecord:
    """One change of a file, with where its bytes are."""

    delta: Delta  # its `others` are steps of other sessions, not requested, that may have made it
    before: ObjectId
    after: ObjectId
    by: tuple[Step, ...]  # the requested steps that made it; none for an operation that undid some of it
    moved_from: RelPath | None = None  # where the file was before, if it was moved


@attrs.frozen
class ChangeRecords:
    """Lists the changes of steps one by one."""

    _store: Store
    _sessions: Sessions
    _step_changes: StepChanges

    def of(
        self, session_ids: Iterable[SessionId], step_ids: Iterable[StepId], call: Call
    ) -> dict[RelPath, tuple[ChangeRecord, ...]]:
        """Returns the changes of the ended steps of some sessions, and of some steps, each with its parts.

        Undone steps are left out; so are files of a step that were undone alone. For a file of which hunks were undone,
        the operation that did so is among the changes. Files are ordered by path, the changes of each oldest first.
        Raises `UnknownSession` and `UnknownStep`.
        """
        steps = self._asked(session_ids, step_ids)
        matches: list[tuple[int, ChangeRecord, RelPath]] = []
        for event in self._seen(steps, call):
            assert event.seen is not None
            matches += [(event.seq, made, path) for path, made in self._in_span(event.seen, steps, call)]
        changed = {path for _, _, path in matches}
        for session_id in dict.fromkeys(step.session_id for step, _ in steps.values()):
            for event in self._store.timeline.operations_about(session_id):
                matches += [(event.seq, made, path) for path, made in self._by_operation(event, changed, call)]
        # an operation comes after what its own event saw
        matches.sort(key=lambda each: (each[0], not each[1].by))
        by_path: dict[RelPath, list[ChangeRecord]] = {path: [] for path in sorted(changed)}
        for _, made, path in matches:
            by_path[path].append(made)
        return {path: tuple(every) for path, every in by_path.items()}

    def _asked(self, session_ids: Iterable[SessionId], step_ids: Iterable[StepId]) -> dict[StepId, Asked]:
        named = [self._sessions.known_step(step_id) for step_id in step_ids]
        for session_id in session_ids:
            named += self._store.timeline.steps(self._sessions.known(session_id).session_id)
        steps = {part.step_id: part for step in named for part in self._step_changes.with_parts(step)}
        asked: dict[StepId, Asked] = {}
        for name, step in steps.items():
            if step.state in ("applied", "partly"):
                is_whole = not self._store.timeline.undone(name)
                asked[name] = step, None if is_whole else frozenset(self._step_changes.in_force(step).files)
        return asked

    def _seen(self, steps: Collection[StepId], call: Call) -> Iterator[Event]:
        """Yields the events in whose spans the steps were at work, each once, oldest first."""
        events: dict[int, Event] = {}
        for step_id in steps:
            call.check()
            events |= {event.seq: event for event in self._store.timeline.events_of(step_id)}
        return (events[seq] for seq in sorted(events))

    def _in_span(self, span: Span, steps: dict[StepId, Asked], call: Call) -> list[tuple[RelPath, ChangeRecord]]:
        authors = self._step_changes.authors(span.steps) | git_at_work(span)
        trees = span.before.tree, span.after.tree
        made: list[tuple[Change, tuple[Step, ...], tuple[StepId, ...]]] = []
        for change in self._changes(span.before, span.after, call):
            result = owners(change.path, authors)
            mine = [steps[name] for name in result if name in steps]
            by = tuple(step for step, files in mine if files is None or change.path in files)
            if by:
                own = {step.session_id for step in by}
                others = tuple(name for name in result if name not in steps and authors[name].session_id not in own)
                made.append((change, by, others))
        gone = {change.path for change, _, _ in made if change.new is None}
        come = {change.path for change, _, _ in made if change.old is None}
        moves = self._store.renames(span.before, span.after) if gone and come else {}
        moves = {new: old for new, old in moves.items() if new in come and old in gone}
        return [
            (change.path, ChangeRecord(Delta(change.old, change.new, others), *trees, by, moves.get(change.path)))
            for change, by, others in made
        ]

    def _by_operation(
        self, event: Event, changed: Collection[RelPath], call: Call
    ) -> Iterator[tuple[RelPath, ChangeRecord]]:
        """Yields what an operation undid in some files, unless it was redone."""
        assert isinstance(event.what, Operated)
        operation = self._store.timeline.unit(event.what.operation_id)
        assert isinstance(operation, Operation)
        files = self._step_changes.in_force(operation).files.keys() & changed
        trees = operation.from_.tree, operation.after.tree
        for change in self._changes(operation.from_, operation.after, call, files) if files else ():
            yield change.path, ChangeRecord(Delta(change.old, change.new), *trees, ())

    def _changes(self, old: State, new: State, call: Call, only: Collection[RelPath] = ()) -> Iterator[Change]:
        for change in self._store.changes(old, new, only=only):
            call.check()
            yield change
