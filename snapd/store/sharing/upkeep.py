"""Keeps a mirror small: drops old sessions, removes what nothing needs any more, and puts packs together."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from snapd.core.errors import StorageFull
from snapd.store.maintenance.cancel_token import Revoked
from snapd.store.maintenance.repack import drop_packing, drop_unindexed
from snapd.store.maintenance.scheduler import MaintenanceScheduler
from snapd.store.maintenance.sweep import expire, pack_names
from snapd.store.maintenance.tempfiles import remove_tempfiles
from snapd.store.objects.codec import decode_commit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.call import Call
    from snapd.core.model import ObjectId

    from .index import SessionIndex
    from .mirror import Mirror

logger = logging.getLogger(__name__)

_SHARE = 10
"""In the background, a mirror is swept once the sessions that were dropped are this part of those that it has: a sweep
reads the directories of all that stay."""


class Upkeep:
    """The maintenance of one mirror.

    Args:
        mirror: the mirror.
        index: of all mirrors.
        name: of this one in the index.

    Attributes:
        mirror: as given.
    """

    def __init__(self, mirror: Mirror, index: SessionIndex, name: str) -> None:
        self.mirror = mirror
        self._index = index
        self._name = name
        self._scheduler = MaintenanceScheduler(mirror.repository)

    def keep(self, before: int, call: Call) -> int:
        """Does all of it now.

        Args:
            before: milliseconds since 1970; sessions that nobody added to since then, and that were fetched before, are
                dropped.
            call: the request.

        Returns:
            How many sessions were dropped.

        Raises:
            StoreCorrupt, StorageFull, IoError, Cancelled: some of it may be done; the rest is done the next time.
        """
        with self.mirror.changing:
            self._scheduler.stop()
            dropped = self._drop(before)
            drop_packing(self.mirror.repository)
            if self._index.dropped(self._name):
                self._sweep(call)
            if len(pack_names(self.mirror.repository.pack_directory)) > 1:
                self._pack(call)
            return dropped

    def keep_in_background(self, before: int, call: Call) -> int:
        """Does some of the same: a repack goes on when this has returned. Arguments and errors as of `keep`."""
        if self._scheduler.is_running or not self.mirror.changing.acquire(blocking=False):
            return 0
        try:
            dropped = self._drop(before)
            if self._index.dropped(self._name) * _SHARE > self._index.count(self._name):
                self._sweep(call)
            self._scheduler.catch_up(all_of_it=False)
            return dropped
        finally:
            self.mirror.changing.release()

    def close(self) -> None:
        """Ends a repack that runs."""
        self._scheduler.stop()

    def _drop(self, before: int) -> int:
        self.mirror.refresh()
        remove_tempfiles(self.mirror.repository.path)
        old = [session.chain for session in self._index.older_than(self._name, before)]
        return self.mirror.drop([*old, *self.mirror.handovers_before(before)])

    def _pack(self, call: Call) -> None:
        try:
            self._scheduler.repack_all(call)
        except Revoked:
            call.check()
            # the request is done; the rest is packed another time
            logger.info("%s: packing was interrupted", self.mirror.repository.path)
        except StorageFull as error:
            logger.warning("%s could not be packed: %s", self.mirror.repository.path, error.message)

    def _sweep(self, call: Call) -> None:
        repository = self.mirror.repository
        repository.journal.checkpoint()
        expire(repository, self._roots(call), None, call)
        drop_unindexed(repository)
        self._index.note_swept(self._name)

    def _roots(self, call: Call) -> Iterator[tuple[ObjectId, ...]]:
        """The signatures, and the commits of all sessions with their trees, which have all that the events name."""
        yield from self.mirror.signatures.roots()
        for head in (*self.mirror.heads().values(), *self.mirror.handover_heads().values()):
            commit: ObjectId | None = head
            while commit is not None:
                call.check()
                at = commit
                tree, commit = decode_commit(self.mirror.repository.read_commit(at), at)
                yield at, tree
