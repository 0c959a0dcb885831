"""The log of snapshots and events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from snapd.core.model import RecordKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.core.model import ObjectId, Snapshot, Taken, TakenQuery
    from snapd.core.timeline.model import Event, Intent, SnapshotId

    from .timeline import Timeline


class SnapshotLog(Protocol):
    """Records which snapshots there are and what happened; each record is durable once its call returns."""

    def find(self, tree: ObjectId) -> Snapshot:
        """The latest snapshot with this tree; raises `UnknownSnapshot`."""

    def knows(self, tree: ObjectId) -> bool:
        """Whether there is a snapshot with this tree."""

    @property
    def last(self) -> ObjectId | None:
        """The tree of the newest snapshot that a client asked for or that an operation left."""

    def taken(self, wanted: TakenQuery, below: int | None, limit: int) -> tuple[Taken, ...]:
        """Lists up to `limit` snapshots, newest first; only those with a `seq` below `below` unless that is None."""

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
            event: the next event.
            snapshot: its head, if that is to be recorded too.
            kind: why the snapshot was taken.
            following: the events after it.
        """

    def intend(self, intent: Intent) -> None:
        """Keeps durably what an operation is about to do to the work tree."""

    def intent(self) -> Intent | None:
        """What `intend` kept, if that operation is not finished."""

    def forget_intent(self, *, is_recorded: bool) -> None:
        """Notes that the operation of `intend` is finished.

        Args:
            is_recorded: whether the timeline has it, durably.
        """

    def counts(self) -> tuple[int, int]:
        """Counts the snapshots and the sessions."""
