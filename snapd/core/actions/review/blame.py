"""Says who wrote each line of a file."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import chain

import attrs

from snapd.core.actions.history import newest_first
from snapd.core.compare.edits import equal_lines, split_lines
from snapd.core.compare.text import TextDiffer, is_binary
from snapd.core.operations.writer import Writer
from snapd.core.review.changes import (
    Attributor,
    FileChange,
    Lineage,
    Texts,
    came_from_elsewhere,
    lineage_of,
    list_files,
    touched,
)
from snapd.core.review.fold import FileFold, FileHistory
from snapd.core.review.matching import without_ends
from snapd.core.seams import CommittedFile, NotedLines, NoteProblem, Notes
from snapd.model.call import Call
from snapd.model.errors import FileNotInSnapshot, InvalidParams, IoError, StorageFull
from snapd.model.paths import shown
from snapd.model.snapshot import Entry, ObjectId, RelPath, Snapshot, TakenQuery
from snapd.model.timeline import Event, Span, Touched
from snapd.model.trees import file_at
from snapd.store.store import Store

from .looking import Looking
from .text_blame import Blamed, blamed_lines, with_notes

_EVER = 1 << 62
"""A time after all events, milliseconds since 1970."""

_FILES = 16
"""How many files are remembered: an editor asks again with every change."""


@attrs.frozen
class _Asked:
    """The file that a request is about.

    Attributes:
        before: the number of the event after it.
        entry: the file; None if there is none.
        unrecorded: what changed since the event before it.
        milliseconds: when it was like this, since 1970; None for now.
    """

    before: int
    entry: Entry | None
    unrecorded: Sequence[FileChange]
    milliseconds: int | None = None


@attrs.frozen
class _Beginning:
    """What snapd knew first of a file.

    Attributes:
        names: all that the file had since then, the newest first.
        milliseconds: when the lines from before were there, since 1970; None if nobody knows.
    """

    names: tuple[RelPath, ...]
    milliseconds: int | None


@attrs.frozen
class _Known:
    """A file as it was after some of its changes, which will not become somebody else's.

    Attributes:
        epoch: of the timeline.
        seq: the number of the last event that may have changed it.
        fold: the file.
        beginning: what snapd knew first of it.
    """

    epoch: int
    seq: int
    fold: FileFold
    beginning: _Beginning


class Blame:
    """Says who wrote the lines of files of one workspace.

    Args:
        writer: gives the right to look at the work tree.
        store: holds the snapshots and events.
        looking: looks at it.
        attributor: says whose changes were.
        texts: compares texts.
        attesting: says what is noted about lines from before.
    """

    def __init__(
        self,
        writer: Writer,
        store: Store,
        looking: Looking,
        attributor: Attributor,
        texts: TextDiffer,
        attesting: Attesting,
    ) -> None:
        self._writer = writer
        self._store = store
        self._looking = looking
        self._attributor = attributor
        self._history = FileHistory(store.timeline, attributor, is_reviewed=False)
        self._texts = texts
        self._attesting = attesting
        self._lock = threading.Lock()
        self._known: dict[RelPath, _Known] = {}

    def lines(self, path: RelPath, tree: ObjectId | None, lines: tuple[int, int] | None, call: Call) -> Blamed:
        """Says who wrote the lines of a file.

        A line that an undo, a redo or a restore brought back is still of whoever wrote it first. What changed while
        nobody watched is of nobody: it was there before.

        Args:
            path: the file.
            tree: of the snapshot that has it; None for the work tree as it is.
            lines: only these: the first, from 1, and how many; None for all.
            call: the request.

        Raises:
            FileNotInSnapshot: there is no such file.
            InvalidParams: it is not text, or has no such lines.
            UnknownSnapshot: there is no such snapshot.
            StoreCorrupt, StorageFull, IoError, Cancelled: it cannot be told.
        """
        asked = self._now(path, call) if tree is None else self._then(path, tree)
        if asked.entry is None:
            raise FileNotInSnapshot(f"{shown(path)} is not there", file=shown(path), skipped=False)
        texts = Texts(self._store, self._texts, call)
        unrecorded = asked.unrecorded
        with call.holding(self._lock):
            list_files(self._store.timeline, self._store, call)
            # since the last event, it may have been moved
            source = next((change.source for change in unrecorded if change.source is not None), path)
            fold, beginning = self._fold(source, asked, texts)
        fold = fold or FileFold.begun(path, unrecorded[0].old if unrecorded else asked.entry, texts, is_reviewed=False)
        for change in unrecorded:
            fold = fold.copy()
            fold.add(change, texts)
        if not fold.is_text:
            raise InvalidParams(f"{shown(path)} is not text: it has no lines", field="file")
        blamed = blamed_lines(path, fold.writers, lines)
        before = [range(each.start - 1, each.start - 1 + each.count) for each in blamed if each.is_before]
        if not before:
            return Blamed(blamed)
        names = tuple(dict.fromkeys((path, *beginning.names)))
        noted = self._attesting.noted(names, fold.lines, before, beginning.milliseconds, texts)
        return Blamed(tuple(with_notes(blamed, noted.lines)) if noted.lines else blamed, noted.problems)

    def _now(self, path: RelPath, call: Call) -> _Asked:
        with self._writer.turn(call):
            look = self._looking.look(call)
        unrecorded = [each for each in look.unrecorded if each.path == path]
        return _Asked(look.last + 1, self._entry(look.snapshot, path), unrecorded)

    def _then(self, path: RelPath, tree: ObjectId) -> _Asked:
        timeline = self._store.timeline
        snapshot = self._store.log.find(tree)
        entry = self._entry(snapshot, path)
        found = timeline.events_within(0, _EVER, tree)
        if found:
            return _Asked(found[0].seq + 1, entry, (), found[0].milliseconds)
        taken = self._store.log.taken(TakenQuery(prefix=tree.hex()), None, 1)
        until = taken[0].seconds * 1000 + 999 if taken else _EVER
        after: Event | None = None
        for event in newest_first(timeline):
            if event.milliseconds <= until and (event.seen is None or event.seen.after.tree != tree):
                break
            after = event
        else:
            return _Asked(0, entry, (), until)
        if event.head is None:
            return _Asked(event.seq + 1, entry, (), until)
        span = Span(
            event.head,
            self._store.log.identify(snapshot),
            () if after is None or after.seen is None else after.seen.steps,
        )
        files = touched(self._store, event.seq + 1, "seen", span.before.tree, span.after.tree)
        unrecorded = [each for each in self._attributor.unrecorded(files, span) if each.path == path]
        return _Asked(event.seq + 1, entry, unrecorded, until)

    def _entry(self, snapshot: Snapshot, path: RelPath) -> Entry | None:
        return file_at(self._store.entry_in, snapshot.tree, path)

    def _fold(self, path: RelPath, asked: _Asked, texts: Texts) -> tuple[FileFold | None, _Beginning]:
        """A file as the events before a request's made it, None if none of them did anything to it; how it began."""
        timeline = self._store.timeline
        before = asked.before
        known = self._known.pop(path, None)
        newer: Sequence[Touched] = ()
        if known is not None and known.epoch == timeline.epoch and known.seq < before:
            newer = timeline.touched_of(path, before, known.seq)
        else:
            known = None
        if known is None or any(map(came_from_elsewhere, newer)):
            line = lineage_of(timeline, path, before)
            known = None
        else:
            line = Lineage(newer, [])
        fold = None if known is None else known.fold.copy()
        beginning = self._beginning(path, asked, line) if known is None else known.beginning
        opened = {step.step_id for step in timeline.open_steps()}
        settled, is_settled = None, True
        for event, changes in self._attributor.attributed(line.rows):
            seen = event.seen
            if is_settled and seen is not None and not opened.isdisjoint((*seen.steps, *seen.left)):
                # once these steps end, the change may be somebody else's
                is_settled = False
                settled = _Known(timeline.epoch, event.seq - 1, fold.copy(), beginning) if fold is not None else None
            fold = self._history.added(fold, changes, line.replaced, texts)
        if is_settled and fold is not None:
            settled = _Known(timeline.epoch, before - 1, fold.copy(), beginning)
        if settled is not None:
            self._known[path] = settled
            if len(self._known) > _FILES:
                del self._known[next(iter(self._known))]
        return fold, beginning

    def _beginning(self, path: RelPath, asked: _Asked, line: Lineage) -> _Beginning:
        names = tuple(dict.fromkeys((path, *(row.path for row in reversed(line.rows)))))
        if not line.rows and not asked.unrecorded:
            return _Beginning(names, asked.milliseconds)
        # what changed first had not changed yet at the event before
        first = line.rows[0].seq if line.rows else asked.before
        found = self._store.timeline.events(first, 1) or self._store.timeline.events(first + 1, 1)
        return _Beginning(names, found[0].milliseconds if found else None)


_NAMES = 4
"""How many names of a file are looked for in the newest commit."""


@attrs.frozen
class Attesting:
    """Says what is noted about lines from before.

    Args:
        notes: of the project.
    """

    _notes: Notes

    def noted(
        self,
        names: Sequence[RelPath],
        lines: Sequence[bytes],
        before: Sequence[range],
        milliseconds: int | None,
        texts: Texts,
    ) -> NotedLines:
        """Says what is noted about lines of a file.

        The file is compared with what the newest commit has of it. What a commit brought later than the lines were
        there is not noted of them: they only equal its lines.

        Args:
            names: all that the file had, the newest first.
            lines: the file; which of its line ends git keeps does not count.
            before: those of the lines, from 0, that were there before snapd watched; at least one.
            milliseconds: when they were there, since 1970; None if nobody knows.
            texts: compares texts.

        Returns:
            What is noted, by the numbers of the lines, from 0. If it cannot be told, a problem says why.

        Raises:
            Cancelled: the request was cancelled.
        """
        try:
            file = self._notes.of(names[:_NAMES], texts.call)
            return NotedLines({}) if file is None else _noted(file, lines, before, milliseconds, texts)
        except (IoError, StorageFull) as error:
            # what snapd itself knows is no less true
            return NotedLines({}, (NoteProblem(None, error.message),))


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
    told = file.noted(name, texts.call)
    found = {}
    for line in chain.from_iterable(before):
        noted = told.lines.get(committed.get(line, -1))
        if noted is not None and (milliseconds is None or noted.seconds * 1000 <= milliseconds):
            found[line] = noted
    return NotedLines(found, told.problems)


def _equal(committed: list[bytes], wanted: list[bytes], texts: Texts) -> dict[int, int]:
    """For the lines of a text that a committed one has, too, their numbers there."""
    return dict(equal_lines(texts.edits(committed, wanted), len(committed), len(wanted)))
