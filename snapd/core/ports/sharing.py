"""Where the copy of a session is written that leaves the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from snapd.core.model import Coverage, ObjectId, TreeEntry
    from snapd.core.timeline.model import SnapshotId


class Outgoing(Protocol):
    """The objects of a copy that the workspace's own store does not have."""

    def tree(self, data: bytes) -> ObjectId:
        """Adds a directory, given as the bytes of its tree object."""

    def read_tree(self, oid: ObjectId) -> tuple[TreeEntry, ...] | None:
        """The entries of a directory that was added; None for any other."""

    def snapshot(self, tree: ObjectId, coverage: Coverage) -> SnapshotId:
        """Adds the coverage of a snapshot, and gives the id by which an event names the snapshot."""
