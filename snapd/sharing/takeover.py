"""Takes over what another machine handed over: its files are merged into the folder, and its sessions continue here."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

import attrs

from snapd.core.actions.sessions import Sessions
from snapd.core.actions.undo.planner import UndoPlanner, UndoTask, files_after_tasks, snapshot_before
from snapd.core.answers import SessionView
from snapd.core.attribution import Delta
from snapd.core.operations.patch import Target
from snapd.core.operations.runner import OperationOptions, Request, Runner
from snapd.core.operations.writer import Writer
from snapd.model.call import Call
from snapd.model.errors import RemoteChanged, RemoteFailed, StoreCorrupt
from snapd.model.handover import Handover, SignatureStatus
from snapd.model.snapshot import (
    EMPTY_TREE,
    EXECUTABLE,
    REGULAR,
    SYMLINK,
    Change,
    Coverage,
    ObjectId,
    Outcome,
    RelPath,
    Snapshot,
)
from snapd.model.timeline import Event, Operated, Operation, SnapshotId, Span, StepBegun, StepEnded, StepsLeft
from snapd.model.trees import add_reachable, amended, changes, file_at
from snapd.store.store import Store

from .apply import refuse_bad
from .handover import remembered, take_directories
from .mirror import FetchedHandover
from .outgoing import added, by_session, events_of, identities
from .remote_sessions import Carrier, RemoteSessions

_FILES = (REGULAR, EXECUTABLE, SYMLINK)


@attrs.frozen
class TakeoverOutcome:
    """The result of taking over the handover `name` of the machine `host`.

    `sessions` has those that are new or changed. `is_marked` is False if the remote did not accept the note that lets
    the other machine see the takeover.
    """

    outcome: Outcome
    name: str
    host: str
    sessions: tuple[SessionView, ...]
    is_marked: bool
    signature: SignatureStatus | None = None


@attrs.frozen
class _Start:
    """The files from which both machines diverged; `is_agreed` if both had exactly these at an earlier handover."""

    tree: ObjectId
    is_agreed: bool = False


@attrs.define(eq=False)
class TakeOver:
    """Takes handovers over into one workspace."""

    _writer: Writer
    _store: Store
    _sessions: Sessions
    _planner: UndoPlanner
    _elsewhere: RemoteSessions
    _runner: Runner

    def take_over(self, there: Carrier, name: str | None, options: OperationOptions, call: Call) -> TakeoverOutcome:
        """Takes over the handover `name`, or for None the only one that nobody took over yet.

        The other machine's changes are merged into the files. Its sessions become sessions of this folder, as if they
        had happened here, so their steps can be undone and their agents can continue. The request may be cancelled
        until the first file is moved.

        Raises `InvalidParams` unless exactly one handover matches, `RemoteChanged` if a session continued both here and
        there, and `Untrusted` if the signature is bad. After any error nothing was changed.
        """
        fetched = there.fetch_handover(name, call)
        handover, signature = fetched.handover, fetched.signature
        refuse_bad(signature, f"the handover {handover.name!r}")
        with self._writer.turn(call):
            arrived = self._arrived(fetched)
            start = self._start(handover, call)
            self._adopt(fetched, arrived, start.tree, call)
            seen = self._writer.capture_now(call)
            tasks = [self._task(fetched, start, seen, call)]
            # the kind is for recovery after a crash: otherwise the timeline gets the events that arrived
            request = Request(
                kind="restore",
                options=options,
                seen=seen,
                writes=files_after_tasks(tasks),
                patch=lambda prepared: self._planner.patch(tasks, prepared, (), call),
                arriving=lambda first, left: self._arriving(first, arrived, left, call),
                events=identities(arrived),
            )
            outcome = self._runner.carry_out(request, call)
            if outcome.applied:
                # the base of the next handover
                self._writer.record_look(self._store.load(handover.folder))
        if not outcome.applied:
            return TakeoverOutcome(outcome, handover.name, handover.host, (), False, signature)
        self._elsewhere.lineage.add(remembered(handover, is_own=False))
        sessions = self._announce(arrived, call)
        is_marked = self._mark(there, fetched, call)
        return TakeoverOutcome(outcome, handover.name, handover.host, sessions, is_marked, signature)

    def _arrived(self, fetched: FetchedHandover) -> list[Event]:
        """Returns the events that this machine does not have yet."""
        timeline, sessions = self._store.timeline, fetched.handover.sessions
        here, there = by_session(events_of(timeline, sessions)), by_session(fetched.events)
        for session_id in sessions:
            ours, theirs = here.get(session_id, set()), there.get(session_id, set())
            if not ours <= theirs and not theirs <= ours:
                raise RemoteChanged(
                    f"session {session_id!r} continued here since, without what {fetched.handover.host} did in it",
                    hint="fetch its sessions, and apply what you want with 'snapd apply'",
                )
        return added(timeline, {name for names in here.values() for name in names}, fetched.events)

    # -- files

    def _start(self, handover: Handover, call: Call) -> _Start:
        ours = {entry.handover_id: entry.tree for entry in self._elsewhere.lineage.all()}
        if handover.handover_id in ours:
            return _Start(handover.folder.tree, is_agreed=True)
        for name in handover.since:
            if name in ours and self._store.knows(ours[name]):
                return _Start(ours[name], is_agreed=True)
        project = self._elsewhere.project
        common = project.common(handover.commits, call) if handover.commits else None
        if common is not None and common != handover.commits[0]:
            tree = project.tree(common, call)
            if tree is not None and take_directories(self._store, project.directories, tree, call):
                return _Start(tree)
        return _Start(handover.committed or EMPTY_TREE)

    def _adopt(self, fetched: FetchedHandover, arrived: Sequence[Event], base: ObjectId, call: Call) -> None:
        """Copies all objects that the workspace will need into its store."""
        handover, read = fetched.handover, fetched.objects.read_tree
        wanted: set[ObjectId] = {handover.folder.coverage}
        add_reachable(read, handover.folder.tree, wanted, call.check)
        if handover.committed is not None:
            add_reachable(read, handover.committed, wanted, call.check)
        for event in arrived:
            named, blobs = _named(event)
            for snapshot in named:
                wanted.add(snapshot.coverage)
                add_reachable(read, snapshot.tree, wanted, call.check)
            wanted |= blobs
        self._complete(wanted, [fetched.directory])
        if base not in (EMPTY_TREE, handover.committed):
            old = {change.old.oid for change in self._differing(base, handover) if change.old is not None}
            self._complete(old, self._elsewhere.project.directories)

    def _complete(self, wanted: set[ObjectId], sources: Sequence[bytes]) -> None:
        missing = wanted - {EMPTY_TREE}
        missing -= self._store.adopt(sources, missing)
        if missing:
            oid = min(missing).hex()
            raise StoreCorrupt(f"object {oid}, which the handover needs, is missing", object=oid)

    def _differing(self, base: ObjectId, handover: Handover) -> list[Change]:
        """Returns what the other machine changed, limited to what a folder can contain."""
        result = changes(self._store.read_tree, base, handover.folder.tree, differing=self._store.differing)
        kept = set(handover.kept)
        return [
            change
            for change in result
            if (change.old is None or change.old.mode in _FILES) and not (change.new is None and change.path in kept)
        ]

    def _task(self, fetched: FetchedHandover, begin: _Start, seen: Snapshot, call: Call) -> UndoTask:
        """Plans the changes to files: the reverse of undoing what the other machine did."""
        handover, base = fetched.handover, begin.tree
        folder = self._store.load(handover.folder)
        differing = self._differing(base, handover)
        gone = frozenset(change.path for change in differing if change.new is None)
        files = {}
        for change in differing:
            call.check()
            old = change.old
            if not begin.is_agreed and self._was_state_once(change, seen, fetched):
                old = file_at(self._store.entry_in, seen.tree, change.path)
            files[change.path] = (Delta(change.new, old),)
        came = {change.path for change in differing if change.old is None}
        moved = self._store.renames(base, folder.tree) if gone and came else {}
        start = SnapshotId(base, handover.folder.coverage)
        target = snapshot_before(self._store, folder, files)
        done = Operated(handover.handover_id, "restore", None, start)
        return UndoTask(
            unit=Operation(done, handover.milliseconds, handover.folder, "applied"),
            state="applied",
            files=files,
            made=folder.coverage.empty_dirs,
            removed=(),
            renames={old: new for new, old in moved.items() if new in came and old in gone},
            end=start,
            target=target,
            stages=(Target(self._store, Snapshot(base, Coverage())), target),
            is_change=bool(files),
        )

    def _was_state_once(self, change: Change, seen: Snapshot, fetched: FetchedHandover) -> bool:
        """Returns whether a file has an intermediate state of the other machine, so nobody changed it here."""
        here = file_at(self._store.entry_in, seen.tree, change.path)
        if here in (change.old, change.new, None):
            return False
        trees = {tree for event in fetched.events for pair in _pairs(event) for tree in pair}
        return any(file_at(fetched.objects.entry_in, tree, change.path) == here for tree in trees)

    # -- sessions

    def _arriving(self, first: Event, arrived: Sequence[Event], left: SnapshotId, call: Call) -> Sequence[Event]:
        """Returns the events for the timeline: what arrived, between the state before and the state now."""
        last = next((event.head for event in reversed(arrived) if event.head is not None), None)
        rest = None if last is None else self._remaining_changes(arrived, last, left, call)
        closing = Event(0, first.milliseconds, left, rest, StepsLeft(_open(arrived)))
        return [attrs.evolve(event, seq=seq) for seq, event in enumerate([first, *arrived, closing], first.seq)]

    def _remaining_changes(
        self, arrived: Sequence[Event], last: SnapshotId, now: SnapshotId, call: Call
    ) -> Span | None:
        """Returns how the files of the sessions differ from what these left; None if they do not.

        These changes were made on this machine, or by a person on the other, and were merged with those of the
        sessions.
        """
        paths: set[RelPath] = set()
        for event in arrived:
            for old, new in _pairs(event):
                call.check()
                result = changes(self._store.read_tree, old, new, differing=self._store.differing)
                paths.update(change.path for change in result)
        find = self._store.entry_in
        there = {path: file_at(find, last.tree, path) for path in paths}
        other = {path: entry for path, entry in there.items() if entry != file_at(find, now.tree, path)}
        if not other:
            return None
        with self._store.batch() as batch:
            tree = amended(self._store.read_tree, now.tree, other, batch.encoded_tree)
            batch.commit()
        return Span(SnapshotId(tree, now.coverage), now, ())

    def _announce(self, arrived: Sequence[Event], call: Call) -> tuple[SessionView, ...]:
        """Notifies clients of the new and changed sessions; returns their views."""
        names: dict[str, None] = {}
        for event in arrived:
            session_id = getattr(event.what, "session_id", None)
            if isinstance(event.what, StepEnded):
                session_id = self._sessions.known_step(event.what.step_id).session_id
            if session_id is not None:
                names[session_id] = None
        for session_id in names:
            self._sessions.notify(session_id, None)
        return tuple(self._sessions.view(self._sessions.known(session_id), call) for session_id in names)

    def _mark(self, there: Carrier, fetched: FetchedHandover, call: Call) -> bool:
        """Records the takeover at the remote; a failure does not affect what was done here."""
        try:
            return there.mark_taken_over(fetched, time.time_ns() // 1_000_000, call)
        except (RemoteFailed, RemoteChanged):
            # such as a read-only remote; `is_marked` reports it
            return False


def _named(event: Event) -> tuple[list[SnapshotId], set[ObjectId]]:
    matches = [event.head]
    blobs: set[ObjectId] = set()
    if event.seen is not None:
        matches += [event.seen.before, event.seen.after]
    what = event.what
    if isinstance(what, Operated):
        matches.append(what.before)
        effects = [*(what.effects or ()), *(effect for turn in what.turned for effect in turn.effects)]
        blobs |= {entry.oid for effect in effects for entry in (effect.old, effect.new) if entry is not None}
    elif hasattr(what, "files"):
        blobs |= {entry.oid for _, entry in what.files if entry is not None}
    return [snapshot for snapshot in matches if snapshot is not None], blobs


def _pairs(event: Event) -> list[tuple[ObjectId, ObjectId]]:
    """Returns the pairs of trees between which an event says that files changed."""
    matches = [] if event.seen is None else [(event.seen.before.tree, event.seen.after.tree)]
    if isinstance(event.what, Operated) and event.head is not None:
        matches.append((event.what.before.tree, event.head.tree))
    return matches


def _open(arrived: Collection[Event]) -> tuple[str, ...]:
    """Returns the steps that have not ended: their clients are on the other machine."""
    begun = [event.what.step_id for event in arrived if isinstance(event.what, StepBegun)]
    ended = {event.what.step_id for event in arrived if isinstance(event.what, StepEnded)}
    return tuple(step for step in begun if step not in ended)
