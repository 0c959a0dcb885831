"""Gives an edit what is done to its files in the moment after it: by a formatter, as a rule."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from snapd.core.model import Snapshot
from snapd.core.timeline.attribution import owners
from snapd.core.timeline.model import Edited, Span
from snapd.core.trees import amended, changes

from .concurrent_edits import agreeing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from snapd.core.model import RelPath
    from snapd.core.ports.store import Store
    from snapd.core.ports.work_tree import WorkTree
    from snapd.core.timeline.attribution import Author
    from snapd.core.timeline.model import EventPayload, SnapshotId, StepId

MOMENT_SECONDS = 10.0
"""What is written later is nobody's but the user's, also where nobody says that the agent is gone."""


class RecentEdits:
    """The steps that have just ended and that still own what changes in the files that they claim.

    Such a step ends for good with the next beginning of a step or of a turn in its session, when somebody ends it once
    more, and with any operation. What an editor saves meanwhile is the user's (`EditorSaves`). It is kept in memory
    alone: after a restart, no moment is short enough.

    Args:
        work_tree: the folder.
        store: holds the snapshots and events.
        append: adds an event whose head is a snapshot, with what changed before it.
        span: makes the span from the last event to a snapshot, with the steps that are at work.

    Attributes:
        on_change: is called with the steps that own more than when they ended.
    """

    def __init__(
        self,
        work_tree: WorkTree,
        store: Store,
        append: Callable[[Snapshot, Span | None, EventPayload], None],
        span: Callable[[SnapshotId], Span | None],
    ) -> None:
        self._work_tree = work_tree
        self._store = store
        self._append = append
        self._span = span
        self._authors: dict[StepId, tuple[Author, int]] = {}
        self.on_change: Callable[[Iterable[StepId]], None] = lambda _: None

    @property
    def steps(self) -> tuple[StepId, ...]:
        """The steps, in the order in which they ended."""
        return tuple(self._authors)

    def add(self, step_id: StepId, author: Author) -> None:
        """Notes that a step has ended; `author` says what it claims."""
        self._authors[step_id] = (author, time.time_ns() + int(MOMENT_SECONDS * 1e9))

    def drop(self, step_ids: Collection[StepId] | None = None, session_id: str | None = None) -> None:
        """Ends steps for good: some, those of a session, or all."""
        for step_id, (author, _) in tuple(self._authors.items()):
            if step_id in (step_ids or ()) or author.session_id == session_id or (step_ids is session_id is None):
                del self._authors[step_id]

    def span(self, now: SnapshotId) -> Span | None:
        """Makes the span from the last event to a snapshot, with these steps, too."""
        span = self._span(now)
        return None if span is None else attrs.evolve(span, steps=(*span.steps, *self._authors))

    def settle(self, now: Snapshot) -> None:
        """Records what was done to the files of these steps since the last event.

        Args:
            now: the work tree, as just captured.

        Raises:
            StoreCorrupt, StorageFull, IoError: nothing was recorded.
        """
        if not self._authors:
            # a look costs no question
            return
        head = self._store.timeline.head
        if head is not None and head.tree != now.tree:
            self._record(head, now)
        passed = time.time_ns()
        self._authors = {step_id: each for step_id, each in self._authors.items() if each[1] >= passed}

    def _record(self, head: SnapshotId, now: Snapshot) -> None:
        authors = {step_id: author for step_id, (author, _) in self._authors.items()}
        found = {}
        steps: dict[StepId, None] = {}
        for change in changes(self._store.read_tree, head.tree, now.tree, differing=self._store.differing):
            at = self._changed_at(change.path)
            own = [step for step in owners(change.path, authors) if at <= self._authors[step][1]]
            if own:
                found[change.path] = change.new
                steps.update(dict.fromkeys(own))
        if found:
            before = self._store.load(head)
            with self._store.batch() as batch:
                tree = amended(self._store.read_tree, before.tree, found, batch.encoded_tree)
                batch.commit()
            snapshot = Snapshot(tree, agreeing(self._store.entry_in, tree, before.coverage))
            span = self.span(self._store.identify(snapshot))
            self._append(snapshot, span, Edited(tuple(sorted(found)), (), saved=False))
            self.on_change(steps)

    def _changed_at(self, path: RelPath) -> int:
        captured = self._work_tree.captured(path)
        return time.time_ns() if captured is None else captured.signature.ctime_ns
