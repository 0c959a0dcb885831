"""Folds the changes of one file: who wrote each line, and how much of the agents' work a person has accepted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import attrs

from snapd.core.compare.edits import Edit, Hunk
from snapd.core.compare.text import decode
from snapd.model.snapshot import Entry, RelPath
from snapd.model.timeline import FileSummary, OperationId, StepId
from snapd.store.timeline.timeline import Timeline

from .baseline import Baseline, DeletedLines, LineOrigin
from .changes import BEFORE, Attributor, FileChange, LineWriter, NameHistory, Texts, UserOperation, lineage_of

_TAKEN_BACK = 8
"""How many operations are remembered, the latest ones: each may be undone."""


@attrs.frozen
class PendingHunk:
    """A hunk between the baseline of a file and the file, with the steps that wrote or removed its lines."""

    hunk: Hunk
    owners: tuple[StepId, ...]


@attrs.frozen(cache_hash=True)
class PendingFile:
    """A file with pending changes, without their texts."""

    summary: FileSummary
    id: str  # an opaque id of what is pending, that is, of the baseline and the file
    hunks: int  # how many; none for what is not text
    owners: tuple[StepId, ...]  # the steps whose changes are pending

    @property
    def path(self) -> RelPath:
        """Where the file is, or was."""
        return self.summary.path


@attrs.frozen
class PendingTexts:
    """The pending changes of a file, line by line."""

    file: PendingFile
    hunks: tuple[PendingHunk, ...]  # none for what is not text; the text of a symlink is its target
    before: bytes  # the baseline; empty for what is not text, as is `after`
    after: bytes
    old_mode: int | None  # of the baseline; None for no file, as is `new_mode`
    new_mode: int | None
    too_large: bool  # whether either side is over 10 MB

    def decoded(self) -> tuple[str, str, str | None]:
        """Returns both sides as text, and the name of the encoding as in `decode`."""
        (before, after), encoding = decode(self.before, self.after)
        return before, after, encoding


@attrs.frozen
class FoldSummary:
    """A file without recent changes, without its texts, to save memory."""

    path: RelPath
    baseline_path: RelPath | None  # where the baseline has it; None if nothing is pending
    is_gone: bool
    pending: PendingFile | None


@attrs.frozen
class _State:
    """A file at one time, None for no file; and its baseline, None if all of it is accepted."""

    path: RelPath
    entry: Entry | None
    pending: Baseline | None


@attrs.define
class FileFold:
    """One file, after all changes that were added so far."""

    path: RelPath
    now: Entry | None  # the file; None for no file
    lines: list[bytes]  # its lines; none if it is not text
    writers: list[LineWriter]
    removers: list[LineWriter | None]  # for each line that an operation brought back, the agent that had removed it
    is_text: bool  # whether it is text; an absent file counts as text
    is_reviewed: bool = True  # whether to track what is accepted; otherwise `pending` stays None
    # what a person has accepted, if that differs from the file; None if all of it is accepted
    pending: Baseline | None = None
    # whether the file's own changes alone give the same fold: not if it met another file at one of its names
    is_own: bool = True
    # its entry in a list of pending files, if it did not change since
    shown: PendingFile | None = attrs.field(default=None, init=False)
    _buried: DeletedLines = attrs.field(factory=DeletedLines)
    # before and after each of a person's operations
    _operations: tuple[tuple[OperationId, _State, _State], ...] = ()

    @property
    def baseline_path(self) -> RelPath | None:
        """Where the baseline has the file; None if nothing is pending."""
        return None if self.pending is None else self.pending.path

    @property
    def is_gone(self) -> bool:
        """Whether there is no file."""
        return self.now is None

    @classmethod
    def begun(cls, path: RelPath, entry: Entry | None, texts: Texts, *, is_reviewed: bool = True) -> FileFold:
        """Begins with a file as it was before the first change."""
        lines = texts.lines(entry)
        count = len(lines or [])
        return cls(
            path=path,
            now=entry,
            lines=lines or [],
            writers=[BEFORE] * count,
            removers=[None] * count,
            is_text=lines is not None,
            is_reviewed=is_reviewed,
        )

    def copy(self) -> FileFold:
        """Returns an independent copy."""
        return attrs.evolve(
            self,
            lines=list(self.lines),
            writers=list(self.writers),
            removers=list(self.removers),
            pending=None if self.pending is None else self.pending.copy(),
            buried=self._buried.copy(),
        )

    def is_baseline(self, path: RelPath, entry: Entry | None, texts: Texts) -> bool:
        """Whether a file equals the baseline."""
        lines = texts.lines(entry)
        return self.pending is not None and self.pending.equals(path, entry, lines or [], is_text=lines is not None)

    def remember(self, former: FileFold) -> None:
        """Remembers the lines of another file that was at the same place: an operation may bring them back."""
        buried = former._buried.copy()
        buried.add(
            former.lines, [LineOrigin(writer, former._is_accepted(line)) for line, writer in enumerate(former.writers)]
        )
        buried.join(self._buried)
        self._buried = buried

    def add(self, change: FileChange, texts: Texts) -> None:
        """Adds the next change. After `IoError` or `Cancelled`, the fold is unusable."""
        self.shown = None
        if change.nature == "keep":
            self._keep(change, texts)
            return
        if change.old != self.now:
            # the events that explain it have expired
            self._change(attrs.evolve(change, new=change.old, nature="person", by=BEFORE, operation=None), texts)
        is_persons = change.nature == "person"
        before = self._state() if is_persons and change.operation is not None and self.is_reviewed else None
        if change.source is not None and self.pending is not None and is_persons and self.pending.path == self.path:
            self.pending.path = change.path
        self._change(change, texts)
        self.path = change.path
        if change.went:
            # its pending changes are gone with it
            self.pending = None
        self._settle()
        if before is not None and change.operation is not None:
            self._note(change.operation, before)

    def _state(self) -> _State:
        return _State(self.path, self.now, None if self.pending is None else self.pending.copy())

    def _note(self, operation: UserOperation, before: _State) -> None:
        """Remembers an operation; if it undoes an earlier one, what was pending before that is pending again."""
        for name, earlier, later in reversed(self._operations):
            # a restore may undo an operation without naming it
            is_meant = not operation.turned or name in operation.turned
            if is_meant and later == before and (earlier.path, earlier.entry) == (self.path, self.now):
                self.pending = None if earlier.pending is None else earlier.pending.copy()
                break
        self._operations = (*self._operations, (operation.name, before, self._state()))[-_TAKEN_BACK:]

    def _change(self, change: FileChange, texts: Texts) -> None:
        result = texts.lines(change.new)
        made = texts.edits(self.lines, result or [])
        own = LineOrigin(change.by, accepted=change.nature == "person")
        # only an operation or git brings back what was there before
        origins = [
            self._buried.origins(edit.lines, own) if change.brings_back else [own] * len(edit.lines) for edit in made
        ]
        if change.by_git:
            made, origins = _by_acceptance(made, origins)
        removers = [self.removers[edit.start : edit.end] if change.brings_back else [] for edit in made]
        is_new = (
            change.nature != "person"
            or any(not origin.accepted for came in origins for origin in came)
            or any(remover is not None for went in removers for remover in went)
        )
        if self.pending is None and is_new and self.is_reviewed:
            self.pending = Baseline.of(self.path, self.now, self.lines, change.before, is_text=self.is_text)
        pending = self.pending
        self._record_deletion(made, None if change.nature == "person" else change.by)
        if pending is not None:
            is_text = self.is_text and result is not None
            pending.change(change, self.now, made, origins, removers, texts, is_text=is_text)
        for edit, came in zip(reversed(made), reversed(origins), strict=True):
            self.lines[edit.start : edit.end] = edit.lines
            self.writers[edit.start : edit.end] = [origin.writer for origin in came]
            self.removers[edit.start : edit.end] = [origin.removed_by for origin in came]
        self.now, self.is_text = change.new, result is not None

    def _record_deletion(self, made: list[Edit], remover: LineWriter | None) -> None:
        for edit in made:
            lines = range(edit.start, edit.end)
            origins = [LineOrigin(self.writers[line], self._is_accepted(line), remover) for line in lines]
            self._buried.add(self.lines[edit.start : edit.end], origins)

    def _is_accepted(self, line: int) -> bool:
        # what a person wrote within an agent's change is that person's where it comes back
        return self.pending is None or self.pending.equal[line] is not None or not self.writers[line].steps

    def _keep(self, change: FileChange, texts: Texts) -> None:
        if self.pending is not None:
            lines = texts.lines(change.new)
            self.pending.keep(change.path, change.new, lines, self.lines, texts)
            self._settle()

    def _settle(self) -> None:
        """Accepts changes that are only a person's, and drops a baseline that equals the file."""
        pending = self.pending
        if pending is None:
            return
        if self.is_text and pending.is_text and None not in (self.now, pending.mode):
            pending.accept_unowned(self.lines, self.writers)
        if pending.equals(self.path, self.now, self.lines, is_text=self.is_text):
            self.pending = None


def _by_acceptance(made: list[Edit], origins: list[list[LineOrigin]]) -> tuple[list[Edit], list[list[LineOrigin]]]:
    """Separates accepted lines that come from others, so that only the others are pending, and none that go."""
    split: list[tuple[Edit, list[LineOrigin]]] = []
    for edit, came in zip(made, origins, strict=True):
        if all(origin.accepted for origin in came):
            split.append((edit, came))
            continue
        if edit.start < edit.end:
            split.append((Edit(edit.start, edit.end, ()), []))
        pairs = zip(edit.lines, came, strict=True)
        for _, group in groupby(pairs, key=lambda pair: pair[1].accepted):
            run = list(group)
            lines = tuple(line for line, _ in run)
            split.append((Edit(edit.end, edit.end, lines), [origin for _, origin in run]))
    return [edit for edit, _ in split], [came for _, came in split]


Formers = dict[tuple["RelPath", int], FileFold | None]


@attrs.frozen
class FileHistory:
    """Folds the changes of a workspace's files, whose events are listed; every method raises as `FileFold.add`."""

    _timeline: Timeline
    _attributor: Attributor
    _is_reviewed: bool = attrs.field(kw_only=True)

    def before(self, path: RelPath, seq: int, texts: Texts) -> FileFold | None:
        """Folds all changes of a file by events with a number below `seq`; None if there are none."""
        formers: Formers = {}
        self._fold_all([(path, seq)], formers, texts)
        return formers[path, seq]

    def added(
        self,
        fold: FileFold | None,
        changes: Iterable[FileChange],
        replaced: Sequence[tuple[RelPath, int]],
        texts: Texts,
    ) -> FileFold | None:
        """Adds one event's changes to a fold, which is changed; None begins one. See `NameHistory.replaced`."""
        formers: Formers = {}
        if fold is None:
            self._fold_all(replaced, formers, texts)
        return self._added(fold, changes, replaced, formers, texts)

    def _fold_all(self, wanted: Iterable[tuple[RelPath, int]], formers: Formers, texts: Texts) -> None:
        """Folds files and those that were at their names before, each once, even where files take turns at a name."""
        lines: dict[tuple[RelPath, int], NameHistory] = {}
        waiting = list(wanted)
        while waiting:
            here = waiting.pop()
            if here not in lines:
                lines[here] = lineage_of(self._timeline, *here)
                waiting += lines[here].replaced
        # the files that it replaced come first
        for here in sorted(lines, key=lambda here: here[1]):
            fold = None
            for _, changes in self._attributor.attributed(lines[here].rows):
                fold = self._added(fold, changes, lines[here].replaced, formers, texts)
            formers[here] = fold

    def _added(
        self,
        fold: FileFold | None,
        changes: Iterable[FileChange],
        replaced: Iterable[tuple[RelPath, int]],
        formers: Formers,
        texts: Texts,
    ) -> FileFold | None:
        for change in changes:
            if fold is None:
                fold = FileFold.begun(change.source or change.path, change.old, texts, is_reviewed=self._is_reviewed)
                for here in replaced:
                    former = formers[here]
                    if former is not None:
                        fold.remember(former)
            fold.add(change, texts)
        return fold
