"""The store of one workspace. Code that needs less of it takes one of the narrower ports; `store` provides all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from snapd.core.model import ObjectId, RecordKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.call import Call
    from snapd.core.check_report import CheckReport
    from snapd.core.model import Change, Entry, RelPath, Snapshot, Taken, TakenQuery, TreeEntry
    from snapd.core.rules.retention import Limits
    from snapd.core.timeline.model import Event, Intent, SnapshotId, State

    from .timeline import Timeline


class ObjectBatch(Protocol):
    """Objects that are stored together; a context manager that discards what was not committed."""

    def __enter__(self) -> ObjectBatch: ...

    def __exit__(self, *_: object) -> None: ...

    def blob(self, data: bytes) -> ObjectId:
        """Adds a file's bytes."""

    def blob_stream(self, size: int, chunks: Iterator[bytes]) -> ObjectId:
        """Adds a large file's bytes, piece by piece."""

    @property
    def packing(self) -> str:
        """The module whose `packed_blob` turns a file's bytes into its id and the bytes to store, in any process."""

    def add_packed_blob(self, oid: ObjectId, packed: bytes) -> None:
        """Adds a file's bytes, given as what `packing` made of them."""

    def encoded_tree(self, data: bytes) -> ObjectId:
        """Adds a directory, given as the bytes of its tree object."""

    def commit(self) -> None:
        """Stores everything that was added; it is durable at the latest when the next snapshot is recorded."""


class Blobs(Protocol):
    """The bytes of files, by their ids."""

    def read_blob(self, oid: ObjectId) -> bytes:
        """The bytes of a file; raises `StoreCorrupt`."""

    def read_small_blob(self, oid: ObjectId, most: int) -> bytes | None:
        """The bytes of a file, None if it has more than `most`; raises `StoreCorrupt`."""

    def blob_size(self, oid: ObjectId) -> int:
        """The size of a file, bytes; raises `StoreCorrupt`."""

    def blob_chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """The bytes of a file, in pieces; raises `StoreCorrupt` before the last piece if they are damaged."""


class Objects(Blobs, Protocol):
    """The objects of a workspace's snapshots."""

    def check_present(self) -> None:
        """Raises `StoreCorrupt` if the store was deleted or replaced."""

    def batch(self) -> ObjectBatch:
        """Opens a set of objects to store together."""

    def adopt(self, directories: Sequence[bytes], wanted: Collection[ObjectId]) -> frozenset[ObjectId]:
        """Copies wanted objects from other git `objects` directories, durably; gives those that are stored now."""

    def read_tree(self, oid: ObjectId) -> tuple[TreeEntry, ...]:
        """The entries of a directory; raises `StoreCorrupt`."""

    def entry_in(self, tree: ObjectId, name: bytes) -> TreeEntry | None:
        """What a directory has under a name, if anything; repeated calls read it once. Raises `StoreCorrupt`."""

    def differing(self, old: ObjectId, new: ObjectId) -> list[tuple[TreeEntry | None, TreeEntry | None]]:
        """The entries that differ between two directories, each before and after; raises `StoreCorrupt`."""

    def changes(
        self, old: State, new: State, *, after: RelPath | None = None, only: Collection[RelPath] = ()
    ) -> Iterator[Change]:
        """Lists what differs between two snapshots, as `trees.changes`, without what only a rule hides."""

    def renames(self, old: State, new: State) -> dict[RelPath, RelPath]:
        """The old path of each file that was moved, by its new one."""

    def merge(self, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
        """Merges a file three ways and stores the result; None if the changes overlap."""

    def store_blob(self, data: bytes) -> ObjectId:
        """Stores the bytes of a file that no work tree had; raises `StorageFull`, `IoError`."""

    def discard(self) -> frozenset[ObjectId]:
        """Drops the objects that were added since the last snapshot was recorded; gives their ids."""


Adopt = Callable[[Sequence[bytes], Collection[ObjectId]], frozenset[ObjectId]]
"""Copies wanted objects from other git `objects` directories, as `Objects.adopt` does; gives those stored now."""


class ProjectBlobs(Protocol):
    """Blobs in the project's own git, which may be missing, damaged or malicious."""

    def sizes(self, wanted: Collection[ObjectId], /) -> dict[ObjectId, int]:
        """The sizes in bytes that those declare which can be taken over cheaply; raises `IoError`."""

    def read(self, oid: ObjectId, most: int, /) -> bytes | None:
        """The bytes of a blob, None if it is missing, damaged or has more than `most`; raises `IoError`."""

    def files_at(self, commit: ObjectId, paths: Collection[RelPath], *, is_stash: bool) -> Mapping[RelPath, Entry]:
        """What a commit has at some paths, as far as it can be read; raises `IoError`."""


OpenBlobs = Callable[[Sequence[bytes]], ProjectBlobs]
"""Opens the blobs in git `objects` directories; reads nothing yet."""


class SnapshotLog(Protocol):
    """Records which snapshots there are and what happened; each record is durable once its call returns."""

    def find(self, tree: ObjectId) -> Snapshot:
        """The latest snapshot with this tree; raises `UnknownSnapshot`, and `StoreCorrupt` if it cannot be read."""

    def knows(self, tree: ObjectId) -> bool:
        """Whether there is a snapshot with this tree."""

    @property
    def last(self) -> ObjectId | None:
        """The tree of the newest snapshot that a client asked for or that an operation left."""

    def taken(self, wanted: TakenQuery, below: int | None, limit: int) -> tuple[Taken, ...]:
        """Lists up to `limit` snapshots, newest first; only those with a `seq` below `below` unless that is None."""

    def neighbours(self, name: str) -> Sequence[str]:
        """The hashes of snapshots that come right before and after a name in order, as far as there are any."""

    def append(self, snapshot: Snapshot, kind: RecordKind) -> None:
        """Records a snapshot, durably with all objects that were stored before."""

    @property
    def timeline(self) -> Timeline:
        """The sessions, steps and operations."""

    def identify(self, snapshot: Snapshot) -> SnapshotId:
        """Gives the id by which an event names a snapshot."""

    def load(self, snapshot: SnapshotId) -> Snapshot:
        """Loads the snapshot that an event names; raises `StoreCorrupt`."""

    def append_event(
        self,
        event: Event,
        snapshot: Snapshot | None = None,
        kind: RecordKind = RecordKind.TRACK,
        following: Sequence[Event] = (),
    ) -> None:
        """Adds events to the timeline, and records the snapshot that is the first one's `head`: all or none, durably.

        Args:
            event: the next event; the objects to which it refers are stored, or wait to be.
            snapshot: its head, if that is to be recorded too.
            kind: why the snapshot was taken.
            following: the events after it.

        Raises:
            ValueError: an event cannot follow the previous ones, or the snapshot is not its head.
            InvalidParams: a text in an event is not valid Unicode.
            StoreCorrupt: one refers to an object that is not stored.
            StorageFull, IoError: nothing was recorded.
        """

    def intend(self, intent: Intent) -> None:
        """Keeps durably what an operation is about to do to the work tree, and everything that was stored before.

        Raises:
            InvalidParams: a text in it is not valid Unicode.
            StorageFull, IoError: it was not kept.
        """

    def intent(self) -> Intent | None:
        """What `intend` kept, if that operation is not finished."""

    def forget_intent(self, *, is_recorded: bool) -> None:
        """Notes that the operation of `intend` is finished.

        Args:
            is_recorded: whether the timeline has it, durably.
        """

    def counts(self) -> tuple[int, int]:
        """Counts the snapshots and the sessions."""


class PurgePlan(Protocol):
    """The contents that a purge removes from a store, and where they occur."""

    @property
    def contents(self) -> frozenset[ObjectId]:
        """The blobs."""

    def versions_by_path(self) -> dict[RelPath, frozenset[ObjectId]]:
        """All paths where they occur in any snapshot or event, ordered, with the versions at each path."""

    def snapshots(self) -> int:
        """Counts the recorded snapshots that have any of them."""

    def located(self, tree: ObjectId) -> tuple[tuple[RelPath, ObjectId], ...]:
        """Where they occur in a tree."""

    def known_messages(self) -> frozenset[str]:
        """Those of the messages to purge that there are."""

    def is_in_any(self, path: RelPath) -> bool:
        """Whether any snapshot or event has a file or directory at a path, even if its contents are lost."""

    def is_linked(self) -> bool:
        """Whether the user's own git has any of them in a file that it shares with the store: they stay there."""

    def take_out(self) -> None:
        """Removes them from all snapshots and events, durably and at once."""


class Maintenance(Protocol):
    """Expires, purges and erases what a store holds."""

    def expire(self, limits: Limits, keep: ObjectId | None, call: Call) -> tuple[int, int]:
        """Drops the snapshots beyond the limits, except one tree, and packs the rest; gives their number and bytes."""

    def expirable(self, limits: Limits, keep: ObjectId | None, call: Call) -> tuple[int, int]:
        """Says what `expire` would drop, and what that frees without packing the rest."""

    def expire_in_background(self, limits: Limits, keep: ObjectId | None, call: Call) -> int:
        """Drops snapshots as `expire` until the call is cancelled, and packs later; gives their number."""

    def purge_plan(self, paths: Collection[RelPath], messages: Collection[str], call: Call) -> PurgePlan:
        """Finds the contents that a purge of some files and messages removes, and where they occur."""

    @property
    def is_unpurged(self) -> bool:
        """Whether a purge was interrupted, so that contents may remain that nothing refers to."""

    def purge(self, purge_plan: PurgePlan | None, call: Call) -> int:
        """Takes contents out of all snapshots and events and removes them; gives the bytes freed.

        Args:
            purge_plan: what to remove; None to finish an earlier purge.
            call: the request; can be cancelled until the first change.

        Raises:
            StoreCorrupt, StorageFull, IoError: nothing was changed, or the contents are gone from every snapshot, and
                the next purge or cleanup removes those that are still on the disk.
        """

    def finish_erasing(self) -> None:
        """Finishes an `erase` that failed halfway, before every write; cheap if there was none; raises `IoError`."""

    def erase(self, call: Call) -> int:
        """Removes all snapshots, sessions and operations with all their contents; gives the bytes freed.

        Args:
            call: the request; can be cancelled until the first change.

        Raises:
            StorageFull, IoError: nothing was changed, or a part is left, which `finish_erasing` removes.
        """

    def bytes_on_disk(self) -> int:
        """The size of the store in bytes."""


class Integrity(Protocol):
    """Checks whether everything that a store names exists and is sound."""

    def check(self, call: Call, *, quick: bool, alone: bool) -> CheckReport:
        """Checks every object against its id, and that everything named exists; changes nothing.

        Args:
            call: the request.
            quick: read only records and events, no other objects.
            alone: whether nobody writes during the check; if not, an object that just moved may seem to be missing.

        Raises:
            StoreCorrupt: the store is gone.
            IoError, StorageFull, Cancelled: the check was not finished.
        """

    def repair(
        self, directories: tuple[bytes, ...], work_tree: Callable[[RelPath], bytes | None], call: Call
    ) -> CheckReport:
        """Repairs what can be repaired; reports what was wrong. Nobody may write to the store meanwhile.

        Args:
            directories: absolute `objects` directories that may have what is lost; only read.
            work_tree: gives the bytes of a file, None if there is no such file.
            call: the request; may be cancelled until the first file is moved to quarantine.

        Raises:
            StoreCorrupt: the store is gone.
            StorageFull, IoError: everything that could be read before can still be read.
            Cancelled: nothing was changed.
        """


class Store(Objects, SnapshotLog, Maintenance, Integrity, Protocol):
    """An open store: no other process writes to it."""

    def project_blobs(self, directories: Sequence[bytes]) -> ProjectBlobs:
        """Opens the objects in git `objects` directories; reads nothing yet."""

    def close(self) -> None:
        """Closes the store, so that another process can own it."""

    @property
    def path(self) -> str:
        """The directory of the store."""
