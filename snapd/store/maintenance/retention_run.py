"""Keeps a store small: drops what retention does not keep, and repacks the rest.

Packing needs space for a second copy of what it packs; without it, packing is skipped with a line in the log. Dropping
needs hardly any space, so it works on a full disk. A note says from before references are removed until their objects
are gone that these are to be swept: without it, a crash would leave objects until something is dropped again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import accumulate

from snapd.failpoints import failpoint
from snapd.model.call import Call
from snapd.model.retention import Limits, Removal, droppable, expired, union
from snapd.model.snapshot import ObjectId
from snapd.store.files.quarantine import remove_quarantine
from snapd.store.maintenance.sweep import sizes, unlinked_bytes
from snapd.store.notes import SWEEP, Notes
from snapd.store.repository import ShadowRepository
from snapd.store.timeline.timeline import Timeline

from .erase import MIRRORS
from .repack import drop_packing, drop_unindexed
from .scheduler import MaintenanceScheduler
from .sweep import expire, reach, remove_tempfiles

PARTLY, WHOLLY = "partly", "wholly"

logger = logging.getLogger(__name__)


class Maintenance:
    """Maintains one store. Nobody may write to it meanwhile.

    Args:
        repository: of the store.
        timeline: its events.
        notes: of the store.
        scheduler: repacks it.
    """

    def __init__(
        self, repository: ShadowRepository, timeline: Timeline, notes: Notes, scheduler: MaintenanceScheduler
    ) -> None:
        self._repository = repository
        self._timeline = timeline
        self._notes = notes
        self._scheduler = scheduler

    def clean(self, limits: Limits, keep: ObjectId | None, call: Call) -> tuple[int, int]:
        """Drops snapshots and events beyond the limits, and repacks the rest.

        Args:
            limits: what to keep.
            keep: a tree that stays however old it is, with its newest snapshot if there is one.
            call: the request; can be cancelled until the first snapshot is dropped.

        Returns:
            The number of snapshots that were dropped, and the bytes that were freed.

        Raises:
            StoreCorrupt, StorageFull, IoError: some snapshots may be dropped; the others are whole.
            Cancelled: nothing was dropped.
        """
        self._begin()
        before = self._repository.bytes_on_disk()
        removed = self._drop_expired(limits, keep, call)
        self._pack(call)
        while (more := self._over_limit(limits, keep, call)).snapshots or more.chains:
            removed += self._drop(more, keep, call)
            self._pack(call)
        return removed, max(0, before - self._repository.bytes_on_disk())

    def foretell(self, limits: Limits, keep: ObjectId | None, call: Call) -> tuple[int, int]:
        """Says what `clean` would drop, and how much that frees without packing the rest; arguments as there."""
        inventory = self._timeline.inventory()
        gone = union([expired(inventory, limits, _trees(keep)), self._over_limit(limits, keep, call)])
        return inventory.count(gone), self._weights([gone], keep, call)[0]

    def clean_while_idle(self, limits: Limits, keep: ObjectId | None, call: Call) -> int:
        """Does the same until somebody else wants to write; gives the number of snapshots that were dropped.

        The limit of size is applied only if no repack is due, which could change the size. Arguments and errors as of
        `clean`, but after `Cancelled` some snapshots may be dropped.
        """
        if self._scheduler.is_running:
            return 0
        self._begin()
        removed = self._drop_expired(limits, keep, call)
        if not self._scheduler.catch_up(all_of_it=removed > 0):
            removed = self._drop(self._over_limit(limits, keep, call), keep, call)
            self._scheduler.catch_up(all_of_it=removed > 0)
        return removed

    def sweep_wholly(self, call: Call) -> None:
        """Removes every unreachable object from every pack, after `note_wholly`.

        Raises:
            StoreCorrupt, StorageFull, IoError: some are left; the next sweep removes them.
        """
        self._sweep(None, call)
        self._pack(call)

    def note_wholly(self) -> None:
        """Notes durably that references are about to be removed, and that none of their objects may stay."""
        self._notes.keep(SWEEP, WHOLLY)

    @property
    def is_unpurged(self) -> bool:
        """Whether the sweep that `note_wholly` announced is not finished."""
        return self._pending == WHOLLY

    @property
    def _pending(self) -> str | None:
        return self._notes.get(SWEEP)

    def _begin(self) -> None:
        self._scheduler.stop()
        # a replay must not set a reference back to something that is dropped here
        self._repository.journal.checkpoint()

    def _drop_expired(self, limits: Limits, keep: ObjectId | None, call: Call) -> int:
        remove_tempfiles(self._repository.path)
        return self._drop(expired(self._timeline.inventory(), limits, _trees(keep)), keep, call)

    def _drop(self, gone: Removal, keep: ObjectId | None, call: Call) -> int:
        if not gone and self._pending is None:
            return 0
        call.commit()
        removed = 0
        if gone:
            removed = self._timeline.inventory().count(gone)
            self._notes.keep(SWEEP, self._pending or PARTLY)
            failpoint("sweep.timeline")
            self._timeline.drop(gone.chains, gone.snapshots)
        self._sweep(keep, call)
        return removed

    def _sweep(self, keep: ObjectId | None, call: Call) -> None:
        repository, wholly = self._repository, self.is_unpurged
        if wholly:
            # temporary files and the quarantine may hold contents that must go
            remove_tempfiles(repository.path, at_once=True)
            drop_packing(repository)
            remove_quarantine(repository.path)
        # their objects are removed next: a power cut must not bring the references back without them
        repository.references.sync()
        roots = [root for _, _, root in self._timeline.roots()]
        expire(repository, roots, keep, call, wholly=wholly)
        if drop_unindexed(repository) or not wholly:
            self._notes.keep(SWEEP, None)

    def _pack(self, call: Call) -> None:
        call.check()
        self._scheduler.repack_all(call)

    def _over_limit(self, limits: Limits, keep: ObjectId | None, call: Call) -> Removal:
        """What to drop so that the store is not larger than the limit."""
        if limits.max_bytes is None:
            return Removal()
        # nothing that is dropped here would make fetched sessions smaller
        excess = unlinked_bytes(self._repository.path, MIRRORS) - limits.max_bytes
        pieces = droppable(self._timeline.inventory(), limits.now, _trees(keep)) if excess > 0 else []
        if not pieces:
            if excess > 0:
                logger.warning(
                    "%s is %d bytes larger than its limit, and nothing more can be dropped",
                    self._repository.path,
                    excess,
                )
            return Removal()
        freed = accumulate(self._weights(pieces, keep, call))
        count = next((count for count, sum_ in enumerate(freed, 1) if sum_ >= excess), len(pieces))
        return union(pieces[:count])

    def _weights(self, pieces: Sequence[Removal], keep: ObjectId | None, call: Call) -> list[int]:
        """The bytes on disk that dropping each piece frees, after the pieces before it are dropped."""
        snapshots = {seq: at for at, piece in enumerate(pieces) for seq in piece.snapshots}
        chains = {name: at for at, piece in enumerate(pieces) for name in piece.chains}
        roots: dict[int, list[tuple[ObjectId, ...]]] = {}
        for name, seq, root in self._timeline.roots():
            roots.setdefault(snapshots.get(seq, chains.get(name, len(pieces))), []).append(root)
        size = sizes(self._repository.objects).own
        seen: set[ObjectId] = set()
        # from the end: what stays, then each piece before that is dropped
        found = [
            sum(size.get(oid, 0) for oid in reach(self._repository, roots.get(at, ()), keep, seen, call))
            for at in reversed(range(len(pieces) + 1))
        ]
        return found[:0:-1]


def _trees(keep: ObjectId | None) -> tuple[ObjectId, ...]:
    return (keep,) if keep is not None else ()
