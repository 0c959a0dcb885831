"""Says who wrote each line of a text of a file that is no snapshot's, such as one that somebody committed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby

import attrs

from snapd.core.compare.text import TextDiffer, is_binary
from snapd.core.operations.writer import Writer
from snapd.core.review.changes import BEFORE, Attributor, FileChange, LineWriter, Texts, lineage_of, list_files
from snapd.core.review.fold import FileFold, FileHistory
from snapd.core.review.matching import Version, writers_of
from snapd.core.seams import NotedCommit, NoteProblem
from snapd.model.call import Call
from snapd.model.errors import InvalidParams
from snapd.model.paths import shown
from snapd.model.snapshot import TEN_MIB, RelPath
from snapd.model.trees import file_at
from snapd.store.store import Store

from .looking import Look, Looking


@attrs.frozen
class BlamedLines:
    """Lines of one writer.

    Attributes:
        start: the first line, from 1.
        count: how many lines.
        writer: who wrote them.
        noted: of lines from before, the commit that brought them, and who wrote them by its note.
    """

    start: int
    count: int
    writer: LineWriter
    noted: NotedCommit | None = None

    @property
    def is_before(self) -> bool:
        """Whether they were there before snapd watched."""
        return self.writer.kind == "before"


@attrs.frozen
class Blamed:
    """Who wrote the lines of a file.

    Attributes:
        lines: in their order, without gaps.
        problems: what notes in the project's git may say besides.
    """

    lines: tuple[BlamedLines, ...]
    problems: tuple[NoteProblem, ...] = ()


def blamed_lines(
    path: RelPath, writers: Sequence[LineWriter], lines: tuple[int, int] | None
) -> tuple[BlamedLines, ...]:
    """Joins lines of one writer that follow each other.

    Args:
        path: the file.
        writers: of all its lines.
        lines: only these: the first, from 1, and how many; None for all.

    Raises:
        InvalidParams: the file has no such lines.
    """
    first, count = lines or (1, len(writers))
    if first - 1 + count > len(writers):
        raise InvalidParams(
            f"range: {shown(path)} has {len(writers)} lines", hint="ask for lines that there are", field="range"
        )
    found = []
    for writer, group in groupby(writers[first - 1 : first - 1 + count]):
        number = sum(1 for _ in group)
        found.append(BlamedLines(first, number, writer))
        first += number
    return tuple(found)


def with_notes(blamed: Iterable[BlamedLines], noted: Mapping[int, NotedCommit]) -> Iterator[BlamedLines]:
    """Divides lines from before by what is noted about each, from 0."""
    for lines in blamed:
        if not lines.is_before:
            yield lines
            continue
        first = lines.start
        for note, group in groupby(range(first, first + lines.count), key=lambda line: noted.get(line - 1)):
            numbers = list(group)
            yield BlamedLines(numbers[0], len(numbers), lines.writer, note)


@attrs.frozen
class GivenText:
    """A text that a file had, or may have had.

    Attributes:
        data: the text.
        milliseconds: when the file had it, since 1970; None if nobody knows.
    """

    data: bytes
    milliseconds: int | None


class TextBlame:
    """Says who wrote the lines of texts of files of one workspace.

    Args:
        writer: gives the right to look at the work tree.
        store: holds the snapshots and events.
        looking: looks at the work tree.
        attributor: says whose changes were.
        texts: compares texts.
    """

    def __init__(
        self, writer: Writer, store: Store, looking: Looking, attributor: Attributor, texts: TextDiffer
    ) -> None:
        self._writer = writer
        self._store = store
        self._looking = looking
        self._attributor = attributor
        self._history = FileHistory(store.timeline, attributor, is_reviewed=False)
        self._texts = texts
        self._lock = threading.Lock()

    def lines(
        self, path: RelPath, text: GivenText, lines: tuple[int, int] | None, call: Call
    ) -> tuple[BlamedLines, ...]:
        """Says who wrote the lines of a text, by all that the file was: see `writers_of`.

        Args:
            path: the file; it need not be there any more.
            text: what is asked about.
            lines: only these: the first, from 1, and how many; None for all.
            call: the request.

        Returns:
            The lines in their order, without gaps.

        Raises:
            InvalidParams: it is not text, or has no such lines.
            StoreCorrupt, StorageFull, IoError, Cancelled: it cannot be told.
        """
        if len(text.data) > TEN_MIB or is_binary(text.data):
            raise InvalidParams(f"content: this is no text of {shown(path)}, or over 10 MB", field="content")
        with self._writer.turn(call):
            look = self._looking.look(call)
        with call.holding(self._lock):
            list_files(self._store.timeline, self._store, call)
        texts = Texts(self._store, self._texts, call)
        writers = writers_of(text.data, text.milliseconds, lambda: self._versions(path, look, texts), texts)
        return blamed_lines(path, writers, lines)

    def _versions(self, path: RelPath, look: Look, texts: Texts) -> Iterator[Version]:
        """All that was at a path, and what these files were before they came there."""
        unrecorded = [change for change in look.unrecorded if change.path == path]
        source = next((change.source for change in unrecorded if change.source is not None), None)
        told: set[tuple[RelPath, int]] = set()
        found = self._all_of(source or path, look.last + 1, unrecorded, told, texts)
        if source is not None:
            # since the last event, it came to where another file was
            found = chain(self._all_of(path, look.last + 1, (), told, texts), found)
        is_known = False
        for version in found:
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
        told: set[tuple[RelPath, int]],
        texts: Texts,
    ) -> Iterator[Version]:
        """The versions of a file, after those of the files that it replaced wherever it was; none of what was told."""
        if (path, before) in told:
            # files that take turns at several names replace each other again and again
            return
        told.add((path, before))
        line = lineage_of(self._store.timeline, path, before)
        for name, seq in line.replaced:
            yield from self._all_of(name, seq, (), told, texts)
        events = self._attributor.attributed(line.rows)
        made = [*((changes, event.milliseconds) for event, changes in events), (list(unrecorded), None)]
        yield from _texts_of(self._folds(made, line.replaced, texts))

    def _folds(
        self, made: Iterable[tuple[list[FileChange], int | None]], replaced: Sequence[tuple[RelPath, int]], texts: Texts
    ) -> Iterator[tuple[FileFold, int | None]]:
        """A file as each change found and left it, with the time; it is one object, which the next change changes."""
        fold: FileFold | None = None
        for changes, milliseconds in made:
            for change in changes:
                if change.nature == "keep":
                    continue
                if fold is None or change.old != fold.now:
                    # what led to it has expired, or nobody watched
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
    """The versions that are text, each from when the one before was noticed until the next one was."""
    since: int | None = None
    last: Version | None = None
    for fold, noticed in folds:
        if last is not None:
            yield attrs.evolve(last, until=noticed)
        last = Version(list(fold.lines), list(fold.writers), since, None) if fold.is_text else None
        since = noticed
    if last is not None:
        yield last
