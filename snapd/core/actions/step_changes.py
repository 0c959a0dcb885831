"""Computes what each step changed, from the timeline and the snapshots."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

import attrs

from snapd.core.answers import Page, SessionView, StepView
from snapd.core.attribution import (
    Author,
    Delta,
    OwnChanges,
    joined,
    own_changes,
    own_moves,
    owners,
    users_changes,
    working,
)
from snapd.core.compare.file_diff import describe, status_of
from snapd.core.compare.text import TextDiffer
from snapd.core.compare.threeway import deltas_of, merge, net, one_change
from snapd.gitstate.change import git_change
from snapd.model.call import Call
from snapd.model.errors import UnknownSession, UnknownStep
from snapd.model.git import GitChange, GitMove
from snapd.model.git import net as net_of_git
from snapd.model.snapshot import Change, Entry, ObjectId, RelPath, UncapturedChange
from snapd.model.timeline import (
    Event,
    FileSummary,
    Operated,
    Operation,
    Reversal,
    Session,
    SessionId,
    SnapshotId,
    Span,
    State,
    Step,
    StepId,
    StepQuery,
    Summary,
    UndoneShare,
    UndoUnit,
)
from snapd.store.object_store import ObjectStore
from snapd.store.objects.cache import RecentCache
from snapd.store.timeline.timeline import TimelineView

_KEPT_COUNTS = 20_000
_OF_AN_OPERATION = Author("", None)
"""An operation shares its changes with no step: it has its own span."""


class StepChanges:
    """Computes what steps changed, from the timeline of a workspace or of a fetched session."""

    def __init__(self, objects: ObjectStore, timeline: TimelineView, texts: TextDiffer) -> None:
        self._objects = objects
        self._timeline = timeline
        self.texts = texts
        # additions, deletions and whether it is binary, of two blobs
        self._counts: RecentCache[tuple[ObjectId | None, ObjectId | None], tuple[int, int, bool]] = RecentCache(
            _KEPT_COUNTS, lambda _: 1
        )

    def own(self, unit: UndoUnit, *, with_git: bool = False) -> OwnChanges:
        """Returns what a step itself changed so far, without its parts; or what an operation changed.

        With `with_git`, what git put into the folder meanwhile is included.
        """
        if not isinstance(unit, Operation):
            return self._own((unit.step_id,), self.spans(unit), {}, with_git=with_git)
        own = self._own((unit.name,), self.spans(unit), {unit.name: _OF_AN_OPERATION})
        effects = unit.operated.effects
        # the effects include the ignored files that it overwrote
        return own if effects is None else attrs.evolve(own, files=deltas_of(effects))

    def spans(self, unit: UndoUnit) -> tuple[Span, ...]:
        """Returns the spans of a step; an operation is like a step that was alone in one span."""
        if isinstance(unit, Operation):
            return (Span(unit.from_, unit.after, (unit.name,)),)
        return self._timeline.spans(unit.step_id)

    def ended_with(
        self, step: Step, seen: Span | None, claims: tuple[RelPath, ...] | None, *, spoken_for: bool
    ) -> OwnChanges:
        """Returns what an open step itself will have changed once it ends; `seen` is what changed since the last event.

        For `claims` and `spoken_for`, see `StepEnded`.
        """
        spans = list(self._timeline.spans(step.step_id, spoken_for=spoken_for))
        if seen is not None and step.step_id in seen.steps:
            spans.append(seen)
        elif seen is not None and spoken_for and step.step_id in seen.left:
            opened = self._timeline.open_steps()
            spans.append(attrs.evolve(seen, steps=working(opened, {*seen.steps, step.step_id})))
        return self._own((step.step_id,), spans, {step.step_id: _author(step, claims)})

    def summary(self, step: Step, call: Call) -> Summary:
        """Summarizes what a step itself changed, file by file; stores the summary once the step has ended."""
        kept = self._timeline.summary(step.step_id)
        if kept is not None:
            return kept
        next_seq = self._timeline.next_seq
        own = self.own(step)
        is_gits = step.may_change_git and any(span.by_git for span in self._timeline.spans(step.step_id))
        # a file that the step made and deleted does not count
        files = tuple(
            attrs.evolve(self._summary_of(path, chain, call), by_git=path not in own.files)
            for path, chain in (self.own(step, with_git=True) if is_gits else own).files.items()
            for chain in [own.files.get(path, chain)]
            if chain[0].old or chain[-1].new
        )
        summary = Summary(files, len(own.directories))
        if step.ended is not None:
            self._timeline.keep_summary(step.step_id, summary, next_seq)
        return summary

    def view(self, step: Step, agent: str | None, call: Call) -> StepView:
        """Describes a step for clients, including its parts."""
        if step.ended is None:
            return StepView(step, agent, None)
        files: dict[RelPath, FileSummary] = {}
        uncaptured: dict[RelPath, UncapturedChange] = {}
        steps = self.with_parts(step)
        for each in steps:
            uncaptured |= {change.path: change for change in each.uncaptured}
            for file in self.summary(each, call).files:
                known = files.get(file.path)
                files[file.path] = file if known is None else _joined(known, file)
        return StepView(
            step,
            agent,
            tuple(files[path] for path in sorted(files)),
            tuple(uncaptured[path] for path in sorted(uncaptured)),
            self._git({each.step_id for each in steps if each.may_change_git}),
        )

    def _git(self, step_ids: Collection[StepId]) -> GitChange | None:
        """Returns how some steps together changed the git state, even if it was taken back; None if they did not."""
        events = {event.seq: event for step_id in step_ids for event in self._timeline.git_events_of(step_id)}
        return self.git_change([events[seq] for seq in sorted(events)], lambda steps: not steps.isdisjoint(step_ids))

    def git_change(self, events: Iterable[Event], wanted: Callable[[frozenset[StepId]], bool]) -> GitChange | None:
        """Adds up the changes of the git state before some events, oldest first, whose owners are `wanted`."""
        moves = self.git_moves(events, wanted)
        return net_of_git(git_change(self._objects, move.before, move.after) for move in moves) if moves else None

    def git_change_of(self, operated: Operated) -> GitChange | None:
        """Returns what an operation did to the git state; None if nothing."""
        return None if operated.git is None else git_change(self._objects, operated.git.before, operated.git.after)

    def moves_of_git(self, step: Step, *, shared: bool = False) -> dict[int, GitMove]:
        """Returns the changes of the git state that a step owns, by event: `shared` with other sessions, or not."""

        def is_wanted(steps: frozenset[StepId]) -> bool:
            sessions = {author.session_id for author in self.authors(steps).values()}
            return step.step_id in steps and (len(sessions) > 1) == shared

        events = self._timeline.git_events_of(step.step_id)
        return {event.seq: move for event in events for move in self.git_moves([event], is_wanted)}

    def git_moves(self, events: Iterable[Event], wanted: Callable[[frozenset[StepId]], bool]) -> tuple[GitMove, ...]:
        """Returns the changes of the git state before some events, oldest first, whose owners are `wanted`."""
        moves: list[GitMove] = []
        for event in events:
            if event.seen is None or event.seen.git is None or event.git is None:
                continue
            # what an operation did itself is not what was seen before it
            turned = event.what.git if isinstance(event.what, Operated) else None
            seen = GitMove(event.seen.git, event.git if turned is None else turned.before)
            if seen.before == seen.after:
                continue
            # a step that names its files owns no change of git
            owning = owners(b"", self.authors(event.seen.steps), lambda *_: False)
            if wanted(frozenset(owning)):
                before = moves.pop().before if moves and moves[-1].after == seen.before else seen.before
                moves.append(GitMove(before, seen.after))
        return tuple(moves)

    def joined(self, view: StepView, call: Call) -> StepView:
        """Describes a step like `view`, but shows each file that it moved as one."""
        known = {file.path: file for file in view.files or ()}
        if not {"added", "deleted"} <= {file.status for file in known.values()}:
            return view
        files = []
        for change, source in self.net_with_moves(view.step, call):
            if source is not None and {source, change.path} <= known.keys():
                halves = known.pop(source), known.pop(change.path)
                shared_with = tuple(sorted({step_id for half in halves for step_id in half.shared_with}))
                file = self._summary_of(change.path, (change,), call, source)
                files.append(attrs.evolve(file, shared_with=shared_with))
        return attrs.evolve(view, files=tuple(sorted([*known.values(), *files], key=lambda file: file.path)))

    def between(self, old: ObjectId, new: ObjectId, call: Call, *, renames: bool = False) -> tuple[FileSummary, ...]:
        """Summarizes what differs between two trees, file by file; with `renames`, a moved file is one."""
        return self._summaries(self.changes(old, new), (old, new) if renames else None, call)

    def users(self, seen: Span, call: Call, *, renames: bool = False) -> tuple[FileSummary, ...]:
        """Summarizes what the user changed in a span; with `renames`, a moved file is one."""
        changed = users_changes(seen, self.authors(seen.steps), self.changes)
        return self._summaries(changed, (seen.before.tree, seen.after.tree) if renames else None, call)

    def _summaries(
        self, changed: Iterable[Change], trees: tuple[ObjectId, ObjectId] | None, call: Call
    ) -> tuple[FileSummary, ...]:
        """Summarizes files; shows a moved file as one if the trees to search for moves are given."""
        moves = _with_moves(list(changed), lambda: self._objects.renames(*trees) if trees is not None else {})
        return tuple(self._summary_of(change.path, (change,), call, source) for change, source in moves)

    def _summary_of(
        self, path: RelPath, chain: Sequence[Change | Delta], call: Call, source: RelPath | None = None
    ) -> FileSummary:
        counts = [self._count(each.old, each.new, call) for each in chain]
        return FileSummary(
            path,
            status_of(chain[0].old, chain[-1].new),
            sum(additions for additions, _, _ in counts),
            sum(deletions for _, deletions, _ in counts),
            any(binary for *_, binary in counts),
            joined(*(each.others for each in chain if isinstance(each, Delta))),
            renamed_from=source,
        )

    def _count(self, old: Entry | None, new: Entry | None, call: Call) -> tuple[int, int, bool]:
        key = None if old is None else old.oid, None if new is None else new.oid
        known = self._counts.get(key)
        if known is None:
            file = describe(self._objects, b"", old, new, self.texts, call, contents=False)
            known = file.additions, file.deletions, file.binary
            self._counts.keep(key, known)
        return known

    def differ_in(self, old: ObjectId, new: ObjectId, only: Collection[RelPath]) -> bool:
        """Whether any of these files, or of those below these directories, differs between two trees."""
        return next(self._objects.changes(old, new, only=only), None) is not None

    def net_with_moves(self, step: Step, call: Call) -> list[tuple[Change, RelPath | None]]:
        """Returns what a step and its parts changed, even if it was undone, ordered by path.

        For a file that was moved, the second value is its old path, and `old` is the file there.
        """
        steps = self.with_parts(step)
        files = self.net(step, call)
        changed = [Change(path, delta.old, delta.new) for path, delta in files.items()]
        changed = [change for change in changed if change.old != change.new]

        def renames() -> dict[RelPath, RelPath]:
            result: dict[RelPath, RelPath] = {}
            for each in steps:
                result |= own_moves(self._timeline.spans(each.step_id), self._objects.renames)
            return result

        return _with_moves(changed, renames)

    def with_parts(self, step: Step) -> tuple[Step, ...]:
        """Returns a step and all its parts, each before its own parts, in the order in which they began."""
        steps: list[Step] = []
        waiting = [step]
        while waiting:
            steps.append(waiting.pop())
            waiting += reversed(self._timeline.parts(steps[-1].step_id))
        return tuple(steps)

    def with_wholes(self, step_id: StepId) -> Iterator[Step]:
        """Yields a step, the one that contains it, and so on; nothing if there is no such step."""
        result: StepId | None = step_id
        while result is not None and (step := self._timeline.step(result)) is not None:
            yield step
            result = step.begun.parent

    def of_message(self, session_id: SessionId, message_id: str) -> tuple[Step, ...]:
        """Returns the steps of a message and all their parts, of any session, in the order in which they began."""
        named = self._timeline.find_steps(StepQuery("", session_id, message_id=message_id), None)
        steps = {part.step_id: part for step in reversed(named) for part in self.with_parts(step)}
        return tuple(sorted(steps.values(), key=lambda step: step.started))

    def in_force(self, unit: UndoUnit) -> OwnChanges:
        """Returns the own changes of a step or an operation that were not undone.

        An older snapd recorded only what an undo did to files. The answer then includes every file that the undo did
        not touch, and the caller must compare these with the work tree.
        """
        own = self.own(unit)
        undone = self._timeline.undone(unit.name)
        if not undone:
            return own
        last = undone[-1]
        turn = self.turn(last)
        if last.rest is None:
            kept = self._left_by(turn, own)
        else:
            before = self._left_by(self.turn(undone[-2]), own) if len(undone) > 1 else {*own.files, *own.directories}
            names = dict(turn.moved)
            kept = before - {names.get(path, path) for path in last.rest}
        return OwnChanges(
            {path: chain for path, chain in own.files.items() if path in kept},
            {path: delta for path, delta in own.directories.items() if path in kept},
        )

    def turn(self, undone: UndoneShare) -> Reversal:
        """Returns how something was undone."""
        return next(turn for turn in self.operation(undone).turned if turn.name == undone.name)

    def operation(self, undone: UndoneShare) -> Operated:
        """Returns the operation that undid something."""
        operation = self._timeline.operation(undone.operation_id)
        assert operation is not None
        return operation

    def _left_by(self, turn: Reversal, own: OwnChanges) -> set[RelPath]:
        if turn.left is not None:
            return set(turn.left)
        return own.files.keys() - {effect.path for effect in turn.effects}

    def net(self, step: Step, call: Call) -> dict[RelPath, Delta]:
        """Merges what a step and its parts changed, even if it was undone, by path; see `threeway.one_change`."""
        parts = {part.step_id for part in self.with_parts(step)}
        events = {event.seq: event for part in parts for event in self._timeline.events_of(part)}
        spans = [seen for seq in sorted(events) if (seen := events[seq].seen) is not None]
        files = {}
        for path, chain in self._own(parts, spans, {}).files.items():
            call.check()
            delta = one_change(chain, partial(merge, self._objects))
            if delta.is_mixed or delta.old != delta.new:
                files[path] = delta
        return files

    def net_in_effect(self, steps: Iterable[Step], call: Call) -> dict[RelPath, Delta]:
        """Merges what several steps changed, oldest first, without what was undone; see `threeway.net`."""
        chains = []
        for step in steps:
            call.check()
            chains.append(self.in_force(step).files)
        return net(chains, partial(merge, self._objects))

    def _own(
        self,
        step_ids: Collection[StepId],
        spans: Sequence[Span],
        known: dict[StepId, Author],
        *,
        with_git: bool = False,
    ) -> OwnChanges:
        authors = self.authors({step for span in spans for step in span.steps} - known.keys()) | known

        def empty_directories(snapshot: SnapshotId) -> tuple[RelPath, ...]:
            return self._objects.load(snapshot).coverage.empty_dirs

        return own_changes(step_ids, spans, authors, self.changes, empty_directories, with_git=with_git)

    def authors(self, step_ids: Iterable[StepId]) -> dict[StepId, Author]:
        """Returns what separates the changes of some steps from each other, by step id."""
        authors = {}
        for step_id in step_ids:
            step = self._timeline.step(step_id)
            assert step is not None
            authors[step_id] = _author(step, step.claims)
        return authors

    def changes(self, old: State, new: State) -> Iterable[Change]:
        """Returns what differs between two snapshots."""
        return self._objects.changes(old, new)


def _with_moves(
    changed: Sequence[Change], renames: Callable[[], Mapping[RelPath, RelPath]]
) -> list[tuple[Change, RelPath | None]]:
    """Pairs deleted and added files that are one moved file; calls `renames` (new to old paths) only if needed."""
    gone = {change.path: change.old for change in changed if change.new is None}
    come = {change.path for change in changed if change.old is None}
    moved = {new: old for new, old in renames().items() if new in come and old in gone} if gone and come else {}
    sources = set(moved.values())
    matches: list[tuple[Change, RelPath | None]] = []
    for change in changed:
        source = moved.get(change.path)
        if source is not None:
            matches.append((Change(change.path, gone[source], change.new), source))
        elif change.path not in sources:
            matches.append((change, None))
    return matches


def _author(step: Step, claims: Iterable[RelPath] | None) -> Author:
    return Author(step.begun.session_id, None if claims is None else frozenset(claims), step.begun.parent)


def _joined(first: FileSummary, second: FileSummary) -> FileSummary:
    status = first.status if first.status == second.status else "modified"
    if {first.status, second.status} == {"added", "modified"}:
        status = "added"
    elif {first.status, second.status} == {"deleted", "modified"}:
        status = "deleted"
    return attrs.evolve(
        first,
        status=status,
        additions=first.additions + second.additions,
        deletions=first.deletions + second.deletions,
        binary=first.binary or second.binary,
        by_git=first.by_git and second.by_git,
        shared_with=joined(first.shared_with, second.shared_with),
    )


IN_FORCE = ("applied", "partly")
"""The states of ended steps that were not undone as a whole."""


class SessionViews:
    """Describes the sessions and steps of a timeline, of a workspace or of a fetched session."""

    def __init__(self, timeline: TimelineView, step_changes: StepChanges) -> None:
        self._timeline = timeline
        self._step_changes = step_changes

    # -- listing

    def all(self, call: Call, after: int | None = None, limit: int | None = None) -> Page[SessionView]:
        """Returns sessions in the order in which they were first started; `limit` None means all."""
        sessions, last = self._timeline.session_page(after, limit)
        return Page(tuple(self.view(session, call) for session in sessions), last)

    def steps(
        self, session_id: SessionId, call: Call, after: int | None = None, limit: int | None = None
    ) -> Page[StepView]:
        """Returns the steps of a session, oldest first, including undone ones. Raises `UnknownSession`."""
        session = self.known(session_id)
        steps, last = self._timeline.step_page(session_id, after, limit)
        views: list[StepView] = []
        for step in steps:
            call.check()
            views.append(self._step_changes.view(step, session.agent, call))
        return Page(tuple(views), last)

    def find(self, wanted: StepQuery, limit: int | None, call: Call, *, renames: bool = False) -> tuple[StepView, ...]:
        """Finds steps in all sessions, newest first; with `renames`, a moved file is one.

        Raises `UnknownSession` or `UnknownStep` if the query names one that does not exist.
        """
        if wanted.session_id is not None:
            self.known(wanted.session_id)
        if wanted.parent is not None:
            self.known_step(wanted.parent)
        views: list[StepView] = []
        for step in self._timeline.find_steps(wanted, limit):
            call.check()
            view = self.shown(step, call)
            views.append(self._step_changes.joined(view, call) if renames else view)
        return tuple(views)

    # -- lookup

    def applied(self, session_id: SessionId, message_id: str | None, step_id: StepId | None) -> tuple[Step, ...]:
        """Returns the ended steps of a session that were not undone as a whole, oldest first.

        `message_id` or `step_id` selects the steps of that message, or that step, and their parts. Raises
        `UnknownSession`, and `UnknownStep` if the step is not one of the session.
        """
        self.known(session_id)
        if step_id is not None:
            parts = self._step_changes.with_parts(self.step_of(session_id, step_id))
            steps = tuple(part for part in parts if message_id in (None, part.begun.message_id))
        elif message_id is not None:
            steps = self._step_changes.of_message(session_id, message_id)
        else:
            steps = self._timeline.steps(session_id)
        return tuple(step for step in steps if step.state in IN_FORCE)

    def known(self, session_id: SessionId) -> Session:
        """Returns a session by its id. Raises `UnknownSession`."""
        session = self._timeline.session(session_id)
        if session is None:
            raise UnknownSession(f"no session {session_id!r} in this workspace", sessionId=session_id)
        return session

    def known_step(self, step_id: StepId) -> Step:
        """Returns a step by its id. Raises `UnknownStep`."""
        step = self._timeline.step(step_id)
        if step is None:
            raise UnknownStep(f"no step {step_id!r} in this workspace", stepId=step_id)
        return step

    def step_of(self, session_id: SessionId, step_id: StepId) -> Step:
        """Returns a step of a session. Raises `UnknownStep`."""
        step = self.known_step(step_id)
        if step.begun.session_id != session_id:
            raise UnknownStep(f"step {step_id!r} does not belong to session {session_id!r}", stepId=step_id)
        return step

    def view(self, session: Session, call: Call) -> SessionView:
        """Describes a session, with the number of steps to undo and redo."""
        tally = self._timeline.tally(session.session_id)
        more = sum(not self._step_changes.summary(step, call).is_empty for step in tally.unknown)
        return SessionView(session, tally.undoable + more, tally.redoable)

    def shown(self, step: Step, call: Call) -> StepView:
        """Describes a step, with what it changed."""
        return self._step_changes.view(step, self.known(step.begun.session_id).agent, call)
