"""The only module that changes a workspace: takes its snapshots and carries out plans, one request at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import attrs

from snapd.core.attribution import Attendance
from snapd.core.compare.text import TextDiffer
from snapd.core.feed import ChangeFeed, DriftNotifier, EventLog, Listeners, RevertNotice, TrackNotice
from snapd.core.seams import Policy
from snapd.failpoints import failpoint
from snapd.gitstate.plan import GitPlan, planned
from snapd.gitstate.program import GitProgramFailed
from snapd.gitstate.read import GitRecorder
from snapd.gitstate.restore import GitRestorer
from snapd.model.call import Call, IdleCall
from snapd.model.errors import Cancelled, Interrupted, SnapdError, StoreCorrupt, WorkspaceNotOpen
from snapd.model.git import GitMove, GitStateId
from snapd.model.plan import Plan
from snapd.model.snapshot import CaptureSettings, FileOutcome, Outcome, RelPath, Snapshot
from snapd.model.timeline import Event, EventPayload, Intent, Operated, SnapshotId, Span, StepId, StepsLeft
from snapd.store.store import Store
from snapd.worktree.worktree import WorkTree

from .editors import Editors
from .edits import Edits, without_concurrent_edits
from .recovery import abandoned, directories, done, finished, intent_of, notice_of, record_of, remaining


class WriteLock:
    """The write lock, which is available until the workspace is closed; `waiting` counts the waiting requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self.waiting = 0
        self._is_closed = False

    @contextmanager
    def held(self, call: Call) -> Iterator[None]:
        """Waits for the lock, and holds it for the block. Raises `WorkspaceNotOpen` if it was closed meanwhile."""
        with self._wanting():
            call.acquire(self._lock)
        with self._locked(call):
            yield

    @contextmanager
    def held_while_idle(self) -> Iterator[IdleCall]:
        """Holds the lock for the block; yields a call that is cancelled as soon as another request wants to write.

        Raises `Cancelled` if another one writes or waits, and `WorkspaceNotOpen` if the workspace is closed.
        """
        call = IdleCall(lambda: self.waiting > 0)
        if not self._lock.acquire(blocking=False):
            raise Cancelled("another request is writing")
        with self._locked(call):
            yield call

    @contextmanager
    def closing(self) -> Iterator[bool]:
        """Waits for the lock for the last time; yields whether this is the first time."""
        with self._wanting():
            self._lock.acquire()
        try:
            is_first, self._is_closed = not self._is_closed, True
            yield is_first
        finally:
            self._lock.release()

    @contextmanager
    def _locked(self, call: Call) -> Iterator[None]:
        # every holder passes here, so that no request writes to a closed workspace
        try:
            call.check()
            if self._is_closed:
                # the descriptor may have been reused by now, and another process may have the store
                raise WorkspaceNotOpen(
                    "the workspace was closed while the request waited", hint="open the folder again"
                )
            yield
        finally:
            self._lock.release()
            call.leave_turn()

    @contextmanager
    def _wanting(self) -> Iterator[None]:
        with self._counting:
            self.waiting += 1
        try:
            yield
        finally:
            with self._counting:
                self.waiting -= 1


Arriving = Callable[[Event, SnapshotId], "Sequence[Event]"]
"""Returns numbered events of another machine to insert between two of this one.

The first is given, with what changed here before it; the last has the given snapshot as its head.
"""


class Writer:
    """Takes snapshots of one folder, and changes it.

    Attributes:
        attendance: which client works in which step.
        edits: what editors save, and formatters do to the files of steps that have just ended.
        files: how many files the last capture found; None before the first.
        trouble: notified of what keeps notifications from being sent, once for each reason in a row.
        recovered: notified of each failed or interrupted operation, once it is finished.
    """

    def __init__(self, work_tree: WorkTree, store: Store, policy: Policy, texts: TextDiffer, editors: Editors) -> None:
        self.work_tree = work_tree
        self._store = store
        self._policy = policy
        self.edits = Edits(work_tree, editors, store, self._append_edit, self.span, lambda: self._head_at)
        self._looked_at = self._head_at = 0.0
        self.git = GitRecorder(work_tree.root, store)
        self.git_restorer = GitRestorer(work_tree.root, store, self.git.project)
        self._git_now: GitStateId | None = None
        self._brought: tuple[tuple[GitStateId, GitStateId, SnapshotId, SnapshotId], tuple[RelPath, ...]] | None = None
        self._git_due: bool | None = None
        self.event_log = EventLog(store.notes.reserve)
        self.attendance = Attendance()
        self.files: int | None = None
        self.write_lock = WriteLock()
        self._settled = False
        self._broken_off: Interrupted | None = None
        self.trouble: Listeners[Exception] = Listeners()
        self.recovered: Listeners[Operated] = Listeners()
        notifier = DriftNotifier(
            work_tree=work_tree,
            objects=store,
            store=store,
            texts=texts,
            settings=lambda: self.settings,
            writing=self.turn,
            notify=self.event_log.publish,
        )
        self.feed = ChangeFeed(work_tree.clock, notifier, self.trouble.notify)

    @property
    def settings(self) -> CaptureSettings:
        """What to capture."""
        return self._policy.capture

    def close(self) -> None:
        """Closes the folder and the store once the running operation is done. Idempotent."""
        # first, because its thread may be waiting for its turn to write
        self.feed.close()
        with self.write_lock.closing() as is_first:
            # later, the descriptors may have been reused
            if is_first:
                self.work_tree.close()
                self._store.close()

    @contextmanager
    def turn(self, call: Call) -> Iterator[None]:
        """Waits for the write lock; first finishes what a crash interrupted. Raises as `WriteLock.held`."""
        with self.alone(call):
            self._store.finish_erasing()
            self.event_log.prepare()
            self._settle(call)
            yield

    @contextmanager
    def idle_turn(self) -> Iterator[IdleCall]:
        """Holds the write lock as `held_while_idle` does, for work that does not change the work tree.

        Raises `Cancelled`, too, if an interrupted operation must be finished first.
        """
        with self.write_lock.held_while_idle() as call:
            if not (self._settled or self._store.intent() is None):
                raise Cancelled("an interrupted operation has to be finished first")
            yield call

    @contextmanager
    def alone(self, call: Call) -> Iterator[None]:
        """Waits for the write lock, but finishes no interrupted operation: the store may be too damaged for that."""
        with self.write_lock.held(call):
            # a request that does not look goes on from the last event
            self._git_now = self._git_due = None
            try:
                yield
            except BaseException as error:
                if isinstance(error, Interrupted):
                    self._broken_off = error
                # objects that are not durable may never be needed, and must not get in the way next time
                self.work_tree.scanner.forget(self._store.discard())
                raise

    # -- capturing

    def capture_now(self, call: Call) -> Snapshot:
        """Records what editors have saved, then captures the current work tree, without a record yet."""
        snapshot = self.look((), call)
        self.edits.settle(snapshot)
        return snapshot

    def check_recent_edits(self, call: Call) -> None:
        """Looks whether a formatter still works for steps that have just ended, before their changes are queried."""
        if self.edits.recent:
            self.capture_now(call)

    def check_edits(self, path: RelPath) -> None:
        """Looks at a file in which somebody started typing, or that was saved; reports failures as trouble."""
        try:
            if not self._store.timeline.open_steps() and not self.edits.recent:
                self.edits.forget()
                return
            call = Call()
            with self.turn(call):
                self.work_tree.check_present()
                self.edits.begin(path, self.capture_now(call))
        except SnapdError as error:
            self.trouble.notify(error)

    def look(self, forced: tuple[RelPath, ...], call: Call) -> Snapshot:
        """Captures the work tree, without a record yet."""
        self._store.check_present()
        self._looked_at, settings = time.monotonic(), self.settings
        try:
            with self._store.batch() as batch:
                snapshot = self.work_tree.capture(settings, forced, batch, call)
        except BaseException:
            # the changes meant for this look are recorded again, but the clock does not report them twice
            self.feed.on_change()
            raise
        self._git_due = settings.git_state
        self.files = self.work_tree.state.count
        return snapshot

    def record_look(self, snapshot: Snapshot) -> Snapshot:
        """Durably records a comparison of the work tree, unless its tree is already recorded; returns the snapshot."""
        if not self._store.knows(snapshot.tree):
            self._store.record(snapshot, "look")
        return snapshot

    def track(self, snapshot: Snapshot, what: EventPayload, call: Call, *following: EventPayload) -> None:
        """Records a snapshot and events with it as head, all or none, and notifies of it."""
        previous = self._store.last
        head = self._store.identify(snapshot)
        call.commit()
        event = self._event(head, self.span(head), what)
        others = [
            attrs.evolve(event, seq=event.seq + place, seen=None, what=other)
            for place, other in enumerate(following, 1)
        ]
        self._store.append(event, *others)
        self._head_at = self._looked_at
        failpoint("writer.tracked")
        self.notify_snapshot(TrackNotice(snapshot.tree, previous, snapshot.coverage.skipped))

    def simulate(self, snapshot: Snapshot, what: EventPayload) -> None:
        """Makes the timeline answer as if `track` had added this event; only in a `Timeline.simulation` block."""
        head = self._store.identify(snapshot)
        self._store.timeline.simulate(self._event(head, self.span(head), what))

    def append_event(self, what: EventPayload) -> None:
        """Adds an event to the timeline without a capture."""
        self._store.append(self._event(self._store.timeline.head, None, what))

    # -- changing

    def carry_out(
        self,
        plan: Plan,
        operation: Operated,
        before: Snapshot,
        forced: tuple[RelPath, ...],
        call: Call,
        *,
        git: GitPlan,
        step_id: StepId | None = None,
        arriving: Arriving | None = None,
    ) -> Outcome:
        """Carries out a plan, after a snapshot of the current state, and records the operation.

        `before` is the work tree as just captured, and `forced` are the ignored paths captured with it. The call may be
        cancelled until the first file is moved; after any error, nothing was changed. With `step_id`, the timeline
        records the end of that step instead of the operation; with `arriving`, the events of another machine that
        explain the files.
        """
        recorded = self._store.recorded(before, "before", operation_id=operation.operation_id)
        intent = intent_of(plan, operation, forced, step_id)
        if plan.is_empty and git.is_empty:
            self._store.append(recorded)
            call.commit()
            results = plan.expected_outcomes()
        else:
            results = self._apply(plan, git, recorded, intent, call)
        after = self._conclude(intent, results, call, arriving)
        outcome = Outcome(True, before.tree, after.tree, results)
        self.notify_snapshot(notice_of(intent, outcome, after))
        return outcome

    # -- notifications

    def notify_snapshot(self, notice: TrackNotice | RevertNotice) -> None:
        """Notifies of a snapshot, which later notifications of changes compare with."""
        self.feed.notifier.forget()
        self.event_log.publish(notice)

    # -- the timeline

    def _apply(self, plan: Plan, git: GitPlan, before: Event, intent: Intent, call: Call) -> tuple[FileOutcome, ...]:
        failpoint("writer.intend")
        # if anything fails from here on, the next turn checks for something to finish
        self._settled = False
        self._store.intend(before, intent)
        failpoint("writer.apply")
        try:
            call.check()
            results = plan.expected_outcomes()
            if not plan.is_empty:
                results = plan.with_moves(self.work_tree.apply(plan, self._store.blob_chunks, call))
            if not git.is_empty:
                call.commit()
                failpoint("writer.git")
                self.git_restorer.restore(git)
            return results
        except BaseException:
            if not call.is_committed:
                # no file was touched
                self._store.forget_intent()
                self._settled = True
            raise

    def _conclude(
        self, intent: Intent, results: Sequence[FileOutcome], call: Call, arriving: Arriving | None = None
    ) -> Snapshot:
        """Records an operation as it turned out; returns the work tree after it."""
        failpoint("writer.conclude")
        self.edits.drop()
        effects = done(intent, results)
        operation = finished(intent.operation, results)
        if operation.is_own:
            operation = attrs.evolve(operation, effects=effects)
        after = self.look(intent.forced, call)
        plain = self.look((), call) if intent.forced else after
        before = self._store.load(operation.before)
        head = without_concurrent_edits(self._store, self.work_tree, before, plain, effects, intent.forced)
        call.check()
        # a file that keeps changes since the last snapshot must not count as left by an agent
        left_alone = any(result.outcome == "conflict" or result.reason == "changedSince" for result in results)
        is_base = head == plain and not left_alone
        operation = attrs.evolve(
            operation, after=None if head == after else self._store.identify(after), is_base=is_base
        )
        seen, left = self.span(operation.before), self._store.identify(head)
        events = [self._event(left, *record_of(intent, operation, left, seen))]
        if arriving is not None:
            events = [*arriving(self._event(operation.before, seen, StepsLeft(())), left)]
        if not isinstance(events[-1].what, Operated):
            events += _residual_events(self._store, after, is_base, events[-1].seq + 1)
        failpoint("writer.tell")
        self._store.conclude(*events)
        self._head_at = self._looked_at
        self._settled = True
        return after

    def _append_edit(self, snapshot: Snapshot, seen: Span | None, what: EventPayload) -> None:
        event = self._event(self._store.identify(snapshot), seen, what)
        self._store.append(event)
        self._head_at = self._looked_at

    def _event(self, head: SnapshotId | None, seen: Span | None, what: EventPayload) -> Event:
        git = None
        if head is not None:
            in_force = self._store.timeline.git
            now = self._look_at_git(in_force)
            # a change needs a span that has it; until then, the old state is in force
            git = in_force if seen is None or seen.git is None else now
            git = git or now
        return Event(self._store.timeline.next_seq, time.time_ns() // 1_000_000, head, seen, what, git)

    def span(self, now: SnapshotId) -> Span | None:
        """Returns what changed since the last event, and which steps own it; None if nothing changed."""
        head, git = self._store.timeline.head, self._store.timeline.git
        if head is None:
            return None
        git_now = self._look_at_git(git)
        is_same_git = None in (git, git_now) or git == git_now
        if head == now and is_same_git:
            return None
        steps, left = self.attendance.split(self._store.timeline.open_steps())
        if is_same_git or git is None or git_now is None:
            return Span(head, now, steps, left)
        by_git = self._brought_by_git(git, git_now, head, now) if steps and head != now else ()
        return Span(head, now, steps, left, git, by_git)

    def _brought_by_git(
        self, git: GitStateId, git_now: GitStateId, head: SnapshotId, now: SnapshotId
    ) -> tuple[RelPath, ...]:
        """Returns the files that git itself put into the folder since the last event."""
        between = git, git_now, head, now
        # an answer and the event after it ask for the same
        if self._brought is None or self._brought[0] != between:
            started = min(step.started for step in self._store.timeline.open_steps())
            changed = list(self._store.changes(head, now))
            self._brought = between, self.git.brought(git, git_now, started, changed)
        return self._brought[1]

    def git_now(self) -> GitStateId | None:
        """Returns the git state at the last look; None if it was never recorded."""
        in_force = self._store.timeline.git
        return self._look_at_git(in_force) or in_force

    def _end_git(self, move: GitMove) -> None:
        """Finishes what an interrupted operation did to the git state, as far as nobody changed it since."""
        now = self.git_now()
        if now is None:
            return
        plan = planned(self._store, now, move.before, move.after, self.git_restorer.in_use(), is_resumed=True)
        self.git_restorer.clear(plan)
        try:
            self.git_restorer.restore(self.git_restorer.possible(plan))
        except GitProgramFailed as error:
            # must not block every later request
            self.trouble.notify(error)

    def _look_at_git(self, in_force: GitStateId | None) -> GitStateId | None:
        """Returns the git state at the last look of this turn; None without one. Events that need none cost nothing."""
        if self._git_due is not None:
            self._git_now = self.git.record(in_force, is_on=self._git_due)
            self._git_due = None
        return self._git_now

    def _settle(self, call: Call) -> None:
        """Finishes a failed or interrupted operation, for the files that were not changed since."""
        if self._settled:
            return
        intent = self._store.intent()
        if intent is not None:
            if self._broken_off is not None:
                # the process is about to stop, and was interrupted in this very operation
                raise self._broken_off
            with call.shared() as ending:
                self._end(intent, ending)
        self._settled = True

    def _end(self, intent: Intent, call: Call) -> None:
        entries = [entry for effect in intent.files for entry in (effect.old, effect.new) if entry is not None]
        failpoint("writer.settle")
        self.work_tree.sweep(directories(intent), entries, self._store.blob_chunks, call)
        failpoint("writer.swept")
        self.look(intent.forced, call)
        plan = remaining(intent, self.work_tree)
        try:
            results = self.work_tree.apply(plan, self._store.blob_chunks, call)
        except StoreCorrupt:
            # the contents are lost; that must not block every later request
            results = abandoned(plan)
        if intent.operation.git is not None:
            self._end_git(intent.operation.git)
        after = self._conclude(intent, results, call)
        before = intent.operation.before.tree
        self.notify_snapshot(notice_of(intent, Outcome(True, before, after.tree, results), after))
        self.recovered.notify(intent.operation)


def _residual_events(store: Store, after: Snapshot, is_base: bool, seq: int) -> Iterator[Event]:
    """Returns the events that record what was left, after events of steps, which do not cover changes of others."""
    yield attrs.evolve(store.recorded(after, "after", is_base=is_base), seq=seq)
    base = store.timeline.base
    if not is_base and base is not None:
        again = store.recorded(store.load(base.snapshot), "look", is_base=True)
        yield attrs.evolve(again, seq=seq + 1)
