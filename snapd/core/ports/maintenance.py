"""What goes from a store: by age, by purge, or all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection

    from snapd.core.call import Call
    from snapd.core.model import ObjectId, RelPath
    from snapd.core.rules.retention import Limits


class PurgePlan(Protocol):
    """Contents that are to go from a store, and where they stand."""

    @property
    def contents(self) -> frozenset[ObjectId]:
        """The blobs."""

    def standing(self) -> dict[RelPath, frozenset[ObjectId]]:
        """All paths where they stand in any snapshot or event, ordered, with the versions there."""

    def snapshots(self) -> int:
        """How many recorded snapshots have any of them."""

    def located(self, tree: ObjectId) -> tuple[tuple[RelPath, ObjectId], ...]:
        """Where they stand in a tree."""

    def is_in_any(self, path: RelPath) -> bool:
        """Whether a file or directory is in any snapshot, or in what an event is about, with contents or without."""

    def is_linked(self) -> bool:
        """Whether the user's own git has any of them in a file that it shares with the store: there they stay."""

    def take_out(self) -> None:
        """Has all snapshots and events be without them, durably and all at once."""


class Maintenance(Protocol):
    """Expires, purges and erases what a store holds."""

    def expire(self, limits: Limits, keep: ObjectId | None, call: Call) -> tuple[int, int]:
        """Drops what is beyond the limits, but for one tree, and packs the rest; gives how many, and the bytes."""

    def expire_in_background(self, limits: Limits, keep: ObjectId | None, call: Call) -> int:
        """The same as long as the call goes on, and packs later; gives how many."""

    def purge_plan(self, paths: Collection[RelPath], call: Call) -> PurgePlan:
        """What is to go with some files, and where it stands."""

    @property
    def is_unpurged(self) -> bool:
        """Whether a purge was cut short, so that there may be contents still that nothing refers to."""

    def purge(self, purge_plan: PurgePlan | None, call: Call) -> int:
        """Takes contents out of every snapshot and event; None for what a purge before left; gives the bytes freed."""

    def finish_erasing(self) -> None:
        """Ends an `erase` that failed halfway; costs nothing where there was none. Raises `IoError`: it fails still."""

    def erase(self, call: Call) -> int:
        """Drops all snapshots, sessions and operations, and all that they held; gives the bytes freed."""

    def bytes_on_disk(self) -> int:
        """What the store takes, bytes."""
