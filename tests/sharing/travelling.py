"""A session as another machine would read it, without going there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import attrs

from snapd.core.actions.step_changes import StepChanges
from snapd.model.call import Call
from snapd.model.snapshot import Coverage, ObjectId, Snapshot
from snapd.model.timeline import Event, SnapshotId, StepId, Summary
from snapd.sharing.projection import Exclusions, Projection
from snapd.store.coverage import encode
from snapd.store.store import Store
from snapd.store.timeline.chain import NO_OBJECT, ChainLink
from snapd.store.timeline.codec import encode_event
from snapd.store.timeline.database import Database
from snapd.store.timeline.timeline import TimelineView
from tests.support.workspace import Bench

T = TypeVar("T")


class Copied(TimelineView):
    """The timeline of these events alone."""

    def __init__(self, events: list[Event]) -> None:
        previous = [None, *(event.seq for event in events)]
        links = (
            ChainLink("chain", NO_OBJECT, NO_OBJECT, event, encode_event(event, before))
            for event, before in zip(events, previous, strict=False)
        )
        self._database = Database.made(None, links)
        self.epoch = 0
        self._lock = threading.RLock()

    def _ask(self, question: Callable[[Database], T]) -> T:
        return question(self._database)

    @property
    def next_seq(self) -> int:
        return (self._previous() or 0) + 1

    def keep_summary(self, step_id: StepId, summary: Summary, next_seq: int) -> None:
        self._database.keep_summary(step_id, summary)


@attrs.frozen
class IntoTheStore:
    """Puts the copy where the session itself is."""

    store: Store

    def tree(self, data: bytes) -> ObjectId:
        with self.store.batch() as batch:
            oid = batch.encoded_tree(data)
            batch.commit()
        return oid

    def read_tree(self, oid: ObjectId) -> None:
        return None

    def snapshot(self, tree: ObjectId, coverage: Coverage) -> SnapshotId:
        self.store.store_blob(encode(coverage))
        return self.store.identify(Snapshot(tree, coverage))


class Travelled:
    """A session, as far as it travels.

    Args:
        bench: where it is.
        session: its name.
        exclude: patterns of the files that do not travel.
    """

    def __init__(self, bench: Bench, session: str, *exclude: str) -> None:
        workspace = bench.workspace
        store: Store = workspace.store
        changes = workspace.step_changes
        into, left_out = IntoTheStore(store), Exclusions(exclude)
        projection = Projection([session], store.timeline, store, changes.authors, into, left_out)
        self.events = list(projection.events(Call()))
        self.timeline = Copied(self.events)
        self.changes = StepChanges(store, self.timeline, changes.texts)

    def named(self) -> Iterator[SnapshotId]:
        """Every snapshot that it names."""
        for event in self.events:
            if event.head is not None:
                yield event.head
            if event.seen is not None:
                yield from (event.seen.before, event.seen.after)
