"""Finds the snapshots that a hash can mean: those of the folder, and those that came with fetched sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from snapd.core.seams import Elsewhere, Fetched
from snapd.model.call import Call
from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import ObjectId, Snapshot
from snapd.model.timeline import Session, SnapshotId, Step, StepQuery
from snapd.model.trees import everything_in
from snapd.store.object_store import ObjectStore
from snapd.store.store import Store

_MOST = 100
"""Fetched sessions that are looked at for one hash, or the beginning of one."""


@attrs.frozen
class KnownSnapshots:
    """Finds snapshots by their trees; every method raises `UnknownSnapshot` if none has that tree.

    Those of the folder come first, then those on which steps of fetched sessions began or ended.

    Args:
        elsewhere: the other machines.

    Attributes:
        store: of the folder.
    """

    store: Store
    _elsewhere: Elsewhere

    def of(self, tree: ObjectId) -> tuple[ObjectStore, Snapshot]:
        """A snapshot, and what has its objects."""
        if not self.store.log.knows(tree):
            for fetched, _, _, snapshot in self.fetched(tree.hex()):
                return fetched.objects, fetched.objects.load(snapshot)
        return self.store, self.store.log.find(tree)

    def both(self, old: ObjectId, new: ObjectId, call: Call) -> tuple[ObjectStore, Snapshot, Snapshot]:
        """Two snapshots, and what has the objects of both; raises as `here`."""
        (objects, before), (others, after) = self.of(old), self.of(new)
        if objects is others:
            return objects, before, after
        return self.store, self.here(old, call), self.here(new, call)

    def here(self, tree: ObjectId, call: Call) -> Snapshot:
        """A snapshot whose objects the store of the folder has from now on; raises as `take_over`."""
        for fetched, _, _, snapshot in () if self.store.log.knows(tree) else self.fetched(tree.hex()):
            take_over(self.store, fetched, (tree,), (), call)
            return fetched.objects.load(snapshot)
        return self.store.log.find(tree)

    def fetched(self, prefix: str) -> Iterator[tuple[Fetched, Session, Step, SnapshotId]]:
        """The snapshots with which steps of fetched sessions began or ended and whose hash begins with some digits."""
        for listed in self._elsewhere.with_steps(StepQuery("", hash=prefix), 0, _MOST):
            fetched = self._elsewhere.read(listed)
            for step in fetched.timeline.steps(listed.session.session_id):
                for snapshot in (step.from_, step.to):
                    if snapshot is not None and snapshot.tree.hex().startswith(prefix):
                        yield fetched, listed.session, step, snapshot


def take_over(
    store: Store, fetched: Fetched, trees: Iterable[ObjectId], others: Iterable[ObjectId], call: Call
) -> None:
    """Has the store of a folder get objects of elsewhere.

    Args:
        store: gets them.
        fetched: has them.
        trees: these directories, with everything in them.
        others: more objects.
        call: the request.

    Raises:
        StoreCorrupt: one is missing.
        StorageFull, IoError, Cancelled: some were not copied.
    """
    wanted: set[ObjectId] = set()
    for tree in trees:
        everything_in(fetched.objects.read_tree, tree, wanted, call.check)
    wanted.update(others)
    missing = wanted - store.adopt([fetched.directory], wanted)
    if missing:
        # another folder goes on meanwhile: what was packed just now is in the pack, which was not there to look at
        missing -= store.adopt([fetched.directory], missing)
    if missing:
        oid = min(missing).hex()
        raise StoreCorrupt(f"object {oid} of the other session is missing", object=oid)
