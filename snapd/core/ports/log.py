"""The log of snapshots and events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from snapd.core.model import RecordKind

if TYPE_CHECKING:
    from snapd.core.model import ObjectId, Snapshot
    from snapd.core.timeline.model import Event, Intent, SnapshotId

    from .timeline import Timeline


class SnapshotLog(Protocol):
    """Which snapshots there are, and what happened; each entry is durable once its call returns."""

    def find(self, tree: ObjectId) -> Snapshot:
        """The latest snapshot with this tree; raises `UnknownSnapshot`."""

    def knows(self, tree: ObjectId) -> bool:
        """Whether there is a snapshot with this tree."""

    @property
    def last(self) -> ObjectId | None:
        """The tree of the newest snapshot that somebody asked for, or that an operation left behind."""

    def append(self, snapshot: Snapshot, kind: RecordKind) -> None:
        """Records a snapshot, and makes it durable with all that was stored before."""

    @property
    def timeline(self) -> Timeline:
        """The sessions, steps and operations."""

    def identify(self, snapshot: Snapshot) -> SnapshotId:
        """Which snapshot it is, for an event."""

    def load(self, snapshot: SnapshotId) -> Snapshot:
        """The snapshot that an event names; raises `StoreCorrupt`."""

    def append_event(self, event: Event, snapshot: Snapshot | None = None, kind: RecordKind = RecordKind.TRACK) -> None:
        """Adds an event to the timeline, and records the snapshot that is its `head`: both or neither, durably."""

    def intend(self, intent: Intent) -> None:
        """Keeps durably what is about to be done to the work tree."""

    def intent(self) -> Intent | None:
        """What was kept so and is not done with."""

    def forget_intent(self) -> None:
        """Says that it is done with."""

    def counts(self) -> tuple[int, int]:
        """How many snapshots and sessions there are."""
