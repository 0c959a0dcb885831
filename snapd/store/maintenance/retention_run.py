"""Keeps a store small: drops what retention does not keep, and repacks the rest.

Packing needs space for a second copy of what it packs; without it, packing is skipped and logged. A note is kept from
before references are removed until their objects are swept, which a crash would otherwise prevent.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from itertools import accumulate

from snapd.failpoints import failpoint
from snapd.model.call import Call
from snapd.model.retention import Limits, Removal, droppable, expired, union
from snapd.model.snapshot import ObjectId
from snapd.store.files.quarantine import remove_quarantine
from snapd.store.files.space import PROJECT
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
    """Maintains one store. Nothing else may write to it meanwhile."""

    def __init__(
        self, repository: ShadowRepository, timeline: Timeline, notes: Notes, scheduler: MaintenanceScheduler
    ) -> None:
        self._repository = repository
        self._timeline = timeline
        self._notes = notes
        self._scheduler = scheduler

    def clean(self, limits: Limits, keep: ObjectId | None, call: Call) -> tuple[int, int]:
        """Drops snapshots and events beyond the limits, and repacks the rest; returns their number and the bytes freed.

        The tree `keep` stays however old it is, with its newest snapshot. Can be cancelled until the first snapshot is
        dropped. After an error, some snapshots may be dropped; the others are whole.
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
        """Returns what `clean` would drop, and how much that frees without packing the rest; arguments as there."""
        inventory = self._timeline.inventory()
        gone = union([expired(inventory, limits, _trees(keep)), self._over_limit(limits, keep, call)])
        return inventory.count(gone), self._weights([gone], keep, call)[0]

    def clean_while_idle(self, limits: Limits, keep: ObjectId | None, call: Call) -> int:
        """Does the same until another client wants to write; returns the number of snapshots dropped.

        The limit of size is applied only if no repack is due, which could change the size. `Cancelled` may come
        halfway.
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
        """Removes every unreachable object from every pack, after `note_wholly`; on error, the next sweep retries."""
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
        """Determines what to drop so that the store is not larger than the limit."""
        if limits.max_bytes is None:
            return Removal()
        # nothing that is dropped here would make fetched sessions smaller, or what the project's git had
        project = unlinked_bytes(os.path.join(self._repository.path, PROJECT))
        excess = unlinked_bytes(self._repository.path, MIRRORS) - project - limits.max_bytes
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
        """Returns the bytes on disk that dropping each piece frees, after the pieces before it are dropped."""
        snapshots = {seq: at for at, piece in enumerate(pieces) for seq in piece.snapshots}
        chains = {name: at for at, piece in enumerate(pieces) for name in piece.chains}
        roots: dict[int, list[tuple[ObjectId, ...]]] = {}
        for name, seq, root in self._timeline.roots():
            roots.setdefault(snapshots.get(seq, chains.get(name, len(pieces))), []).append(root)
        size = sizes(self._repository.objects).own
        seen: set[ObjectId] = set()
        # from the end: what stays, then each piece before that is dropped
        matches = [
            sum(size.get(oid, 0) for oid in reach(self._repository, roots.get(at, ()), keep, seen, call))
            for at in reversed(range(len(pieces) + 1))
        ]
        return matches[:0:-1]


def _trees(keep: ObjectId | None) -> tuple[ObjectId, ...]:
    return (keep,) if keep is not None else ()
