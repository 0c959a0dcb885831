"""Keeps a store as small as it should be: drops what retention does not keep, and packs what stays.

Packing needs room for a second copy of what it packs; where that is not there, it is told in the log and left out.
What is dropped needs hardly any, so that a full disk can always be helped.
"""

from __future__ import annotations

import logging
from itertools import accumulate
from typing import TYPE_CHECKING

from snapd.core.errors import StorageFull
from snapd.core.model import EMPTY_TREE, TREE, ObjectId
from snapd.core.rules.retention import Inventory, Removal, SnapshotDate, droppable, expired, union
from snapd.failpoints import failpoint
from snapd.store.files.quarantine import remove_quarantine

from .cancel_token import Revoked
from .pending_sweep import PendingSweep
from .repack import drop_packing, drop_unindexed
from .sizes import own_bytes, sizes
from .sweep import expire, held_by
from .tempfiles import sweep_leftovers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.core.call import Call
    from snapd.core.rules.retention import Limits
    from snapd.store.log import SnapshotLog
    from snapd.store.repository import ShadowRepository
    from snapd.store.timeline import Timeline

    from .scheduler import MaintenanceScheduler

logger = logging.getLogger(__name__)


class Maintenance:
    """What is done to one store now and then. Nobody may write to it meanwhile.

    Args:
        repository: it.
        log: its snapshots.
        timeline: its events.
        upkeep: packs it.
    """

    def __init__(
        self, repository: ShadowRepository, log: SnapshotLog, timeline: Timeline, upkeep: MaintenanceScheduler
    ) -> None:
        self._repository = repository
        self._log = log
        self._timeline = timeline
        self._upkeep = upkeep
        self._unswept = PendingSweep(repository.path)

    def clean(self, limits: Limits, keep: ObjectId | None, call: Call) -> tuple[int, int]:
        """Drops what is beyond the limits, and packs the rest anew.

        Args:
            limits: what is to be kept.
            keep: a tree that stays, with its newest snapshot if there is one, however old.
            call: the request; may be cancelled until the first thing goes.

        Returns:
            How many snapshots were dropped, and the bytes freed.

        Raises:
            StoreCorrupt, StorageFull, IoError: some may be dropped; what is left is whole.
            Cancelled: nothing was dropped.
        """
        self._begin()
        before = self._repository.bytes_on_disk()
        sweep_leftovers(self._repository.path)
        removed = self._drop(expired(self._inventory(), limits, _trees(keep)), keep, call)
        self._pack(call)
        while (more := self._too_much(limits, keep, call)).snapshots or more.chains:
            removed += self._drop(more, keep, call)
            self._pack(call)
        return removed, max(0, before - self._repository.bytes_on_disk())

    def clean_behind(self, limits: Limits, keep: ObjectId | None, call: Call) -> int:
        """Drops what is beyond the limits, as long as nobody minds; packs behind, see `MaintenanceScheduler.catch_up`.

        Size is a matter only where no packing is due that could change it.

        Args:
            limits: as of `clean`.
            keep: as of `clean`.
            call: asked before each step whether it is to go on.

        Returns:
            How many snapshots were dropped.

        Raises:
            StoreCorrupt, StorageFull, IoError, Cancelled: some may be dropped, and the rest is as it was.
        """
        if self._upkeep.is_running:
            return 0
        self._begin()
        sweep_leftovers(self._repository.path)
        removed = self._drop(expired(self._inventory(), limits, _trees(keep)), keep, call)
        if not self._upkeep.catch_up(all_of_it=removed > 0):
            removed = self._drop(self._too_much(limits, keep, call), keep, call)
            self._upkeep.catch_up(all_of_it=removed > 0)
        return removed

    def sweep_wholly(self, call: Call) -> None:
        """Removes every object that nothing refers to, from every pack; `note_wholly` came before.

        Raises:
            StoreCorrupt, StorageFull, IoError: it is gone from all that refers to anything, and is swept next time.
        """
        self._sweep(None, call)
        self._pack(call)

    def note_wholly(self) -> None:
        """Notes durably that references are about to go, and that nothing of what they held is to stay."""
        self._unswept.note(wholly=True)

    @property
    def is_unpurged(self) -> bool:
        """Whether what `note_wholly` is about is not done."""
        return self._unswept.wholly

    def _begin(self) -> None:
        self._upkeep.stop()
        # a replay must not set a reference back to what is dropped here
        self._repository.journal.checkpoint()

    def _inventory(self) -> Inventory:
        times, chains, links = self._timeline.history()
        taken = [SnapshotDate(record.seq, record.seconds, record.tree) for record in self._log.records()]
        return Inventory(taken, self._log.newest, times, chains, links)

    def _drop(self, gone: Removal, keep: ObjectId | None, call: Call) -> int:
        if not gone and not self._unswept:
            return 0
        call.commit()
        removed = 0
        if gone:
            self._unswept.note(wholly=False)
            failpoint("expire.timeline")
            self._timeline.drop(gone.chains)
            failpoint("expire.log")
            removed = self._log.drop(gone.snapshots)
        self._sweep(keep, call)
        return removed

    def _sweep(self, keep: ObjectId | None, call: Call) -> None:
        repository, wholly = self._repository, self._unswept.wholly
        if wholly:
            # what a dead process left aside may have what is to go, and so may what was put aside as damaged
            sweep_leftovers(repository.path, at_once=True)
            drop_packing(repository)
            remove_quarantine(repository.path)
        # whoever was killed between a drop and this has left some
        self._log.drop_unused()
        roots = [*self._log.roots(), *self._timeline.roots()]
        expire(repository, roots, keep, call, wholly=wholly)
        if drop_unindexed(repository) or not wholly:
            self._unswept.forget()

    def _pack(self, call: Call) -> None:
        call.check()
        try:
            self._upkeep.consolidate_all(call)
        except Revoked:
            call.check()
            # what was asked for is done, and the rest is packed another time
            logger.info("%s: packing was broken off", self._repository.path)
        except StorageFull as error:
            # nothing is lost, and what was dropped may be just what makes room for it the next time
            logger.warning("%s could not be packed: %s", self._repository.path, error.message)

    def _too_much(self, limits: Limits, keep: ObjectId | None, call: Call) -> Removal:
        """What goes so that the store takes no more than it may."""
        if limits.max_bytes is None:
            return Removal()
        excess = own_bytes(self._repository.path) - limits.max_bytes
        pieces = droppable(self._inventory(), limits.now, _trees(keep)) if excess > 0 else []
        if not pieces:
            if excess > 0:
                logger.warning(
                    "%s takes %d bytes more than it may, and nothing more may go", self._repository.path, excess
                )
            return Removal()
        freed = accumulate(self._weights(pieces, keep, call))
        count = next((count for count, sum_ in enumerate(freed, 1) if sum_ >= excess), len(pieces))
        return union(pieces[:count])

    def _weights(self, pieces: Sequence[Removal], keep: ObjectId | None, call: Call) -> list[int]:
        """The bytes that each piece alone holds, where those before it are gone; as they lie on the disk now."""
        snapshots = {seq: place for place, piece in enumerate(pieces) for seq in piece.snapshots}
        chains = {name: place for place, piece in enumerate(pieces) for name in piece.chains}
        roots: dict[int, list[tuple[ObjectId, ...]]] = {}
        for seq, root in self._log.roots_by_seq():
            roots.setdefault(snapshots.get(seq, len(pieces)), []).append(root)
        for name, event in self._timeline.roots_by_chain():
            roots.setdefault(chains.get(name, len(pieces)), []).append(event)
        size = sizes(self._repository.objects).own
        seen = held_by(self._repository, roots.get(len(pieces), ()), keep, call)
        found = []
        for place in reversed(range(len(pieces))):
            new = self._new(roots.get(place, ()), seen, call)
            found.append(sum(size.get(oid, 0) for oid in new))
        return found[::-1]

    def _new(self, roots: Sequence[tuple[ObjectId, ...]], seen: set[ObjectId], call: Call) -> set[ObjectId]:
        """What is reachable and was not seen; it is from now on."""
        new: set[ObjectId] = set()
        pending: list[ObjectId] = []
        for commit, tree, *blobs in roots:
            new.update(oid for oid in (commit, *blobs) if oid not in seen)
            pending.append(tree)
        while pending:
            tree = pending.pop()
            if tree in seen or tree in new or tree == EMPTY_TREE:
                continue
            new.add(tree)
            call.check()
            for entry in self._repository.read_tree(tree):
                if entry.mode == TREE:
                    pending.append(entry.oid)
                elif entry.oid not in seen:
                    new.add(entry.oid)
        seen |= new
        return new


def _trees(keep: ObjectId | None) -> tuple[ObjectId, ...]:
    return (keep,) if keep is not None else ()
