"""The store of one workspace: its shadow repository, the log of its snapshots, its timeline, and the right to write."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from snapd.core.errors import SnapdError
from snapd.core.model import RecordKind
from snapd.core.timeline.model import SnapshotId
from snapd.failpoints import failpoint
from snapd.store.files.lock import Ownership
from snapd.store.journal.journal import refuse_newer_journal
from snapd.store.maintenance.erase import erase_noted, note_erasing
from snapd.store.maintenance.purge import PurgePlan
from snapd.store.maintenance.retention_run import Maintenance
from snapd.store.maintenance.scheduler import MaintenanceScheduler

from .adopt import ProjectBlobs
from .log import SnapshotLog
from .object_store import ObjectStore, part
from .repository import ShadowRepository, refuse_newer
from .timeline.small_files import IntentFile
from .timeline.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from snapd.core.call import Call
    from snapd.core.check_report import CheckReport
    from snapd.core.model import ObjectId, RelPath, Snapshot
    from snapd.core.ports import store as ports
    from snapd.core.ports.store import PurgePlan as AnyPurgePlan
    from snapd.core.timeline.model import Event, Intent, State


logger = logging.getLogger(__name__)


class Store(ObjectStore):
    """An open store; created if it does not exist.

    Args:
        path: its directory.
        socket: the address at which other processes that want this store can reach this one; None if they cannot.

    Attributes:
        path: see above.
        timeline: the sessions, steps and operations.

    Raises:
        StoreLocked: another process owns it.
        StoreCorrupt: it cannot be read, or was made by a newer snapd.
        IoError, StorageFull: it could not be created.
    """

    def __init__(self, path: str, socket: str | None) -> None:
        self.path = path
        # before anything is written there: a newer version may keep everything in another form
        refuse_newer(path)
        refuse_newer_journal(path)
        self._ownership = Ownership(path, socket)
        try:
            erase_noted(path)
            super().__init__(ShadowRepository(path))
            self._log = SnapshotLog(self._repository)
            self._scheduler = MaintenanceScheduler(self._repository)
            self.timeline = Timeline(self._repository)
            self._maintenance = Maintenance(self._repository, self._log, self.timeline, self._scheduler)
            self._intent = IntentFile(path)
            self._is_erasing = False
        except BaseException:
            self._ownership.release()
            raise

    def close(self) -> None:
        """Writes the journal into the repository, and lets another process own the store."""
        failpoint("store.close")
        self._scheduler.stop()
        self.timeline.close()
        try:
            self._repository.check_present()
            self._repository.journal.checkpoint()
        except SnapdError as error:
            # nothing is lost: the next opening of the store replays the journal
            logger.warning(
                "the store %s was closed with its journal, which is replayed when it is next opened: %s",
                self.path,
                error.message,
            )
        finally:
            self._ownership.release()

    bytes_on_disk = part("_repository", ShadowRepository.bytes_on_disk)
    find = part("_log", SnapshotLog.find)
    knows = part("_log", SnapshotLog.knows)
    taken = part("_log", SnapshotLog.taken)
    neighbours = part("_log", SnapshotLog.neighbours)
    identify = part("_log", SnapshotLog.identify)
    load = part("_log", SnapshotLog.load)

    def left_out(self, state: State) -> Mapping[RelPath, ObjectId]:
        """What a snapshot left out because of its rules; see `Coverage`."""
        if isinstance(state, SnapshotId):
            state = self.load(state)
        elif isinstance(state, bytes):
            if not self.knows(state):
                return {}
            state = self.find(state)
        return super().left_out(state)

    def project_blobs(self, directories: Sequence[bytes]) -> ports.ProjectBlobs:
        """The blobs in `objects` directories of the user's own git; they are only read, and only when needed."""
        return ProjectBlobs(directories)

    @property
    def last(self) -> ObjectId | None:
        """See `core.ports.store.SnapshotLog`."""
        return self._log.last

    def settle(self) -> None:
        """Writes what waits in the journal into the repository, where git finds it; raises `StorageFull`, `IoError`."""
        self._repository.journal.checkpoint()

    def append(self, snapshot: Snapshot, kind: RecordKind) -> None:
        """See `core.ports.store.SnapshotLog`."""
        self._log.append(snapshot, kind)
        self._scheduler.consider()

    def append_event(
        self,
        event: Event,
        snapshot: Snapshot | None = None,
        kind: RecordKind = RecordKind.TRACK,
        following: Sequence[Event] = (),
    ) -> None:
        """See `core.ports.store.SnapshotLog`."""
        if snapshot is not None and event.head != self.identify(snapshot):
            raise ValueError("the snapshot to be recorded is not the head of the event")
        with self.timeline.adding((event, *following)) as references:
            if snapshot is not None:
                self._log.append(snapshot, kind, references)
            else:
                self._repository.journal.flush(references)
        self._scheduler.consider()

    def intend(self, intent: Intent) -> None:
        """See `core.ports.store.SnapshotLog`."""
        self._repository.journal.flush()
        self._intent.keep(intent)

    def intent(self) -> Intent | None:
        """The intent that is not yet carried out; one whose operation is in the timeline is forgotten."""
        intent = self._intent.read()
        if intent is None or not self._is_done(intent):
            return intent
        self._intent.forget()
        return None

    def _is_done(self, intent: Intent) -> bool:
        if intent.step_id is None:
            return self.timeline.operation(intent.operation.operation_id) is not None
        step = self.timeline.step(intent.step_id)
        return step is not None and step.state != "open"

    def forget_intent(self, *, is_recorded: bool) -> None:
        """Removes the intent; raises `IoError`.

        Args:
            is_recorded: whether the timeline has its operation. Then nothing is synced: should a power cut bring the
                intent back, `intent` forgets it; and before events expire, this directory is synced (`PendingSweep`).
        """
        self._intent.forget(durably=not is_recorded)

    expire = part("_maintenance", Maintenance.clean)
    expirable = part("_maintenance", Maintenance.foretell)
    expire_in_background = part("_maintenance", Maintenance.clean_in_background)

    def purge_plan(self, paths: Collection[RelPath], messages: Collection[str], call: Call) -> PurgePlan:
        """See `core.ports.store.Maintenance`."""
        return PurgePlan(self._repository, self._log, self.timeline, self.load, paths, messages, call)

    @property
    def is_unpurged(self) -> bool:
        """See `core.ports.store.Maintenance`."""
        return self._maintenance.is_unpurged

    def purge(self, purge_plan: AnyPurgePlan | None, call: Call) -> int:
        """See `core.ports.store.Maintenance`."""
        self._scheduler.stop()
        call.check()
        self._repository.journal.checkpoint()
        call.check()
        before = self._repository.bytes_on_disk()
        call.commit()
        if purge_plan is not None:
            self._maintenance.note_wholly()
            try:
                purge_plan.take_out()
                # the journal holds contents too
                self._repository.journal.checkpoint()
            finally:
                self._log.reload()
                self.timeline.reload()
        self._maintenance.sweep_wholly(call)
        return max(0, before - self._repository.bytes_on_disk())

    def erase(self, call: Call) -> int:
        """See `core.ports.store.Maintenance`."""
        self._scheduler.stop()
        self._repository.journal.checkpoint()
        before = self._repository.bytes_on_disk()
        call.commit()
        note_erasing(self.path)
        self._is_erasing = True
        self.finish_erasing()
        return max(0, before - self._repository.bytes_on_disk())

    def finish_erasing(self) -> None:
        """See `core.ports.store.Maintenance`."""
        if not self._is_erasing:
            return
        try:
            self.timeline.reload()
            erase_noted(self.path)
            self._is_erasing = False
        finally:
            self._repository.forget_packs()
            self._log.reload()
            # a reader may have loaded the timeline meanwhile
            self.timeline.reload()

    def counts(self) -> tuple[int, int]:
        """See `core.ports.store.SnapshotLog`."""
        return len(self._log.records()), len(self.timeline.sessions())

    def check(self, call: Call, *, quick: bool, alone: bool) -> CheckReport:
        """See `core.ports.store.Integrity`."""
        # imported late: a twentieth of the daemon's code, and hardly ever needed
        from snapd.store.fsck.checkers import check, check_apart

        self._repository.check_present()
        if alone:
            self._scheduler.stop()
            self._repository.journal.checkpoint()
        if quick:
            return check(self.path, call, quick=True, agrees=self.timeline.agrees)
        return check_apart(self.path, call, self.timeline.agrees)

    def repair(
        self, directories: tuple[bytes, ...], work_tree: Callable[[RelPath], bytes | None], call: Call
    ) -> CheckReport:
        """See `core.ports.store.Integrity`."""
        from snapd.store.fsck.checkers import repair

        self._repository.check_present()
        self._scheduler.stop()
        settle = self._repository.journal.checkpoint
        try:
            found = repair(self.path, directories, work_tree, settle, call, self.timeline.agrees)
        finally:
            self._repository.forget_packs()
        if found.problems:
            self.timeline.forget()
            self._log.reload()
        return found
