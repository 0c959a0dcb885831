"""The one who may change a workspace: takes its snapshots and carries out plans, one request at a time."""

from __future__ import annotations

import secrets
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from snapd.core.call import Call, SpareCall
from snapd.core.errors import Cancelled, Interrupted, StoreCorrupt, WorkspaceNotOpen
from snapd.core.feed.change_feed import ChangeFeed, Telling
from snapd.core.feed.event_log import EventLog
from snapd.core.feed.events import Reverted, Tracked
from snapd.core.model import Outcome, RecordKind
from snapd.core.timeline.attendance import Attendance
from snapd.core.timeline.model import Event, Operated, SnapshotId, Span
from snapd.failpoints import failpoint

from .concurrent_edits import left_by
from .ignored_targets import hidden
from .planner import Planner
from .recovery import abandoned, directories, done, finished, intent_of, remaining

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from snapd.core.feed.events import Notice
    from snapd.core.model import CaptureSettings, FileOutcome, OnConflict, RelPath, Snapshot
    from snapd.core.plan import Plan
    from snapd.core.ports.differ import TextDiffer
    from snapd.core.ports.policy import Policy
    from snapd.core.ports.store import Store
    from snapd.core.ports.work_tree import WorkTree
    from snapd.core.timeline.model import Happening, Intent, OperationKind

    from .unsaved import Unsaved

_LOCK_POLL_SECONDS = 0.1


@attrs.frozen
class Request:
    """What is asked of an operation, whatever it does.

    Attributes:
        on_conflict: what to do with files that are not what the agent left.
        by_name: whether that was asked for, and is no default.
        dry_run: only say what would be done.
    """

    on_conflict: OnConflict
    by_name: bool
    dry_run: bool

    @property
    def respects_editors(self) -> bool:
        """Whether files with unsaved text in an editor are left alone."""
        return not (self.on_conflict == "overwrite" and self.by_name)


class Writer:
    """Takes snapshots of one folder, and changes it.

    Args:
        work_tree: the folder.
        store: where its snapshots are.
        policy: says what is captured.
        texts: compares texts.
        unsaved: which files have unsaved text in an editor.
    """

    def __init__(self, work_tree: WorkTree, store: Store, policy: Policy, texts: TextDiffer, unsaved: Unsaved) -> None:
        self.work_tree = work_tree
        self.store = store
        self._policy = policy
        self.unsaved = unsaved
        self.bulletin = EventLog(store.timeline.reserve)
        self.attendance = Attendance()
        self.files: int | None = None
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self._waiting = 0
        self._call = Call()
        self._closed = False
        self._settled = False
        self._broken_off: Interrupted | None = None
        self._troubled: list[Callable[[Exception], None]] = []
        self._recovered: list[Callable[[Operated], None]] = []
        self._telling = Telling(work_tree, store, texts, lambda: self.settings, self.turn, self.tell)
        self.feed = ChangeFeed(work_tree, self._telling, self.tell_trouble)

    @property
    def settings(self) -> CaptureSettings:
        """What is captured."""
        return self._policy.capture

    def listen(self, troubled: Callable[[Exception], None]) -> None:
        """Has it told why nothing can be told of the work tree, once for the same reason: an error, or a defect."""
        self._troubled.append(troubled)

    def on_recovery(self, recovered: Callable[[Operated], None]) -> None:
        """Has an operation told that failed halfway, or was killed, and was ended later."""
        self._recovered.append(recovered)

    def close(self) -> None:
        """Lets go of the folder and the store, when the operation under way is done; harmless when repeated."""
        # before: its thread may be waiting for its turn to write
        self.feed.close()
        with self._wanting(), self._lock:
            if self._closed:
                # the descriptors may belong to somebody else by now
                return
            self._closed = True
            self.work_tree.close()
            self.store.close()

    @contextmanager
    def turn(self, call: Call) -> Iterator[None]:
        """The right to write, which one request has at a time.

        Raises:
            Cancelled: the request was taken back while it waited.
            WorkspaceNotOpen: the workspace was closed while it waited.
            StorageFull, IoError: there is no space to tell of anything.
        """
        with self.alone(call):
            self.store.finish_erasing()
            self.bulletin.prepare()
            self._settle(call)
            yield

    def check(self) -> None:
        """Asks whether the request that has the turn is still wanted; raises as `Call.check`."""
        self._call.check()

    @contextmanager
    def spare_turn(self) -> Iterator[SpareCall]:
        """The right to write while nobody else wants it, for what changes nothing of the work tree.

        Yields:
            A call that is over as soon as somebody does.

        Raises:
            Cancelled: somebody has it, or wants it; or an operation that was cut short is to be ended first.
            WorkspaceNotOpen: the workspace is closed.
        """
        call = SpareCall(lambda: self._waiting > 0)
        if not self._lock.acquire(blocking=False):
            raise Cancelled("somebody else is at work")
        with self._locked(call):
            if not (self._settled or self.store.intent() is None):
                raise Cancelled("something else is to be done first")
            yield call

    @contextmanager
    def alone(self, call: Call) -> Iterator[None]:
        """As `turn`, also where the store is too damaged for an operation to be ended that was cut short.

        Raises:
            Cancelled: the request was taken back while it waited.
            WorkspaceNotOpen: the workspace was closed while it waited.
        """
        with self._wanting():
            while not self._lock.acquire(timeout=_LOCK_POLL_SECONDS):
                call.check()
        with self._locked(call):
            try:
                yield
            except BaseException as error:
                if isinstance(error, Interrupted):
                    self._broken_off = error
                # what could not be made durable may be needed by nobody any more, and must not be in the way next time
                self.work_tree.forget(self.store.discard())
                raise

    @contextmanager
    def _locked(self, call: Call) -> Iterator[None]:
        """Gives the lock back at the end. Whoever takes it does so through here, so that a closed workspace stays so.

        Raises:
            Cancelled: the request was taken back.
            WorkspaceNotOpen: the workspace is closed.
        """
        try:
            call.check()
            if self._closed:
                # the descriptor of the folder may be that of another one by now, and the store somebody else's
                raise WorkspaceNotOpen(
                    "the workspace was closed while the request waited", hint="open the folder again"
                )
            self._call = call
            yield
        finally:
            self._lock.release()
            call.leave_turn()

    @contextmanager
    def _wanting(self) -> Iterator[None]:
        """While somebody waits for the right to write."""
        with self._counting:
            self._waiting += 1
        try:
            yield
        finally:
            with self._counting:
                self._waiting -= 1

    # -- taking

    def look(self, forced: tuple[RelPath, ...], call: Call) -> Snapshot:
        """Captures the work tree; what was found is recorded by nobody yet."""
        self.store.check_present()
        try:
            with self.store.batch() as batch:
                snapshot = self.work_tree.capture(self.settings, forced, batch, call)
        except BaseException:
            # what the clock had told was given back to it, and it does not tell it twice
            self.feed.hear()
            raise
        self.files = self.work_tree.count()
        return snapshot

    def record(self, snapshot: Snapshot, kind: RecordKind) -> None:
        """Records a snapshot durably."""
        if kind is not RecordKind.LOOK or not self.store.knows(snapshot.tree):
            self.store.append(snapshot, kind)

    def capture(self, forced: tuple[RelPath, ...], kind: RecordKind, call: Call) -> Snapshot:
        """Looks and records."""
        snapshot = self.look(forced, call)
        self.record(snapshot, kind)
        return snapshot

    def track(self, snapshot: Snapshot, what: Happening, call: Call) -> None:
        """Records a snapshot as asked for, with an event of the timeline that it is the head of; and tells of it.

        Raises:
            StorageFull, StoreCorrupt, IoError, Cancelled: neither was done; later on it cannot be cancelled any more.
        """
        previous = self.store.last
        found = self.store.identify(snapshot)
        call.commit()
        self.store.tell(self._event(found, self.span(found), what), snapshot)
        failpoint("writer.tracked")
        self.tell_snapshot(Tracked(snapshot.tree, previous, snapshot.coverage.skipped))

    def suppose(self, snapshot: Snapshot, what: Happening) -> None:
        """Has the timeline answer as if `track` had added this event; for its `supposing` block."""
        found = self.store.identify(snapshot)
        self.store.timeline.suppose(self._event(found, self.span(found), what))

    def note(self, what: Happening) -> None:
        """Adds an event to the timeline for which nobody had to look."""
        self.store.tell(self._event(self.store.timeline.head, None, what))

    # -- changing

    def operate(
        self,
        make_plan: Callable[[Planner, Snapshot], tuple[Plan, Operated]],
        forced: tuple[RelPath, ...],
        wanted: Callable[[Snapshot], Iterable[RelPath]],
        request: Request,
        call: Call,
    ) -> Outcome:
        """Carries out an operation; what is there now is in a snapshot first.

        Args:
            make_plan: given a planner and the work tree as it is without `forced`, says what to do and how the timeline
                is to tell it.
            forced: ignored paths that are looked at all the same.
            wanted: given the same, says which files it is to write; those that are ignored are captured with `forced`.
            request: how it was asked.
            call: the request; may be cancelled until the first file is moved.

        Raises:
            StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
        """
        # what was captured only because the operation looks at it is nobody's change
        seen = self.look((), call)
        forced = tuple(sorted(hidden(self.work_tree, wanted(seen), call).union(forced)))
        before = self.look(forced, call) if forced else seen
        unsaved = self.unsaved.below(self.work_tree.root) if request.respects_editors else frozenset()
        planner = Planner(self.store, self.work_tree, before, self.store.last, request.on_conflict, unsaved)
        plan, operation = make_plan(planner, seen)
        call.check()
        is_refused = request.on_conflict == "fail" and plan.conflicts
        if request.dry_run or is_refused:
            # what was refused is not what the agent left: asked again, it has to be refused again
            self.record(before, RecordKind.LOOK)
            return Outcome(False, before.tree, before.tree, plan.refused() if is_refused else plan.foretold())
        failpoint("writer.before")
        self.record(before, RecordKind.BEFORE)
        # a step of which nothing can be taken back stays what it is, and nothing happened
        if plan.is_empty and not finished(operation, plan.foretold()).turned:
            return Outcome(True, before.tree, before.tree, plan.foretold())
        call.check()
        intent = intent_of(plan, operation, forced)
        if plan.is_empty:
            call.commit()
            results = plan.foretold()
        else:
            results = self._apply(plan, intent, call)
        after = self._conclude(intent, results, call)
        outcome = Outcome(True, before.tree, after.tree, results)
        self.tell_snapshot(Reverted(operation.kind, outcome))
        return outcome

    def operation(self, kind: OperationKind, before: Snapshot) -> Operated:
        """How the timeline tells an operation that is about no session."""
        return Operated(secrets.token_hex(8), kind, None, self.store.identify(before))

    # -- telling

    def tell_snapshot(self, notice: Tracked | Reverted) -> None:
        """Tells of a snapshot, from which what changes next is told."""
        self._telling.forget()
        self.tell(notice)

    def tell(self, notice: Notice) -> None:
        """Tells everyone who listens."""
        self.bulletin.tell(notice)

    def tell_trouble(self, error: Exception) -> None:
        """Tells those who listen why something that happened cannot be told."""
        for troubled in self._troubled:
            troubled(error)

    # -- the timeline

    def _apply(self, plan: Plan, intent: Intent, call: Call) -> tuple[FileOutcome, ...]:
        failpoint("writer.intend")
        self.store.intend(intent)
        # whatever fails from here on: before anything else is done, it is ended and told
        self._settled = False
        failpoint("writer.apply")
        try:
            call.check()
            return self.work_tree.apply(plan, self.store.blob_chunks, call)
        except BaseException:
            if not call.is_committed:
                # no file was moved
                self.store.forget_intent()
                self._settled = True
            raise

    def _conclude(self, intent: Intent, results: Sequence[FileOutcome], call: Call) -> Snapshot:
        """Tells the timeline of an operation, as it turned out; gives the work tree after it."""
        failpoint("writer.conclude")
        operation = finished(intent.operation, results)
        after = self.look(intent.forced, call)
        plain = self.look((), call) if intent.forced else after
        before = self.store.load(operation.before)
        head = left_by(self.store, self.work_tree, before, plain, done(intent, results), intent.forced)
        call.check()
        # what somebody changed since the last snapshot and still has must not pass for what an agent left
        left_alone = any(result.outcome == "conflict" or result.reason == "changedSince" for result in results)
        kind = RecordKind.PARTLY if left_alone or head != plain else RecordKind.AFTER
        event = self._event(self.store.identify(head), self.span(operation.before), operation)
        failpoint("writer.tell")
        if head == after:
            self.store.tell(event, after, kind)
        else:
            self.store.append(after, kind)
            self.store.tell(event, None if self.store.knows(head.tree) else head, RecordKind.LOOK)
        failpoint("writer.forget")
        self.store.forget_intent()
        self._settled = True
        return after

    def _event(self, head: SnapshotId | None, seen: Span | None, what: Happening) -> Event:
        return Event(self.store.timeline.next_seq, time.time_ns() // 1_000_000, head, seen, what)

    def span(self, found: SnapshotId) -> Span | None:
        """What changed since the last event, by whom; None where nothing did."""
        head = self.store.timeline.head
        if head is None or head == found:
            return None
        return Span(head, found, *self.attendance.split(self.store.timeline.open_steps()))

    def _settle(self, call: Call) -> None:
        """Ends an operation that failed halfway, or was killed: finishes it where nobody changed the rest."""
        if self._settled:
            return
        intent = self.store.intent()
        if intent is not None:
            if self._broken_off is not None:
                # the process is about to end: what it does before that must not be just what it was to leave
                raise self._broken_off
            with call.on_behalf_of_all() as ending:
                self._end(intent, ending)
        self._settled = True

    def _end(self, intent: Intent, call: Call) -> None:
        entries = [entry for effect in intent.files for entry in (effect.old, effect.new) if entry is not None]
        failpoint("writer.settle")
        self.work_tree.sweep(directories(intent), entries, self.store.blob_chunks, call)
        failpoint("writer.swept")
        self.look(intent.forced, call)
        plan = remaining(intent, self.work_tree)
        try:
            results = self.work_tree.apply(plan, self.store.blob_chunks, call)
        except StoreCorrupt:
            # what it wanted cannot be had any more, and must not keep everyone from everything else
            results = abandoned(plan)
        after = self._conclude(intent, results, call)
        before = intent.operation.before.tree
        self.tell_snapshot(Reverted(intent.operation.kind, Outcome(True, before, after.tree, results)))
        for recovered in self._recovered:
            recovered(intent.operation)
