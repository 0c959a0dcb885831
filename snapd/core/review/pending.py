"""Tracks the files with agents' changes that were not accepted yet, event by event."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Mapping

import attrs
import pygit2

from snapd.core.compare.edits import hunks
from snapd.core.compare.text import is_binary
from snapd.core.review.baseline import Baseline
from snapd.core.review.changes import Attributor, FileChange, Texts, list_files
from snapd.core.review.fold import FileFold, FileHistory, FoldSummary, PendingFile, PendingHunk, PendingTexts
from snapd.model.snapshot import SYMLINK, TEN_MIB, Entry, RelPath
from snapd.model.timeline import Event, FileSummary, Kept, Operated, StepId
from snapd.store.object_store import ObjectStore
from snapd.store.timeline.timeline import Timeline

_DIGITS = 32
_FOLD_VERSION = 1
"""Changes with what is folded from the same events: folds that another snapd kept are not used."""


def view(fold: FileFold, texts: Texts) -> PendingTexts:
    """Returns the pending changes of a file that has some."""
    pending = fold.pending
    assert pending is not None
    is_text = fold.is_text and pending.is_text
    before, after = (b"".join(pending.lines), b"".join(fold.lines)) if is_text else (b"", b"")
    sides = (pending.entry, fold.now)
    sizes = (texts.blobs.blob_size(entry.oid) for entry in sides if entry is not None)
    if not is_text and all(entry is None or entry.mode == SYMLINK for entry in sides):
        # as git does, the text of a link is its target
        before, after = (b"" if entry is None else texts.blobs.read_blob(entry.oid) for entry in sides)
    result = hunks(before, after, texts.differ, texts.call)
    blocks = list(pending.blocks(fold.writers)) if is_text else []
    found_hunks = []
    for hunk in result:
        owners = dict.fromkeys(
            step
            for block in blocks
            if _combine_move((block.base_start, block.base_end), hunk.old)
            and _combine_move((block.start, block.end), hunk.new)
            for step in block.steps
        )
        found_hunks.append(PendingHunk(hunk, tuple(owners or pending.steps)))
    owners = dict.fromkeys(step for hunk in found_hunks for step in hunk.owners) or pending.steps
    binary = not is_text and any(_is_binary(entry, texts) for entry in sides)
    summary = FileSummary(
        fold.path,
        "added" if pending.mode is None else "deleted" if fold.now is None else "modified",
        sum(line.startswith("+") for hunk in result for line in hunk.lines),
        sum(line.startswith("-") for hunk in result for line in hunk.lines),
        binary,
        renamed_from=pending.path if pending.mode is not None and pending.path != fold.path else None,
    )
    return PendingTexts(
        file=PendingFile(summary, _id(fold, pending), len(found_hunks), tuple(owners)),
        hunks=tuple(found_hunks),
        before=before,
        after=after,
        old_mode=pending.mode,
        new_mode=None if fold.now is None else fold.now.mode,
        too_large=not is_text and not binary and any(size > TEN_MIB for size in sizes),
    )


def listed(file: FileFold | FoldSummary, texts: Texts) -> PendingFile:
    """Returns a file's entry in a list of pending files."""
    if isinstance(file, FoldSummary):
        assert file.pending is not None
        return file.pending
    if file.shown is None:
        file.shown = view(file, texts).file
    return file.shown


def _combine_move(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) <= min(one[1], other[1])


def _is_binary(entry: Entry | None, texts: Texts) -> bool:
    if entry is None or entry.mode == SYMLINK:
        return False
    data = texts.blobs.read_small_blob(entry.oid, TEN_MIB)
    return data is not None and is_binary(data)


def _id(fold: FileFold, pending: Baseline) -> str:
    """Returns an id of what is shown, which is stable as long as baseline and file are."""
    opaque = pending.entry.oid if pending.entry is not None and not pending.is_text else b""
    now = (b"", b"") if fold.now is None else (fold.now.oid, b"%o" % fold.now.mode)
    digest = hashlib.sha256()
    for part in (fold.path, pending.path, b"%o" % (pending.mode or 0), opaque, b"".join(pending.lines), *now):
        digest.update(b"%d " % len(part) + part)
    return digest.hexdigest()[:_DIGITS]


WITH_TEXTS = 200
"""How many files keep their texts, of any length: those that were changed last."""
WITH_LINES = 50_000
"""The total number of lines up to which more files keep their texts, some 8 MiB.

A file without texts is folded from its whole history when it changes.
"""


@attrs.frozen
class NotReadYet:
    """A file whose changes were not folded yet: one fold suffices for all the changes of a long history."""

    path: RelPath


Remembered = FileFold | FoldSummary | NotReadYet


def _summarize(fold: FileFold, texts: Texts) -> FoldSummary:
    pending = None if fold.pending is None else listed(fold, texts)
    return FoldSummary(fold.path, fold.baseline_path, fold.is_gone, pending)


class RememberedFiles:
    """Files with pending changes, and some that had any."""

    def __init__(self) -> None:
        self._files: dict[RelPath, Remembered] = {}
        # the numbers of lines of files that can drop their texts, the latest changed last
        self._awake: dict[RelPath, int] = {}
        self._lines = 0
        self._unfolded: dict[RelPath, None] = {}
        self._away: dict[RelPath, None] = {}

    def get(self, path: RelPath) -> Remembered | None:
        """Returns the file at a path."""
        return self._files.get(path)

    def __iter__(self) -> Iterator[Remembered]:
        return iter(self._files.values())

    @property
    def unfolded(self) -> list[RelPath]:
        """The files whose changes must be folded; the one that was changed last is at the end."""
        return list(self._unfolded)

    @property
    def away(self) -> Iterable[RelPath]:
        """The files for which `is_away` holds."""
        return self._away

    def put(self, path: RelPath, file: Remembered | None) -> None:
        """Replaces the file at a path; None removes it."""
        self._files.pop(path, None)
        self._lines -= self._awake.pop(path, 0)
        for names in (self._unfolded, self._away):
            names.pop(path, None)
        if file is None:
            return
        self._files[path] = file
        if isinstance(file, NotReadYet):
            self._unfolded[path] = None
        elif is_away(file):
            self._away[path] = None
        if isinstance(file, FileFold) and file.is_own:
            self._awake[path] = len(file.lines)
            self._lines += len(file.lines)

    def compact(self, texts: Texts) -> None:
        """Drops the texts of the files that were changed longest ago, and those of them with nothing pending."""
        while len(self._awake) > WITH_TEXTS and self._lines > WITH_LINES:
            path = next(iter(self._awake))
            fold = self._files[path]
            assert isinstance(fold, FileFold)
            if fold.pending is None:
                self.put(path, None)
            else:
                self.put(path, _summarize(fold, texts))


class Draft:
    """The remembered files after some more changes, which may be dropped: `remembered` is not changed."""

    def __init__(self, remembered: RememberedFiles) -> None:
        self._remembered = remembered
        self._changed: dict[RelPath, Remembered | None] = {}
        # few files were moved and then removed; a step may change thousands
        self._away: dict[RelPath, None] = {}

    @property
    def changed(self) -> Mapping[RelPath, Remembered | None]:
        """The files that differ from the remembered ones, by path; None for no file."""
        return self._changed

    def get(self, path: RelPath) -> Remembered | None:
        """Returns the file at a path."""
        return self._changed[path] if path in self._changed else self._remembered.get(path)

    def pop(self, path: RelPath) -> Remembered | None:
        """Removes and returns a file."""
        remembered = self.get(path)
        self.put(path, None)
        return remembered

    def put(self, path: RelPath, file: Remembered | None) -> None:
        """Replaces the file at a path; None removes it."""
        # what changes again moves to the end
        self._changed.pop(path, None)
        self._changed[path] = file
        if isinstance(file, FileFold | FoldSummary) and is_away(file):
            self._away[path] = None

    def away_from(self, path: RelPath) -> FileFold | FoldSummary | None:
        """Returns a file that an agent moved away from a path and that was removed then; None if there is none."""
        for file in map(self.get, (*self._remembered.away, *self._away)):
            if isinstance(file, FileFold | FoldSummary) and is_away(file) and file.baseline_path == path:
                return file
        return None

    def files(self) -> Iterator[FileFold | FoldSummary]:
        """Yields all files except those still to be folded."""
        kept = (file for file in self._remembered if file.path not in self._changed)
        for file in (*kept, *self._changed.values()):
            if isinstance(file, FileFold | FoldSummary):
                yield file


def is_away(file: FileFold | FoldSummary) -> bool:
    """Whether a file was moved and then removed: what comes back at the old path may be this file."""
    return file.is_gone and file.baseline_path not in (None, file.path)


class PendingFiles:
    """Tracks the timeline of one workspace. Thread-safe.

    Once a step has ended, the attribution of its changes is settled. What follows from settled events is kept, so a
    query only costs what happened since.
    """

    def __init__(self, timeline: Timeline, objects: ObjectStore, attributor: Attributor) -> None:
        self._timeline = timeline
        self._objects = objects
        self._history = FileHistory(timeline, attributor, is_reviewed=True)
        self._attributor = attributor
        self._lock = threading.Lock()
        self._settled = _SettledState(-1)

    def at(self, last: int, unrecorded: Iterable[FileChange], texts: Texts) -> Mapping[RelPath, FileFold | FoldSummary]:
        """Returns the files with pending changes, by path, after event number `last` and the changes since."""
        with texts.call.holding(self._lock):
            list_files(self._timeline, self._objects, texts.call)
            since = self._timeline.epoch, self._timeline.next_seq
            # once a client ends an abandoned step by id, the step owns more
            if self._settled.epoch != self._timeline.epoch or any(
                len(self._timeline.spans(step_id)) != count for step_id, count in self._settled.left.items()
            ):
                self._settled = _SettledState(self._timeline.epoch)
            opened = {step.step_id for step in self._timeline.open_steps()}
            rows = [row for row in self._timeline.touched_since(self._settled.seq) if row.seq <= last]
            unsettled: list[tuple[Event, list[FileChange]]] = []
            for event, changes in self._attributor.attributed(rows):
                is_at_work = event.seen is not None and not opened.isdisjoint(event.seen.steps)
                if unsettled or is_at_work:
                    unsettled.append((event, changes))
                else:
                    self._settle(event, changes, texts)
            self._fold_all(texts, *since)
            draft = Draft(self._settled.files)
            for event, changes in unsettled:
                self._add(draft, changes, event.seq, texts)
            self._add(draft, unrecorded, last + 1, texts)
            return {file.path: file for file in draft.files() if file.baseline_path is not None}

    def fold(self, file: FileFold | FoldSummary, texts: Texts) -> FileFold:
        """Returns the texts of a file that `at` returned."""
        if isinstance(file, FileFold):
            return file
        with texts.call.holding(self._lock):
            file_fold = self._history.before(file.path, self._settled.seq + 1, texts)
        assert file_fold is not None
        return file_fold

    def _settle(self, event: Event, changes: Iterable[FileChange], texts: Texts) -> None:
        """Adds an event whose attribution is final; if it fails, nothing of it was added."""
        settled = self._settled
        texts.call.check()
        draft = Draft(settled.files)
        # the history cannot be read again between the two parts of an event
        is_found_again = event.seen is None or not isinstance(event.what, Operated | Kept)
        self._add(draft, changes, event.seq, texts, may_wait=is_found_again)
        left = () if event.seen is None else event.seen.left
        settled.left.update({step_id: len(self._timeline.spans(step_id)) for step_id in left})
        for path, file in draft.changed.items():
            settled.files.put(path, file)
        settled.seq = event.seq
        settled.files.compact(texts)

    def _fold_all(self, texts: Texts, epoch: int, next_seq: int) -> None:
        """Folds the files that wait for it, except for those whose folds the timeline has kept."""
        files, last = self._settled.files, self._settled.seq
        left = sorted(self._settled.left.items())
        basis = f"{_FOLD_VERSION} {pygit2.LIBGIT2_VERSION} {left}"
        folded: dict[RelPath, FoldSummary] = {}
        for path in files.unfolded:
            file: FileFold | FoldSummary | None = self._timeline.fold_of(path, last, basis, FoldSummary)
            if file is None:
                file = self._history.before(path, last + 1, texts)
                if file is not None:
                    folded[path] = _summarize(file, texts)
            files.put(path, file)
            files.compact(texts)
        if folded:
            self._timeline.keep_folds(folded, last, basis, epoch, next_seq)

    def _add(
        self, draft: Draft, changes: Iterable[FileChange], seq: int, texts: Texts, *, may_wait: bool = False
    ) -> None:
        """Adds changes of event `seq`, some of which may be folded later."""
        for change in changes:
            if may_wait and _can_wait(change, draft):
                draft.put(change.path, NotReadYet(change.path))
                continue
            is_taken = self._is_taken(change, draft, seq, texts)
            for each in _split_move(change) if is_taken else (change,):
                fold = self._match(each, draft, seq, texts)
                if fold is not None:
                    fold.add(each, texts)
                    fold.is_own = fold.is_own and not is_taken
                    draft.put(fold.path, fold)

    def _match(self, change: FileChange, draft: Draft, seq: int, texts: Texts) -> FileFold | None:
        """Removes a change's file from a draft; None if nothing of it is pending, and the change adds nothing."""
        name = change.source or change.path
        file_fold = self._folded(draft.pop(name), seq, texts)
        former = self._folded(draft.pop(change.path), seq, texts)
        away = draft.away_from(name)
        if away is not None:
            # an agent moved it, and it comes back with other contents
            moved = self._folded(away, seq, texts)
            assert moved is not None
            is_free = change.old is None and (file_fold is None or file_fold.pending is None)
            if is_free or moved.is_baseline(name, change.new, texts):
                moved.is_own = False
                former, file_fold = former or file_fold, moved
                draft.put(away.path, None)
        if file_fold is None:
            if _adds_nothing(change):
                return None
            file_fold = self._history.before(name, seq, texts) or FileFold.begun(name, change.old, texts)
        if former is not None:
            file_fold.remember(former)
        return file_fold

    def _folded(self, file: Remembered | None, seq: int, texts: Texts) -> FileFold | None:
        """Returns a file with its texts as it was before an event, for modification."""
        if file is None:
            return None
        return file.copy() if isinstance(file, FileFold) else self._history.before(file.path, seq, texts)

    def _is_taken(self, change: FileChange, draft: Draft, seq: int, texts: Texts) -> bool:
        """Whether a file is moved to a place that has pending changes of its own."""
        there = None if change.source is None else draft.get(change.path)
        if isinstance(there, NotReadYet):
            there = self._folded(there, seq, texts)
            draft.put(change.path, there)
        return there is not None and there.baseline_path is not None


@attrs.define
class _SettledState:
    """The result of the events up to number `seq`, whose attribution is final.

    `left` has the abandoned steps, and how many spans each had then.
    """

    epoch: int
    seq: int = 0
    files: RememberedFiles = attrs.field(factory=RememberedFiles)
    left: dict[StepId, int] = attrs.field(factory=dict)


def _adds_nothing(change: FileChange) -> bool:
    """Whether a change leaves nothing pending, if nothing was before."""
    return change.nature == "keep" or (change.nature == "person" and not change.brings_back)


def _can_wait(change: FileChange, draft: Draft) -> bool:
    """Whether a file's fold is not needed for the next changes: it stays where it was, if it was anywhere."""
    there = draft.get(change.path)
    if isinstance(there, FileFold) or change.source is not None or change.new is None:
        return False
    if change.old is None and draft.away_from(change.path) is not None:
        return False
    return there is not None or not _adds_nothing(change)


def _split_move(change: FileChange) -> tuple[FileChange, FileChange]:
    """Returns a move to a place that has pending changes of its own as two changes."""
    assert change.source is not None
    went = attrs.evolve(change, path=change.source, new=None, source=None)
    return went, attrs.evolve(change, old=None, source=None)
