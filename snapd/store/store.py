"""The store of one workspace: its shadow repository, its timeline, and the right to write."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence

from snapd.failpoints import failpoint
from snapd.model.call import Call
from snapd.model.check_report import CheckReport
from snapd.model.errors import SnapdError, UnknownSnapshot
from snapd.model.snapshot import ObjectId, RelPath, Snapshot
from snapd.model.snapshot_records import SnapshotRecord, taken_by
from snapd.model.timeline import Event, Intent, OperationId, Recorded, RecordKind, SnapshotId, State
from snapd.store.files.lock import Ownership
from snapd.store.files.quarantine import Quarantine
from snapd.store.files.space import ensure_space_to_record
from snapd.store.journal.journal import JOURNAL, refuse_newer_journal
from snapd.store.maintenance.erase import finish_erasing_if_noted, note_erasing
from snapd.store.maintenance.purge import PurgePlan
from snapd.store.maintenance.retention_run import Maintenance
from snapd.store.maintenance.scheduler import MaintenanceScheduler

from .coverage import encode
from .notes import NUMBERS, Notes
from .object_store import ObjectStore
from .repository import ShadowRepository, refuse_newer
from .timeline.chain import snapshots
from .timeline.codec import decode_intent, encode_intent
from .timeline.timeline import Timeline
from .upgrade import upgrade

logger = logging.getLogger(__name__)

_REMEMBERED = 4096
"""The number of snapshots that are found by their trees without a query of the timeline."""
_COPIES = 4
"""The intent of an operation is in the journal, and its event there, in an object and in the database."""


class Store(ObjectStore):
    """An open store; created if it does not exist. `socket` is the address at which other processes can reach this one.

    Raises `StoreLocked` if another process owns it, and `StoreCorrupt` if a newer snapd made it.
    """

    def __init__(self, path: str, socket: str | None) -> None:
        self.path = path
        # before anything is written there: a newer version may keep everything in another form
        refuse_newer(path)
        refuse_newer_journal(path)
        self.ownership = Ownership(path, socket)
        try:
            finish_erasing_if_noted(path)
            repository = ShadowRepository(path)
            upgrade(repository)
            super().__init__(repository)
            self.scheduler = MaintenanceScheduler(repository)
            self.notes = Notes(path)
            self.timeline = Timeline(repository)
            self.maintenance = Maintenance(repository, self.timeline, self.notes, self.scheduler)
            self.timeline.ensure_readable()
            self._is_erasing = False
            self._coverages: set[ObjectId] = set()
            self._snapshots: dict[ObjectId, SnapshotId] = {}
            self._base: SnapshotRecord | None = None
            self._has_head = False
            self._epoch = self.timeline.epoch
        except BaseException:
            self.ownership.release()
            raise

    def close(self) -> None:
        """Writes the journal into the repository, and lets another process own the store."""
        failpoint("store.close")
        self.scheduler.stop()
        self.timeline.close()
        try:
            self.check_present()
            self.repository.journal.checkpoint()
        except SnapdError as error:
            # nothing is lost: the next opening of the store replays the journal
            logger.warning(
                "the store %s was closed with its journal, which is replayed when it is next opened: %s",
                self.path,
                error.message,
            )
        finally:
            self.repository.journal.close()
            self.notes.close()
            self.ownership.release()

    def left_out(self, state: State) -> Mapping[RelPath, ObjectId]:
        """Returns what a snapshot left out because of its rules; see `Coverage`."""
        if isinstance(state, bytes):
            if not self.knows(state):
                return {}
            state = self.find(state)
        return super().left_out(state)

    def settle(self) -> None:
        """Writes what waits in the journal into the repository, where git finds it; raises `StorageFull`, `IoError`."""
        self.repository.journal.checkpoint()

    # frequent answers are cached: the timeline may be in use for as long as a simulation runs

    def find(self, tree: ObjectId) -> Snapshot:
        """Loads the latest snapshot with this tree; raises `UnknownSnapshot`, or `StoreCorrupt` if it is unreadable."""
        result = self._known(tree)
        if result is None:
            raise UnknownSnapshot(f"no snapshot {tree.hex()} in this workspace", hash=tree.hex())
        return self.load(result)

    def knows(self, tree: ObjectId) -> bool:
        """Whether there is a snapshot with this tree."""
        return self._known(tree) is not None

    @property
    def last(self) -> ObjectId | None:
        """The tree of the newest snapshot that a client requested or that an operation left."""
        self._forget_dropped()
        if self._base is None:
            self._base = self.timeline.base
        return None if self._base is None else self._base.tree

    def identify(self, snapshot: Snapshot) -> SnapshotId:
        """Returns the id of a snapshot; its coverage is stored together with the next event."""
        self._forget_dropped()
        coverage = self.repository.coverages.blob_id(snapshot.coverage)
        if coverage not in self._coverages:
            self.store_blob(encode(snapshot.coverage))
        return SnapshotId(snapshot.tree, coverage)

    def _known(self, tree: ObjectId) -> SnapshotId | None:
        self._forget_dropped()
        snapshot_id = self._snapshots.get(tree)
        if snapshot_id is None and (taken := self.timeline.taken_last(tree)) is not None:
            snapshot_id = self._snapshots.setdefault(tree, taken.snapshot)
        return snapshot_id

    def _forget_dropped(self) -> None:
        if self._epoch != self.timeline.epoch or len(self._snapshots) > _REMEMBERED:
            self._epoch = self.timeline.epoch
            self._base = None
            self._has_head = False
            self._coverages.clear()
            self._snapshots.clear()

    def _remember(self, event: Event) -> None:
        self._coverages |= {result.coverage for result in snapshots(event).values()}
        for taken in taken_by(event, None):
            if taken.kind != "look" or taken.is_base:
                self._snapshots[taken.tree] = taken.snapshot
            if taken.is_base:
                self._base = taken

    def recorded(
        self, snapshot: Snapshot, kind: RecordKind, *, is_base: bool = False, operation_id: OperationId | None = None
    ) -> Event:
        """Makes the next event, which only records a snapshot; see `Recorded`."""
        result = self.identify(snapshot)
        self._has_head = self._has_head or self.timeline.head is not None
        head = result if kind == "track" and not self._has_head else None
        what = Recorded(kind, result, is_base or kind == "track", operation_id)
        return Event(self.timeline.next_seq, time.time_ns() // 1_000_000, head, None, what)

    def record(self, snapshot: Snapshot, kind: RecordKind, operation_id: OperationId | None = None) -> None:
        """Adds an event that only records a snapshot; raises as `append`."""
        self.append(self.recorded(snapshot, kind, operation_id=operation_id))

    def append(self, *events: Event) -> None:
        """Adds the next events, all or none, durably with all objects that were stored before.

        Raises `ValueError` if an event cannot follow the previous ones, `InvalidParams` if a text is not valid Unicode,
        and `StoreCorrupt` if it refers to an object that is not stored.
        """
        self._append(events, None)

    def _append(self, events: Sequence[Event], intent: bytes | None) -> None:
        durable = intent is not None or not all(map(self._says_the_same, events))
        with self.timeline.adding(events) as references:
            self.repository.journal.flush(references, intent, durable=durable)
        for event in events:
            self._remember(event)
        self.scheduler.consider()

    def _says_the_same(self, event: Event) -> bool:
        """Whether an event only records the newest snapshot once more: losing it in a power cut loses nothing."""
        what = event.what
        return (
            isinstance(what, Recorded)
            and (event.head, event.seen, event.git) == (None, None, None)
            and self._base is not None
            and what.snapshot == self._base.snapshot
        )

    # what an operation is about to do

    def intend(self, before: Event, intent: Intent) -> None:
        """Adds the event that records the state before an operation, together with the operation's intent, or neither.

        Raises `StoreCorrupt` if the events cannot be read, and `StorageFull` also if there is no space to record the
        operation.
        """
        data = encode_intent(intent)
        ensure_space_to_record(self.path, _COPIES * len(data))
        self._append([before], data)

    def conclude(self, *events: Event) -> None:
        """Adds the events of an operation, and drops its intent; raises as `append`."""
        self._append(events, b"" if self.repository.journal.intent else None)

    def intent(self) -> Intent | None:
        """Returns the intent that is not carried out yet; an unreadable one is dropped.

        Raises `WrittenByNewer` if only a newer snapd can finish that operation.
        """
        data = self.repository.journal.intent
        if not data:
            return None
        try:
            intent = decode_intent(data)
        except (ValueError, RecursionError) as error:
            logger.warning("the intent in %s cannot be read, and is dropped: %s", self.path, error)
            Quarantine(self.path).keep(os.path.join(self.path, JOURNAL), f"its intent cannot be read: {error}")
            self.forget_intent()
            return None
        if intent.step_id is None:
            is_done = self.timeline.operation(intent.operation.operation_id) is not None
        else:
            step = self.timeline.step(intent.step_id)
            is_done = step is not None and step.state != "open"
        if is_done:
            # the frame that recorded the operation is damaged, and its references moved
            self.forget_intent()
        return None if is_done else intent

    def forget_intent(self) -> None:
        """Drops the intent of an operation that did nothing; raises `StorageFull`, `IoError`."""
        self.repository.journal.give_intent_up()

    def purge(self, purge_plan: PurgePlan | None, call: Call) -> int:
        """Removes contents from all snapshots and events; returns the bytes freed. None finishes an earlier purge.

        Can be cancelled until the first change. After an error, either nothing was changed, or the
        contents are gone from every snapshot, and the next purge or cleanup removes those still on the disk.
        """
        self.scheduler.stop()
        call.check()
        self.repository.journal.checkpoint()
        call.check()
        before = self.bytes_on_disk()
        call.commit()
        if purge_plan is not None:
            self.maintenance.note_wholly()
            try:
                purge_plan.take_out()
                # the journal holds contents too
                self.repository.journal.checkpoint()
            finally:
                self.timeline.reload()
        self.maintenance.sweep_wholly(call)
        return max(0, before - self.bytes_on_disk())

    def erase(self, call: Call) -> int:
        """Removes all snapshots, sessions and operations with all their contents; returns the bytes freed.

        Can be cancelled until the first change. After an error, nothing was changed, or `finish_erasing` removes the
        rest.
        """
        self.scheduler.stop()
        self.repository.journal.checkpoint()
        before = self.bytes_on_disk()
        call.commit()
        note_erasing(self.path)
        self._is_erasing = True
        self.finish_erasing()
        return max(0, before - self.bytes_on_disk())

    def finish_erasing(self) -> None:
        """Finishes an `erase` that failed halfway, before every write; cheap if there was none; raises `IoError`."""
        if not self._is_erasing:
            return
        try:
            self.timeline.reload()
            self.notes.keep_only([NUMBERS])
            finish_erasing_if_noted(self.path)
            self._is_erasing = False
        finally:
            self.repository.forget_packs()
            # a reader may have loaded the timeline meanwhile
            self.timeline.reload()

    def counts(self) -> tuple[int, int]:
        """Counts the snapshots and the sessions."""
        return len(self.timeline.inventory().snapshots), len(self.timeline.sessions())

    def check(self, call: Call, *, quick: bool, alone: bool) -> CheckReport:
        """Checks every object (for `quick`, only events) against its id, and that everything referenced exists.

        Unless `alone`, something may write during the check, and an object that just moved may seem to be missing.
        """
        # imported late: a twentieth of the daemon's code, and hardly ever needed
        from snapd.store.fsck.checkers import check, check_apart

        self.check_present()
        if alone:
            self.scheduler.stop()
            self.repository.journal.checkpoint()
        if quick:
            return check(self.path, call, quick=True, agrees=self.timeline.agrees)
        return check_apart(self.path, call, self.timeline.agrees)

    def repair(
        self, directories: tuple[bytes, ...], work_tree: Callable[[RelPath], bytes | None], call: Call
    ) -> CheckReport:
        """Repairs what can be repaired; returns what was wrong. See `fsck.checkers.repair`."""
        from snapd.store.fsck.checkers import repair

        self.check_present()
        self.scheduler.stop()
        settle = self.repository.journal.checkpoint
        try:
            check_report = repair(self.path, directories, work_tree, settle, call, self.timeline.agrees)
        finally:
            self.repository.forget_packs()
        if check_report.problems:
            self.timeline.forget()
        return check_report
