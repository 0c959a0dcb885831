"""The store of one workspace: its shadow repository, the log of its snapshots, and the right to write them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from snapd.core.errors import SnapdError
from snapd.core.model import RecordKind
from snapd.failpoints import failpoint
from snapd.store.batch import ObjectBatch
from snapd.store.files.lock import Ownership
from snapd.store.journal.journal import refuse_newer_journal
from snapd.store.maintenance.erase import erase_noted, note_erasing
from snapd.store.maintenance.purge import PurgePlan
from snapd.store.maintenance.retention_run import Maintenance
from snapd.store.maintenance.scheduler import MaintenanceScheduler

from .adopt import adopt
from .log import SnapshotLog
from .merging import merge
from .project_blobs import ProjectBlobs
from .renames import renames
from .repository import ShadowRepository, refuse_newer
from .timeline import IntentFile, Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from snapd.core.call import Call
    from snapd.core.check_report import CheckReport
    from snapd.core.model import Entry, ObjectId, RelPath, Snapshot, TreeEntry
    from snapd.core.ports import project as project_ports
    from snapd.core.ports.maintenance import PurgePlan as AnyPurgePlan
    from snapd.core.rules.retention import Limits
    from snapd.core.timeline.model import Event, Intent, SnapshotId


logger = logging.getLogger(__name__)


class Store:
    """An open store; made where it is missing.

    Args:
        path: its directory.
        socket: where this process can be reached by others that want the same store, None where it cannot.

    Attributes:
        path: see above.
        timeline: the sessions, steps and operations.

    Raises:
        StoreLocked: another process owns it.
        StoreCorrupt: it cannot be read, or was made by a newer snapd.
        IoError, StorageFull: it could not be made.
    """

    def __init__(self, path: str, socket: str | None) -> None:
        self.path = path
        # before anything is written there: the newer one may do all of it in another way
        refuse_newer(path)
        refuse_newer_journal(path)
        self._ownership = Ownership(path, socket)
        try:
            erase_noted(path)
            self._repository = ShadowRepository(path)
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
        """Makes the repository whole without a journal, and lets another process own the store."""
        failpoint("store.close")
        self._scheduler.stop()
        self.timeline.close()
        try:
            self._repository.check_present()
            self._repository.journal.checkpoint()
        except SnapdError as error:
            # nothing that was answered is at stake: whoever opens the store next goes on from the journal
            logger.warning("closing the store %s: %s", self.path, error.message)
        finally:
            self._ownership.release()

    def remember_root(self, root: bytes, identity: tuple[int, int]) -> None:
        """Keeps which folder the store belongs to, for the one who looks at the store later."""
        self._repository.remember_root(root, *identity)

    def check_present(self) -> None:
        """Raises `StoreCorrupt` where the store was deleted or replaced."""
        self._repository.check_present()

    def batch(self) -> ObjectBatch:
        """A set of objects to be stored together."""
        return ObjectBatch(self._repository)

    def adopt(self, directories: Sequence[bytes], wanted: Collection[ObjectId]) -> frozenset[ObjectId]:
        """Makes objects of the user's own git part of the store, durably.

        Args:
            directories: absolute `objects` directories; nothing is written there.
            wanted: ids of 20 bytes.

        Returns:
            Those of `wanted` that the store holds now.

        Raises:
            StorageFull, IoError: the store could not be written.
        """
        return adopt(self._repository, directories, wanted)

    def project_blobs(self, directories: Sequence[bytes]) -> project_ports.ProjectBlobs:
        """The blobs in `objects` directories of the user's own git; nothing is read yet, and nothing written ever."""
        return ProjectBlobs(directories)

    def read_tree(self, oid: ObjectId) -> tuple[TreeEntry, ...]:
        """The entries of a directory; raises `StoreCorrupt`."""
        return self._repository.read_tree(oid)

    def entry_in(self, tree: ObjectId, name: bytes) -> TreeEntry | None:
        """What a directory has under a name, if anything; raises `StoreCorrupt`."""
        return self._repository.entry_in(tree, name)

    def differing(self, old: ObjectId, new: ObjectId) -> list[tuple[TreeEntry | None, TreeEntry | None]]:
        """The entries in which two directories differ, each before and after; raises `StoreCorrupt`."""
        return self._repository.differing(old, new)

    def read_blob(self, oid: ObjectId) -> bytes:
        """The bytes of a file; raises `StoreCorrupt`."""
        return self._repository.read_blob(oid)

    def read_small_blob(self, oid: ObjectId, most: int) -> bytes | None:
        """The bytes of a file, None where it has more than `most`; raises `StoreCorrupt`."""
        return self._repository.read_small_blob(oid, most)

    def blob_size(self, oid: ObjectId) -> int:
        """The size of a file, bytes; raises `StoreCorrupt`."""
        return self._repository.blob_size(oid)

    def blob_chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """The bytes of a file, in pieces; raises `StoreCorrupt` before the last one where they are damaged."""
        return self._repository.blob_chunks(oid)

    def renames(self, old: ObjectId, new: ObjectId) -> dict[RelPath, RelPath]:
        """The old path of each file that was moved, by its new one."""
        return renames(self._repository, old, new)

    def merge(self, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
        """The three-way merge of a file, stored; None where the changes overlap."""
        return merge(self._repository, base, ours, theirs)

    def find(self, tree: ObjectId) -> Snapshot:
        """The latest snapshot with this tree; raises `UnknownSnapshot`."""
        return self._log.find(tree)

    def knows(self, tree: ObjectId) -> bool:
        """Whether there is a snapshot with this tree."""
        return self._log.knows(tree)

    @property
    def last(self) -> ObjectId | None:
        """The tree of the newest snapshot that somebody asked for, or that an operation left behind."""
        return self._log.last

    def discard(self) -> frozenset[ObjectId]:
        """Gives up objects that were added and could not be made durable; gives their ids."""
        return self._repository.journal.discard()

    def append(self, snapshot: Snapshot, kind: RecordKind) -> None:
        """Records a snapshot, and makes it durable with all that was stored before."""
        self._log.append(snapshot, kind)
        self._scheduler.consider()

    def identify(self, snapshot: Snapshot) -> SnapshotId:
        """Which snapshot it is, for an event; raises `StorageFull`, `IoError`."""
        return self._log.identify(snapshot)

    def load(self, snapshot: SnapshotId) -> Snapshot:
        """The snapshot that an event names; raises `StoreCorrupt`."""
        return self._log.load(snapshot)

    def append_event(self, event: Event, snapshot: Snapshot | None = None, kind: RecordKind = RecordKind.TRACK) -> None:
        """Adds an event to the timeline, and records the snapshot that is its head: both or neither, with one sync.

        Args:
            event: the next one; what it names was stored or waits to be.
            snapshot: its head, where that is to be recorded with it.
            kind: why that was taken.

        Raises:
            ValueError: the event cannot follow those before, or the snapshot is not its head.
            InvalidParams: a text in the event is not valid Unicode.
            StoreCorrupt: it names an object that is not stored.
            StorageFull, IoError: there is neither.
        """
        if snapshot is not None and event.head != self.identify(snapshot):
            raise ValueError("the snapshot to be recorded is not the head of the event")
        with self.timeline.adding(event) as references:
            if snapshot is not None:
                self._log.append(snapshot, kind, references)
            else:
                self._repository.journal.flush(references)
        self._scheduler.consider()

    def intend(self, intent: Intent) -> None:
        """Keeps durably what is about to be done to the work tree, with all that was stored before.

        Raises:
            InvalidParams: a text in it is not valid Unicode.
            StorageFull, IoError: it was not kept.
        """
        self._repository.journal.flush()
        self._intent.keep(intent)

    def intent(self) -> Intent | None:
        """What was kept so and is not done with: an operation that is in the timeline is."""
        intent = self._intent.read()
        if intent is None or self.timeline.operation(intent.operation.operation_id) is None:
            return intent
        self._intent.forget()
        return None

    def forget_intent(self) -> None:
        """Says, durably, that it is done with; raises `IoError`."""
        self._intent.forget()

    def expire(self, limits: Limits, keep: ObjectId | None, call: Call) -> tuple[int, int]:
        """Drops what is beyond the limits and what only that held, and packs the rest anew; see `Maintenance.clean`."""
        return self._maintenance.clean(limits, keep, call)

    def expire_behind(self, limits: Limits, keep: ObjectId | None, call: Call) -> int:
        """The same as long as nobody minds; see `Maintenance.clean_behind`."""
        return self._maintenance.clean_behind(limits, keep, call)

    def purge_plan(self, paths: Collection[RelPath], call: Call) -> PurgePlan:
        """What is to go with some files, and where it stands; raises as `PurgePlan`."""
        return PurgePlan(self._repository, self._log, self.timeline, self.load, paths, call)

    @property
    def is_unpurged(self) -> bool:
        """Whether a purge was cut short, so that there may be contents still that nothing refers to."""
        return self._maintenance.is_unpurged

    def purge(self, purge_plan: AnyPurgePlan | None, call: Call) -> int:
        """Takes contents out of every snapshot and event, and removes them; or ends a purge that was cut short.

        Args:
            purge_plan: what is to go; None for what an earlier purge has left.
            call: the request; may be cancelled until anything is changed.

        Returns:
            The bytes freed.

        Raises:
            StoreCorrupt, StorageFull, IoError: either nothing was changed; or they are gone from every snapshot, and
                some of them are on the disk still: the next purge or cleanup goes on.
        """
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
                # the frame itself is in it
                self._repository.journal.checkpoint()
            finally:
                self._log.reload()
                self.timeline.reload()
        self._maintenance.sweep_wholly(call)
        return max(0, before - self._repository.bytes_on_disk())

    def erase(self, call: Call) -> int:
        """Drops all snapshots, sessions and operations, and all that they held.

        Args:
            call: the request; may be cancelled until anything is changed.

        Returns:
            The bytes freed.

        Raises:
            StorageFull, IoError: nothing was changed; or some of it is there still, and goes before anything else is
                done, see `finish_erasing`.
        """
        self._scheduler.stop()
        self._repository.journal.checkpoint()
        before = self._repository.bytes_on_disk()
        call.commit()
        note_erasing(self.path)
        self._is_erasing = True
        self.finish_erasing()
        return max(0, before - self._repository.bytes_on_disk())

    def finish_erasing(self) -> None:
        """Ends an `erase` that failed halfway, for one who may write: whatever came to the store now would go with it.

        Raises:
            IoError: it fails still.
        """
        if not self._is_erasing:
            return
        try:
            self.timeline.reload()
            erase_noted(self.path)
            self._is_erasing = False
        finally:
            self._repository.swept()
            self._log.reload()
            # whoever reads may have read meanwhile, without asking
            self.timeline.reload()

    def counts(self) -> tuple[int, int]:
        """How many snapshots and sessions there are."""
        return len(self._log.records()), len(self.timeline.sessions())

    def check(self, call: Call, *, quick: bool, alone: bool) -> CheckReport:
        """Checks all of it against its names, and all that is named for being there; changes no object.

        Args:
            call: what this is for.
            quick: read no objects but records and events.
            alone: whether nobody writes meanwhile; else what is found may have moved in that moment.

        Raises:
            StoreCorrupt: it is gone.
            IoError, StorageFull, Cancelled: it could not be checked.
        """
        # a twentieth of what a daemon loads, and hardly ever asked for
        from snapd.store.fsck.checker import check_apart
        from snapd.store.fsck.checkers import check

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
        """Repairs what can be repaired; nobody may write meanwhile.

        Args:
            directories: absolute `objects` directories of the user's own git; nothing is written there.
            work_tree: gives the bytes of a file of the work tree, None where there is no such file.
            call: what this is for; may be cancelled until the first file is put aside.

        Returns:
            What was wrong; see `checkers.repair`.

        Raises:
            StoreCorrupt: it is gone.
            StorageFull, IoError: nothing that could be read before cannot be read now.
            Cancelled: nothing was changed.
        """
        from snapd.store.fsck.checkers import repair

        self._repository.check_present()
        self._scheduler.stop()
        settle = self._repository.journal.checkpoint
        try:
            found = repair(self.path, directories, work_tree, settle, call, self.timeline.agrees)
        finally:
            self._repository.swept()
        if found.problems:
            self.timeline.forget()
            self._log.reload()
        return found

    def bytes_on_disk(self) -> int:
        """What the store takes, bytes."""
        return self._repository.bytes_on_disk()
