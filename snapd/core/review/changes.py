"""The changes of each file, one by one, and who made them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

import attrs

from snapd.core.attribution import GIT, Author, git_at_work, owners
from snapd.core.compare.edits import Edit, edits, split_lines
from snapd.core.compare.text import Blobs, TextDiffer, is_binary
from snapd.model.call import Call
from snapd.model.snapshot import SYMLINK, TEN_MIB, Entry, RelPath
from snapd.model.timeline import (
    Event,
    FileChangeRow,
    Kept,
    Operated,
    OperationId,
    Part,
    SnapshotId,
    Span,
    State,
    StepId,
)
from snapd.store.object_store import ObjectStore
from snapd.store.timeline.timeline import Timeline, TimelineView

Authors = Callable[[Iterable[StepId]], dict[StepId, Author]]


@attrs.frozen
class Texts:
    """Reads and compares files, for one request."""

    blobs: Blobs
    differ: TextDiffer
    call: Call

    def lines(self, entry: Entry | None) -> list[bytes] | None:
        """Returns the lines of a file, none for no file; None if not text, or over 10 MB."""
        if entry is None:
            return []
        if entry.mode == SYMLINK:
            return None
        data = self.blobs.read_small_blob(entry.oid, TEN_MIB)
        return None if data is None or is_binary(data) else split_lines(data)

    def edits(self, old: list[bytes], new: list[bytes]) -> list[Edit]:
        """Returns the edits between two texts."""
        self.call.check()
        return edits(old, new, self.differ, self.call)


_EVENTS_AT_ONCE = 20

Nature = Literal["agent", "person", "redo", "keep"]
"""The maker of a change: an agent, a person by hand or by an operation, or a redo, which repeats an agent's change.

"keep": a person accepted what was changed.
"""


@attrs.frozen
class LineWriter:
    """Who wrote or removed a line."""

    # "step" for an agent, "user" for a person, "before" for lines from before snapd watched, "unknown" for all others
    kind: Literal["step", "user", "before", "unknown"]
    steps: tuple[StepId, ...] = ()  # those that may have written it: several if they were open together
    milliseconds: int | None = None  # when it was noticed, since 1970; None if unknown


BEFORE = LineWriter("before")
UNKNOWN = LineWriter("unknown")
"""The writer of a line that is in no version of the file that snapd saw."""


@attrs.frozen
class UserOperation:
    """A person's operation, and the steps and operations that it undid or redid, if any."""

    name: OperationId
    turned: tuple[StepId | OperationId, ...]


@attrs.frozen
class FileChange:
    """One change of a file; None for no file."""

    path: RelPath
    old: Entry | None
    new: Entry | None  # the file afterwards, or what a person kept of it
    nature: Nature
    by: LineWriter  # who wrote the new lines
    # the operation that made it. Lines of others that it brought back keep their writers.
    operation: UserOperation | None = None
    by_git: bool = False  # whether git brought the new content: its lines may be older than the change
    source: RelPath | None = None  # where the file was, if the change moved it; `old` is the file there
    went: bool = False  # whether the file got another name, under which it continues
    before: SnapshotId | None = None  # the work tree before the change; None if it is not a change of the work tree

    @property
    def brings_back(self) -> bool:
        """Whether lines that were there before may come back, with their writers."""
        return self.by_git or self.operation is not None


def list_files(timeline: TimelineView, objects: ObjectStore, call: Call) -> None:
    """Lists the files of all events not listed yet, see `Timeline.list_files`; of some of them if cancelled."""
    while numbers := timeline.unlisted(_EVENTS_AT_ONCE):
        files: dict[int, Sequence[FileChangeRow]] = {}
        for seq in numbers:
            call.check()
            event = timeline.event(seq)
            files[seq] = () if event is None else tuple(_files_of(event, objects))
        timeline.list_files(files)


def _files_of(event: Event, objects: ObjectStore) -> Iterator[FileChangeRow]:
    if event.seen is not None:
        yield from touched(objects, event.seq, "seen", event.seen.before, event.seen.after)
    if isinstance(event.what, Operated) and event.head is not None:
        yield from touched(objects, event.seq, "done", event.what.before, event.head)
    elif isinstance(event.what, Kept):
        for path, entry in event.what.files:
            yield FileChangeRow(path, event.seq, "done", None, entry)


def touched(objects: ObjectStore, seq: int, part: Part, old: State, new: State) -> list[FileChangeRow]:
    """Returns the files that differ between two snapshots, by path; a moved file has an entry for each name."""
    matches = list(objects.changes(old, new))
    came = {change.path for change in matches if change.old is None}
    went = {change.path for change in matches if change.new is None}
    sources = objects.renames(old, new) if came and went else {}
    sources = {path: source for path, source in sources.items() if path in came and source in went}
    goals = {source: path for path, source in sources.items()}
    return [
        FileChangeRow(
            change.path, seq, part, change.old, change.new, sources.get(change.path) or goals.get(change.path)
        )
        for change in matches
    ]


@attrs.frozen
class Attributor:
    """Attributes changes of files to their makers, given what separates steps (see `StepChanges.authors`).

    A file for which `is_elsewhere` holds belongs to another history, which knows who changed it where this one does
    not.
    """

    _timeline: TimelineView
    _authors: Authors
    _is_elsewhere: Callable[[RelPath], bool]

    def attributed(self, files: Iterable[FileChangeRow]) -> Iterator[tuple[Event, list[FileChange]]]:
        """Yields each listed event, in order, with its attributed changes; a move is one change."""
        for seq, rows in groupby(files, key=lambda file: file.seq):
            event = self._timeline.event(seq)
            if event is not None:
                parts = groupby(rows, key=lambda file: file.part)
                yield event, [change for part, group in parts for change in self._changes(event, part, list(group))]

    def unrecorded(self, objects: ObjectStore, seq: int, span: Span | None) -> list[FileChange]:
        """Returns what changed since the last event, attributed; `seq` is the number of the next event."""
        if span is None:
            return []
        files = touched(objects, seq, "seen", span.before.tree, span.after.tree)
        at_work = self._authors(span.steps) | git_at_work(span)
        return list(_joined(files, span.before, lambda path: self._in_a_span(path, at_work, None)))

    def _changes(self, event: Event, part: Part, files: Collection[FileChangeRow]) -> Iterator[FileChange]:
        what = event.what
        if part == "seen":
            assert event.seen is not None
            at_work = self._authors(event.seen.steps) | git_at_work(event.seen)
            return _joined(files, event.seen.before, lambda path: self._in_a_span(path, at_work, event.milliseconds))
        if isinstance(what, Kept):
            kept = LineWriter("user", (), event.milliseconds)
            return (FileChange(file.path, None, file.new, "keep", kept) for file in files)
        assert isinstance(what, Operated)
        operation = UserOperation(what.operation_id, tuple(turn.name for turn in what.turned))
        return _joined(files, what.before, lambda path: _by_operation(path, what, event.milliseconds), operation)

    def _in_a_span(
        self, path: RelPath, at_work: Mapping[StepId, Author], milliseconds: int | None
    ) -> tuple[Nature, LineWriter]:
        steps = owners(path, at_work)
        if steps == (GIT,):
            # lines of commits are older than the step: whoever wrote them, it was not now
            return "person", BEFORE
        if steps:
            return "agent", LineWriter("step", steps, milliseconds)
        return "person", LineWriter("unknown" if self._is_elsewhere(path) else "user", (), milliseconds)


def _by_operation(path: RelPath, what: Operated, milliseconds: int) -> tuple[Nature, LineWriter]:
    redone = tuple(
        turn.step_id
        for turn in what.turned
        if turn.step_id is not None
        and what.kind in ("redo", "unrevert")
        and any(effect.path == path for effect in turn.effects)
    )
    return ("redo", LineWriter("step", redone, milliseconds)) if redone else ("person", BEFORE)


def _joined(
    files: Collection[FileChangeRow],
    before: SnapshotId,
    whose: Callable[[RelPath], tuple[Nature, LineWriter]],
    operation: UserOperation | None = None,
) -> Iterator[FileChange]:
    """Joins both names of a moved file to one change; disappearances come first, for the path may be used again."""
    by_path = {file.path: file for file in files}
    for file in sorted(files, key=lambda file: file.new is not None):
        other = None if file.other is None else by_path.get(file.other)
        if other is not None and file.new is None:
            continue
        nature, by = whose(file.path)
        yield FileChange(
            path=file.path,
            old=file.old if other is None else other.old,
            new=file.new,
            nature=nature,
            by=by,
            operation=operation,
            by_git=operation is None and by == BEFORE,
            source=None if other is None else other.path,
            went=other is None and file.new is None and file.other is not None,
            before=before,
        )


@attrs.frozen
class NameHistory:
    """The history of a file under all its names."""

    rows: Sequence[FileChangeRow]  # its rows of listed events, oldest first; both names of a move
    # other files at its names before it, each with the number of the event by which this one came
    replaced: list[tuple[RelPath, int]]


def lineage_of(timeline: Timeline, path: RelPath, before: int) -> NameHistory:
    """Follows a file back through all its names, from listed events with a number below `before`."""
    file_change_rows: list[FileChangeRow] = []
    replaced: list[tuple[RelPath, int]] = []
    rows = list(timeline.touched_of(path, before))
    while True:
        at = next((at for at in reversed(range(len(rows))) if was_moved_in(rows[at])), None)
        if at is None:
            return NameHistory([*rows, *file_change_rows], replaced)
        here = rows[at]
        assert here.other is not None
        if at > 0:
            replaced.append((here.path, here.seq))
        file_change_rows = [*rows[at:], *file_change_rows]
        rows = [row for row in timeline.touched_of(here.other, here.seq + 1) if order_of(row) <= order_of(here)]


def was_moved_in(row: FileChangeRow) -> bool:
    """Whether a file was moved to where it is."""
    return row.old is None and row.new is not None and row.other is not None


def order_of(row: FileChangeRow) -> tuple[int, bool]:
    """Returns where a row stands among others."""
    return row.seq, row.part == "done"
