"""Drops the snapshots and sessions that retention does not keep, those that were fetched included."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from snapd.core.errors import Cancelled, WorkspaceNotOpen

if TYPE_CHECKING:
    from snapd.core.call import Call
    from snapd.core.model import ObjectId
    from snapd.core.operations.writer import Writer
    from snapd.core.ports.maintenance import Maintenance
    from snapd.core.ports.objects import Objects
    from snapd.core.ports.policy import Policy
    from snapd.core.ports.sharing import Elsewhere
    from snapd.core.rules.retention import Limits


class Cleanup:
    """Cleans up the store of one workspace.

    Args:
        writer: gives the right to write.
        objects: of the store.
        maintenance: of the store.
        policy: says what to keep for how long.
        elsewhere: the other machines.
    """

    def __init__(
        self, writer: Writer, objects: Objects, maintenance: Maintenance, policy: Policy, elsewhere: Elsewhere
    ) -> None:
        self._writer = writer
        self._objects = objects
        self._maintenance = maintenance
        self._policy = policy
        self._elsewhere = elsewhere

    def cleanup(self, older_than_days: float | None, call: Call) -> tuple[int, int]:
        """Drops what retention does not keep, and packs the rest.

        Args:
            older_than_days: used instead of the retention of the workspace; None for that.
            call: the request; may be cancelled until the first snapshot goes.

        Returns:
            How many snapshots went, and how many bytes that freed.

        Raises:
            StoreCorrupt, StorageFull, IoError, Cancelled: some of it may have gone; the rest goes the next time.
        """
        with self._writer.turn(call):
            self._objects.check_present()
            limits = self._policy.kept.limits(time.time(), older_than_days)
            removed, freed = self._maintenance.expire(limits, self._cached_tree(), call)
            before = self._maintenance.bytes_on_disk()
            self._elsewhere.clean(_before(limits), call)
            return removed, freed + max(0, before - self._maintenance.bytes_on_disk())

    def keep_house(self, now: float) -> int | None:
        """Does some of the same while nobody else wants to write; stops as soon as somebody does.

        Args:
            now: seconds since 1970.

        Returns:
            How many snapshots went; None where somebody was at work, or the workspace is closed.

        Raises:
            StoreCorrupt, StorageFull, IoError: some of it may have gone; the rest goes the next time.
        """
        try:
            with self._writer.idle_turn() as call:
                self._objects.check_present()
                limits = self._policy.kept.limits(now)
                removed = self._maintenance.expire_in_background(limits, self._cached_tree(), call)
                self._elsewhere.clean_in_background(_before(limits), call)
                return removed
        except (Cancelled, WorkspaceNotOpen):
            return None

    def _cached_tree(self) -> ObjectId | None:
        """The tree that has to stay because the work tree takes its objects for stored; None where there is none."""
        tree = self._writer.work_tree.tree
        if tree is None:
            # no tree says which objects the work tree takes for stored
            self._writer.work_tree.forget_all()
        return tree


def _before(limits: Limits) -> int:
    """The time before which fetched sessions go, milliseconds since 1970."""
    return int((limits.now - limits.older_than) * 1000)
