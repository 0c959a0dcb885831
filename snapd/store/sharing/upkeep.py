"""Keeps a mirror small: drops old sessions, removes what nothing needs any more, and puts packs together."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from snapd.core.model import TREE
from snapd.core.timeline.model import MessageSent, StepBegun
from snapd.core.trees import everything_in, lookup
from snapd.store.maintenance.repack import drop_packing, drop_unindexed
from snapd.store.maintenance.scheduler import MaintenanceScheduler
from snapd.store.maintenance.sweep import expire, pack_names, remove_tempfiles
from snapd.store.objects.codec import decode_commit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from snapd.core.call import Call
    from snapd.core.model import ObjectId, RelPath

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
        """Does all of it now; arguments and errors as of `core.ports.sharing.Elsewhere.clean`."""
        with self.mirror.changing:
            self._scheduler.stop()
            dropped = self._drop(before)
            drop_packing(self.mirror.repository)
            if self._index.dropped(self._name):
                self._sweep(call)
            if len(pack_names(self.mirror.repository.pack_directory)) > 1:
                self._scheduler.repack_all(call)
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

    def with_any(
        self, paths: Collection[RelPath], contents: Collection[ObjectId], messages: Collection[str], call: Call
    ) -> list[str]:
        """The sessions and handovers that have any of some files, blobs or messages, by their references.

        Raises:
            StoreCorrupt, IoError, Cancelled: they cannot be read.
        """
        heads = {**self.mirror.heads(), **self.mirror.handover_heads()}
        return [name for name, head in heads.items() if self._has(name, head, paths, contents, messages, call)]

    def purge(self, names: Collection[str], call: Call) -> None:
        """Drops sessions and handovers, given by their references, and all that nothing else has.

        Raises:
            StoreCorrupt, StorageFull, IoError, Cancelled: some may be left; the same again removes it.
        """
        with self.mirror.changing:
            self._scheduler.stop()
            drop_packing(self.mirror.repository)
            self.mirror.drop(names)
            self._sweep(call, wholly=True)

    def _has(
        self,
        name: str,
        head: ObjectId,
        paths: Collection[RelPath],
        contents: Collection[ObjectId],
        messages: Collection[str],
        call: Call,
    ) -> bool:
        read = self.mirror.repository.read_tree
        seen: set[ObjectId] = set()
        for _, tree in self._commits(head, call):
            everything_in(read, tree, seen, call.check)
            snapshots = [entry.oid for entry in read(tree) if entry.mode == TREE]
            if any(lookup(self.mirror.repository.entry_in, each, path) for each in snapshots for path in paths):
                return True
        events = self.mirror.events_of(name, head) if messages else ()
        named = {event.what.message_id for event in events if isinstance(event.what, MessageSent | StepBegun)}
        return not (seen.isdisjoint(contents) and named.isdisjoint(messages))

    def close(self) -> None:
        """Ends a repack that runs."""
        self._scheduler.stop()

    def _drop(self, before: int) -> int:
        self.mirror.refresh()
        remove_tempfiles(self.mirror.repository.path)
        old = [session.chain for session in self._index.older_than(self._name, before)]
        return self.mirror.drop([*old, *self.mirror.handovers_before(before)])

    def _sweep(self, call: Call, *, wholly: bool = False) -> None:
        repository = self.mirror.repository
        repository.journal.checkpoint()
        expire(repository, self._roots(call), None, call, wholly=wholly)
        drop_unindexed(repository)
        self._index.note_swept(self._name)

    def _roots(self, call: Call) -> Iterator[tuple[ObjectId, ...]]:
        """The signatures, and the commits of all sessions with their trees, which have all that the events name."""
        yield from self.mirror.signatures.roots()
        for head in (*self.mirror.heads().values(), *self.mirror.handover_heads().values()):
            yield from self._commits(head, call)

    def _commits(self, head: ObjectId, call: Call) -> Iterator[tuple[ObjectId, ObjectId]]:
        """A commit and those before it, each with its tree."""
        commit: ObjectId | None = head
        while commit is not None:
            call.check()
            at = commit
            tree, commit = decode_commit(self.mirror.repository.read_commit(at), at)
            yield at, tree
