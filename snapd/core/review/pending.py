"""The files that agents changed and nobody has accepted yet: follows the timeline, event by event."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

import attrs

from snapd.model.snapshot import RelPath
from snapd.model.timeline import Event, Kept, Operated, StepId
from snapd.store.object_store import ObjectStore
from snapd.store.timeline.timeline import Timeline

from .changes import Attributor, FileChange, Texts, list_files
from .fold import FileFold, FileHistory, Rested
from .remembered import Draft, Remembered, RememberedFiles, Unfolded


class PendingFiles:
    """Follows the timeline of one workspace. Safe to use from several threads.

    Once a step has ended, whose its changes were is settled; what follows from settled events is kept, and every
    question costs what happened since.

    Args:
        timeline: of the workspace.
        objects: holds the snapshots.
        attributor: says whose changes were.
    """

    def __init__(self, timeline: Timeline, objects: ObjectStore, attributor: Attributor) -> None:
        self._timeline = timeline
        self._objects = objects
        self._history = FileHistory(timeline, attributor, is_reviewed=True)
        self._attributor = attributor
        self._lock = threading.Lock()
        self._settled = _Settled(-1)

    def at(self, last: int, unrecorded: Iterable[FileChange], texts: Texts) -> Mapping[RelPath, FileFold | Rested]:
        """Gives the files with pending changes, by their paths.

        Args:
            last: the number of the last event that counts.
            unrecorded: what changed since that event.
            texts: reads and compares files.

        Raises:
            StoreCorrupt: an object is missing or damaged.
            IoError, Cancelled: texts were not compared.
        """
        with texts.call.holding(self._lock):
            list_files(self._timeline, self._objects, texts.call)
            if self._settled.epoch != self._timeline.epoch or self._has_been_spoken_for(self._settled.left):
                self._settled = _Settled(self._timeline.epoch)
            opened = {step.step_id for step in self._timeline.open_steps()}
            rows = [row for row in self._timeline.touched_since(self._settled.seq) if row.seq <= last]
            unsettled: list[tuple[Event, list[FileChange]]] = []
            for event, changes in self._attributor.attributed(rows):
                if unsettled or _is_at_work(event, opened):
                    unsettled.append((event, changes))
                else:
                    self._settle(event, changes, texts)
            self._fold_all(texts)
            draft = Draft(self._settled.files)
            for event, changes in unsettled:
                self._add(draft, changes, event.seq, texts)
            self._add(draft, unrecorded, last + 1, texts)
            return {file.path: file for file in draft.files() if file.baseline_path is not None}

    def fold(self, file: FileFold | Rested, texts: Texts) -> FileFold:
        """Gives the texts of a file that `at` gave; raises as `at`."""
        if isinstance(file, FileFold):
            return file
        with texts.call.holding(self._lock):
            found = self._history.before(file.path, self._settled.seq + 1, texts)
        assert found is not None
        return found

    def _settle(self, event: Event, changes: Iterable[FileChange], texts: Texts) -> None:
        """Adds an event whose changes will not become somebody else's; if it fails, nothing of it was added."""
        settled = self._settled
        texts.call.check()
        draft = Draft(settled.files)
        # what an event did in two parts cannot be found again before both are done
        is_found_again = event.seen is None or not isinstance(event.what, Operated | Kept)
        self._add(draft, changes, event.seq, texts, may_wait=is_found_again)
        left = () if event.seen is None else event.seen.left
        settled.left.update({step_id: len(self._timeline.spans(step_id)) for step_id in left})
        for path, file in draft.changed.items():
            settled.files.put(path, file)
        settled.seq = event.seq
        settled.files.rest(texts)

    def _fold_all(self, texts: Texts) -> None:
        """Folds what waits for that."""
        files = self._settled.files
        for path in files.unfolded:
            files.put(path, self._history.before(path, self._settled.seq + 1, texts))
            files.rest(texts)

    def _add(
        self, draft: Draft, changes: Iterable[FileChange], seq: int, texts: Texts, *, may_wait: bool = False
    ) -> None:
        """Adds changes of the event with a number, some of which may be folded later."""
        for change in changes:
            if may_wait and _can_wait(change, draft):
                draft.put(change.path, Unfolded(change.path))
                continue
            is_taken = self._is_taken(change, draft, seq, texts)
            for each in _apart(change) if is_taken else (change,):
                fold = self._found(each, draft, seq, texts)
                if fold is not None:
                    fold.add(each, texts)
                    fold.is_own = fold.is_own and not is_taken
                    draft.put(fold.path, fold)

    def _found(self, change: FileChange, draft: Draft, seq: int, texts: Texts) -> FileFold | None:
        """Takes the file of a change out of a draft; None if nothing of it is pending, and the change adds nothing."""
        name = change.source or change.path
        found = self._folded(draft.pop(name), seq, texts)
        former = self._folded(draft.pop(change.path), seq, texts)
        away = draft.away_from(name)
        if away is not None:
            # an agent moved it, and somebody brings it back with other contents
            moved = self._folded(away, seq, texts)
            assert moved is not None
            is_free = change.old is None and (found is None or found.pending is None)
            if is_free or moved.is_baseline(name, change.new, texts):
                moved.is_own = False
                former, found = former or found, moved
                draft.put(away.path, None)
        if found is None:
            if _adds_nothing(change):
                return None
            found = self._history.before(name, seq, texts) or FileFold.begun(name, change.old, texts)
        if former is not None:
            found.remember(former)
        return found

    def _folded(self, file: Remembered | None, seq: int, texts: Texts) -> FileFold | None:
        """A file with its texts as it was before an event, to be changed."""
        if file is None:
            return None
        return file.copy() if isinstance(file, FileFold) else self._history.before(file.path, seq, texts)

    def _is_taken(self, change: FileChange, draft: Draft, seq: int, texts: Texts) -> bool:
        """Whether a file is moved to a place that has pending changes of its own."""
        there = None if change.source is None else draft.get(change.path)
        if isinstance(there, Unfolded):
            there = self._folded(there, seq, texts)
            draft.put(change.path, there)
        return there is not None and there.baseline_path is not None

    def _has_been_spoken_for(self, left: Mapping[StepId, int]) -> bool:
        """Whether somebody has spoken since for a step that was left: then more is its own."""
        return any(len(self._timeline.spans(step_id)) != count for step_id, count in left.items())


@attrs.define
class _Settled:
    """What follows from the events whose changes will not become somebody else's.

    Attributes:
        epoch: of the timeline.
        seq: the number of the last of these events.
        files: the files with pending changes, and some that had any.
        left: the steps that were left, and how many spans each had then.
    """

    epoch: int
    seq: int = 0
    files: RememberedFiles = attrs.field(factory=RememberedFiles)
    left: dict[StepId, int] = attrs.field(factory=dict)


def _is_at_work(event: Event, opened: AbstractSet[StepId]) -> bool:
    return event.seen is not None and not opened.isdisjoint(event.seen.steps)


def _adds_nothing(change: FileChange) -> bool:
    """Whether nothing is pending because of a change, if nothing was before."""
    return change.nature == "keep" or (change.nature == "person" and change.operation is None)


def _can_wait(change: FileChange, draft: Draft) -> bool:
    """Whether the fold of a file is not needed for the next changes: it goes on where it was, if it was anywhere."""
    there = draft.get(change.path)
    if isinstance(there, FileFold) or change.source is not None or change.new is None:
        return False
    if change.old is None and draft.away_from(change.path) is not None:
        return False
    return there is not None or not _adds_nothing(change)


def _apart(change: FileChange) -> tuple[FileChange, FileChange]:
    """A move to a place that has pending changes of its own, as two changes."""
    assert change.source is not None
    went = attrs.evolve(change, path=change.source, new=None, source=None)
    return went, attrs.evolve(change, old=None, source=None)
