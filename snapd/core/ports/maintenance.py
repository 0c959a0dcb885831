"""Removes snapshots, contents or everything from a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection

    from snapd.core.call import Call
    from snapd.core.model import ObjectId, RelPath
    from snapd.core.rules.retention import Limits


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

    def expire_in_background(self, limits: Limits, keep: ObjectId | None, call: Call) -> int:
        """Drops snapshots as `expire` until the call is cancelled, and packs later; gives their number."""

    def purge_plan(self, paths: Collection[RelPath], messages: Collection[str], call: Call) -> PurgePlan:
        """Finds the contents that a purge of some files and messages removes, and where they occur."""

    @property
    def is_unpurged(self) -> bool:
        """Whether a purge was interrupted, so that contents may remain that nothing refers to."""

    def purge(self, purge_plan: PurgePlan | None, call: Call) -> int:
        """Removes contents from all snapshots and events; None finishes an earlier purge. Gives the bytes freed."""

    def finish_erasing(self) -> None:
        """Finishes an `erase` that failed halfway; cheap if there was none. Raises `IoError` if it fails again."""

    def erase(self, call: Call) -> int:
        """Removes all snapshots, sessions and operations with all their contents; gives the bytes freed."""

    def bytes_on_disk(self) -> int:
        """The size of the store in bytes."""
