"""Finds who wrote each line of a file, and of a text that a file had, such as a committed one."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby

import attrs

from snapd.core.actions.history import newest_first
from snapd.core.actions.review.review import ReviewView, ReviewViews
from snapd.core.compare.edits import equal_lines, split_lines
from snapd.core.compare.text import TextDiffer, is_binary
from snapd.core.operations.writer import Writer
from snapd.core.review.baseline import Version, without_ends, writers_of
from snapd.core.review.changes import (
    BEFORE,
    Attributor,
    FileChange,
    LineWriter,
    NameHistory,
    Texts,
    lineage_of,
    list_files,
    was_moved_in,
)
from snapd.core.review.fold import FileFold, FileHistory
from snapd.core.seams import CommittedFile, GitCommit, NotedCommit, NotedLines, NoteProblem, Notes
from snapd.model.call import Call
from snapd.model.errors import FileNotInSnapshot, InvalidParams, IoError, StorageFull
from snapd.model.paths import shown
from snapd.model.snapshot import TEN_MIB, Entry, ObjectId, RelPath, Snapshot
from snapd.model.timeline import Event, FileChangeRow, Span
from snapd.model.trees import file_at
from snapd.store.store import Store


@attrs.frozen
class BlamedLines:
    """Lines of one writer."""

    start: int  # the first line, from 1
    count: int
    writer: LineWriter
    commit: GitCommit | None = None  # for lines from before: what introduced them; None if they were not committed
    noted: NotedCommit | None = None  # for lines from before: what introduced them, and who wrote them by its note

    @property
    def is_before(self) -> bool:
        """Whether they were there before snapd watched."""
        return self.writer.kind == "before"


@attrs.frozen
class BlameReport:
    """Who wrote the lines of a file, without gaps; and what the project's git could not answer."""

    lines: tuple[BlamedLines, ...]
    problems: tuple[NoteProblem, ...] = ()


def blamed_lines(
    path: RelPath, writers: Sequence[LineWriter], lines: tuple[int, int] | None
) -> tuple[BlamedLines, ...]:
    """Joins consecutive lines of one writer. `lines` are a first line, from 1, and a count; None for all.

    Raises `InvalidParams` if the file has no such lines.
    """
    first, count = lines or (1, len(writers))
    if first - 1 + count > len(writers):
        raise InvalidParams(
            f"range: {shown(path)} has {len(writers)} lines", hint="ask for lines that exist", field="range"
        )
    matches = []
    for writer, group in groupby(writers[first - 1 : first - 1 + count]):
        number = sum(1 for _ in group)
        matches.append(BlamedLines(first, number, writer))
        first += number
    return tuple(matches)


def with_commits(blamed: Iterable[BlamedLines], noted: NotedLines) -> Iterator[BlamedLines]:
    """Divides lines from before by what git says about each, from 0."""
    for lines in blamed:
        if not lines.is_before:
            yield lines
            continue
        first = lines.start
        pairs = ((noted.commits.get(at), noted.lines.get(at)) for at in range(first - 1, first - 1 + lines.count))
        for (commit, note), group in groupby(pairs):
            count = sum(1 for _ in group)
            yield BlamedLines(first, count, lines.writer, commit, note)
            first += count


@attrs.frozen
class DatedText:
    """A text that a file had, or may have had; and when, in milliseconds since 1970, None if unknown."""

    data: bytes
    milliseconds: int | None


@attrs.define(eq=False)
class _LineHistory:
    """What is needed to find who wrote lines of files of one workspace."""

    _writer: Writer
    _store: Store
    _looking: ReviewViews
    _attributor: Attributor
    _texts: TextDiffer
    _history: FileHistory = attrs.field(init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self._history = FileHistory(self._store.timeline, self._attributor, is_reviewed=False)

    def _listed(self, call: Call) -> Texts:
        list_files(self._store.timeline, self._store, call)
        return Texts(self._store, self._texts, call)


class TextBlame(_LineHistory):
    """Finds who wrote the lines of texts of files in one workspace."""

    def lines(
        self, path: RelPath, text: DatedText, lines: tuple[int, int] | None, call: Call
    ) -> tuple[BlamedLines, ...]:
        """Returns who wrote the lines of a text, from all versions of the file: see `writers_of` and `blamed_lines`.

        The file may have been deleted since. Raises `InvalidParams` if the text is binary or has no such lines.
        """
        if len(text.data) > TEN_MIB or is_binary(text.data):
            raise InvalidParams(f"content: not a text of {shown(path)}, or over 10 MB", field="content")
        with self._writer.turn(call):
            look = self._looking.look(call)
        with call.holding(self._lock):
            texts = self._listed(call)
        writers = writers_of(text.data, text.milliseconds, lambda: self._versions(path, look, texts), texts)
        return blamed_lines(path, writers, lines)

    def _versions(self, path: RelPath, look: ReviewView, texts: Texts) -> Iterator[Version]:
        """Yields all versions at a path, and those of the same files before they came there."""
        unrecorded = [change for change in look.unrecorded if change.path == path]
        source = next((change.source for change in unrecorded if change.source is not None), None)
        parts: set[tuple[RelPath, int]] = set()
        result = self._all_of(source or path, look.last + 1, unrecorded, parts, texts)
        if source is not None:
            # since the last event, it came to where another file was
            result = chain(self._all_of(path, look.last + 1, (), parts, texts), result)
        is_known = False
        for version in result:
            is_known = True
            yield version
        if not is_known:
            entry = file_at(self._store.entry_in, look.snapshot.tree, path)
            yield from _texts_of([(FileFold.begun(path, entry, texts, is_reviewed=False), None)])

    def _all_of(
        self,
        path: RelPath,
        before: int,
        unrecorded: Iterable[FileChange],
        parts: set[tuple[RelPath, int]],
        texts: Texts,
    ) -> Iterator[Version]:
        """Yields the versions of a file, after those of the files that it replaced; skips what `parts` has."""
        if (path, before) in parts:
            # files that take turns at several names replace each other again and again
            return
        parts.add((path, before))
        line = lineage_of(self._store.timeline, path, before)
        for name, seq in line.replaced:
            yield from self._all_of(name, seq, (), parts, texts)
        events = self._attributor.attributed(line.rows)
        made = [*((changes, event.milliseconds) for event, changes in events), (list(unrecorded), None)]
        yield from _texts_of(self._folds(made, line.replaced, texts))

    def _folds(
        self, made: Iterable[tuple[list[FileChange], int | None]], replaced: Sequence[tuple[RelPath, int]], texts: Texts
    ) -> Iterator[tuple[FileFold, int | None]]:
        """Yields a file as each change found and left it, with the time; the next change modifies the same object."""
        fold: FileFold | None = None
        for changes, milliseconds in made:
            for change in changes:
                if change.nature == "keep":
                    continue
                if fold is None or change.old != fold.now:
                    # the events before it have expired, or snapd did not watch
                    where = change.source or change.path
                    came = FileChange(where, None if fold is None else fold.now, change.old, "person", BEFORE)
                    noticed = None if fold is None else milliseconds
                    fold = self._history.added(fold, (came,), replaced, texts)
                    assert fold is not None
                    yield fold, noticed
                fold = self._history.added(fold, (change,), (), texts)
                assert fold is not None
                yield fold, milliseconds


def _texts_of(folds: Iterable[tuple[FileFold, int | None]]) -> Iterator[Version]:
    """Yields the versions that are text, each from when the one before was noticed until the next one was."""
    since: int | None = None
    last: Version | None = None
    for fold, noticed in folds:
        if last is not None:
            yield attrs.evolve(last, until=noticed)
        last = Version(list(fold.lines), list(fold.writers), since, None) if fold.is_text else None
        since = noticed
    if last is not None:
        yield last


_FILES = 16
"""How many files are remembered: an editor asks again with every change."""


@attrs.frozen
class _BlameTarget:
    """The file of a request."""

    before: int  # the number of the event after it
    entry: Entry | None  # None if there is no file
    unrecorded: Sequence[FileChange]  # what changed since the event before it
    milliseconds: int | None = None  # when it was like this, since 1970; None for now


@attrs.frozen
class _Beginning:
    """The earliest state of a file that snapd knows."""

    names: tuple[RelPath, ...]  # all its names since then, the newest first
    milliseconds: int | None  # when the lines from before were there, since 1970; None if unknown


@attrs.frozen
class _FoldedFile:
    """A file after the events up to `seq`, whose attribution is final; `epoch` is the timeline's."""

    epoch: int
    seq: int
    fold: FileFold
    beginning: _Beginning


@attrs.define(eq=False)
class Blame(_LineHistory):
    """Finds who wrote the lines of files of one workspace, and what the project's git knows of lines from before."""

    _note_attribution: NoteAttribution
    _known: dict[RelPath, _FoldedFile] = attrs.field(factory=dict, init=False)

    def lines(self, path: RelPath, tree: ObjectId | None, lines: tuple[int, int] | None, call: Call) -> BlameReport:
        """Returns who wrote the lines of a file, in a snapshot or in the current work tree; see `blamed_lines`.

        A line that an undo, a redo or a restore brought back still belongs to its first writer. What changed while
        snapd did not watch belongs to no one: it counts as "before". Raises `FileNotInSnapshot`, `UnknownSnapshot`, and
        `InvalidParams` if the file is binary or has no such lines.
        """
        asked = self._now(path, call) if tree is None else self._then(path, tree)
        if asked.entry is None:
            raise FileNotInSnapshot(f"{shown(path)} is not there", file=shown(path), skipped=False)
        fold, beginning, texts = self._folded(path, asked, call)
        if not fold.is_text:
            raise InvalidParams(f"{shown(path)} is not text: it has no lines", field="file")
        blamed = blamed_lines(path, fold.writers, lines)
        before = [range(each.start - 1, each.start - 1 + each.count) for each in blamed if each.is_before]
        if not before:
            return BlameReport(blamed)
        names = tuple(dict.fromkeys((path, *beginning.names)))
        noted = self._note_attribution.noted(names, fold.lines, before, beginning.milliseconds, texts)
        return BlameReport(tuple(with_commits(blamed, noted)), noted.problems)

    def steps_in(self, path: RelPath, call: Call) -> tuple[BlamedLines, ...]:
        """Returns who wrote the lines of a file as it is now, without asking git; nothing if it has no lines."""
        asked = self._now(path, call)
        if asked.entry is None:
            return ()
        fold, _, _ = self._folded(path, asked, call)
        return blamed_lines(path, fold.writers, None) if fold.is_text else ()

    def _folded(self, path: RelPath, asked: _BlameTarget, call: Call) -> tuple[FileFold, _Beginning, Texts]:
        unrecorded = asked.unrecorded
        with call.holding(self._lock):
            texts = self._listed(call)
            # since the last event, it may have been moved
            source = next((change.source for change in unrecorded if change.source is not None), path)
            fold, beginning = self._fold(source, asked, texts)
        fold = fold or FileFold.begun(path, unrecorded[0].old if unrecorded else asked.entry, texts, is_reviewed=False)
        for change in unrecorded:
            fold = fold.copy()
            fold.add(change, texts)
        return fold, beginning, texts

    def _now(self, path: RelPath, call: Call) -> _BlameTarget:
        with self._writer.turn(call):
            look = self._looking.look(call)
        unrecorded = [each for each in look.unrecorded if each.path == path]
        return _BlameTarget(look.last + 1, self._entry(look.snapshot, path), unrecorded)

    def _then(self, path: RelPath, tree: ObjectId) -> _BlameTarget:
        timeline = self._store.timeline
        snapshot = self._store.find(tree)
        entry = self._entry(snapshot, path)
        taken = timeline.taken_last(tree)
        assert taken is not None
        recorded = timeline.event(taken.seq)
        if recorded is not None and recorded.head is not None and recorded.head.tree == tree:
            return _BlameTarget(taken.seq + 1, entry, (), taken.milliseconds)
        after: Event | None = None
        for event in newest_first(timeline):
            if event.seq < taken.seq:
                break
            after = event
        else:
            return _BlameTarget(0, entry, (), taken.milliseconds)
        if event.head is None:
            return _BlameTarget(event.seq + 1, entry, (), taken.milliseconds)
        # the steps at work until the next event were so by then
        span = Span(event.head, taken.snapshot, () if after is None or after.seen is None else after.seen.steps)
        changes = self._attributor.unrecorded(self._store, event.seq + 1, span)
        unrecorded = [each for each in changes if each.path == path]
        return _BlameTarget(event.seq + 1, entry, unrecorded, taken.milliseconds)

    def _entry(self, snapshot: Snapshot, path: RelPath) -> Entry | None:
        return file_at(self._store.entry_in, snapshot.tree, path)

    def _fold(self, path: RelPath, asked: _BlameTarget, texts: Texts) -> tuple[FileFold | None, _Beginning]:
        """Returns a file as the events before a request's left it, None if none changed it; and its beginning."""
        timeline = self._store.timeline
        before = asked.before
        known = self._known.pop(path, None)
        newer: Sequence[FileChangeRow] = ()
        if known is not None and known.epoch == timeline.epoch and known.seq < before:
            newer = timeline.touched_of(path, before, known.seq)
        else:
            known = None
        if known is None or any(map(was_moved_in, newer)):
            line = lineage_of(timeline, path, before)
            known = None
        else:
            line = NameHistory(newer, [])
        fold = None if known is None else known.fold.copy()
        beginning = self._beginning(path, asked, line) if known is None else known.beginning
        opened = {step.step_id for step in timeline.open_steps()}
        settled, is_settled = None, True
        for event, changes in self._attributor.attributed(line.rows):
            seen = event.seen
            if is_settled and seen is not None and not opened.isdisjoint((*seen.steps, *seen.left)):
                # once these steps end, the change may belong to another step
                is_settled = False
                settled = (
                    _FoldedFile(timeline.epoch, event.seq - 1, fold.copy(), beginning) if fold is not None else None
                )
            fold = self._history.added(fold, changes, line.replaced, texts)
        if is_settled and fold is not None:
            settled = _FoldedFile(timeline.epoch, before - 1, fold.copy(), beginning)
        if settled is not None:
            self._known[path] = settled
            if len(self._known) > _FILES:
                del self._known[next(iter(self._known))]
        return fold, beginning

    def _beginning(self, path: RelPath, asked: _BlameTarget, line: NameHistory) -> _Beginning:
        names = tuple(dict.fromkeys((path, *(row.path for row in reversed(line.rows)))))
        if not line.rows and not asked.unrecorded:
            return _Beginning(names, asked.milliseconds)
        # at the event before the first change, the file was still the old one
        first = line.rows[0].seq if line.rows else asked.before
        result = self._store.timeline.events(first, 1) or self._store.timeline.events(first + 1, 1)
        return _Beginning(names, result[0].milliseconds if result else None)


_NAMES = 4
"""How many names of a file are looked up in the newest commit."""


@attrs.frozen
class NoteAttribution:
    """Returns what the project's git says about lines from before."""

    _notes: Notes

    def noted(
        self,
        names: Sequence[RelPath],
        lines: Sequence[bytes],
        before: Sequence[range],
        milliseconds: int | None,
        texts: Texts,
    ) -> NotedLines:
        """Returns which commit introduced lines of a file, and what is noted about them, by their numbers from 0.

        The file is compared with the newest commit, as `git blame` does, whatever the line ends. A note of a commit
        that is newer than the lines does not count: its lines are only equal. If git cannot answer, a problem says why.

        `names` are all that the file had, the newest first. `before` are the ranges of lines, from 0, that were there
        before snapd watched, at least one; `milliseconds` is when they were there, None if unknown.
        """
        try:
            file = self._notes.of(names[:_NAMES], texts.call)
            return NotedLines({}) if file is None else _noted(file, lines, before, milliseconds, texts)
        except (IoError, StorageFull) as error:
            # what snapd itself knows stays valid
            return NotedLines({}, problems=(NoteProblem(None, error.message),))


def _noted(
    file: CommittedFile, lines: Sequence[bytes], before: Sequence[range], milliseconds: int | None, texts: Texts
) -> NotedLines:
    wanted = without_ends(lines)
    name, committed = None, dict[int, int]()
    for candidate, text in file.texts(texts.call).items():
        # another file may have taken the name since
        equal = {} if is_binary(text) else _equal(without_ends(split_lines(text)), wanted, texts)
        if len(equal) > len(committed):
            name, committed = candidate, equal
    if name is None:
        return NotedLines({})
    message = file.noted(name, texts.call)
    lines_noted, commits = dict[int, NotedCommit](), dict[int, GitCommit]()
    for line in chain.from_iterable(before):
        at = committed.get(line, -1)
        if at in message.commits:
            commits[line] = message.commits[at]
        noted = message.lines.get(at)
        if noted is not None and (milliseconds is None or noted.seconds * 1000 <= milliseconds):
            lines_noted[line] = noted
    return NotedLines(lines_noted, commits, message.problems)


def _equal(committed: list[bytes], wanted: list[bytes], texts: Texts) -> dict[int, int]:
    """Maps the numbers of lines that a committed text has, too, to their numbers there."""
    return dict(equal_lines(texts.edits(committed, wanted), len(committed), len(wanted)))
