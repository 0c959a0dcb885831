"""Compares what a person has accepted of a file with its current state, and tracks the authors of deleted lines."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from snapd.core.compare.edits import Edit, equal_lines, split_lines
from snapd.core.review.changes import UNKNOWN, FileChange, LineWriter, Texts
from snapd.model.snapshot import Entry, RelPath
from snapd.model.timeline import SnapshotId, StepId

_PLACES = 32
"""How many places of equal lines are remembered, the latest ones."""


@attrs.frozen
class LineOrigin:
    """Where a line comes from."""

    writer: LineWriter
    accepted: bool  # whether a person has accepted it; a person's own lines are
    removed_by: LineWriter | None = None  # the agent that removed it before it came back; None if a person did


_numbers = itertools.count()
"""Numbers each group of lines deleted together, uniquely in all collections."""


@attrs.define
class DeletedLines:
    """Deleted lines in the order of their deletion; lines deleted together are there once."""

    _lines: list[bytes] = attrs.field(factory=list)
    _origins: list[LineOrigin] = attrs.field(factory=list)
    _places: dict[bytes, tuple[int, ...]] = attrs.field(factory=dict)
    _went: dict[int, range] = attrs.field(factory=dict)

    def copy(self) -> DeletedLines:
        """Returns an independent copy."""
        return DeletedLines(list(self._lines), list(self._origins), dict(self._places), dict(self._went))

    def add(self, lines: Sequence[bytes], origins: Sequence[LineOrigin]) -> None:
        """Adds lines that were deleted together."""
        self._add(next(_numbers), lines, origins)

    def join(self, later: DeletedLines) -> None:
        """Adds all lines of another collection as the latest deletions, except what both have."""
        for number, lines in later._went.items():
            if number not in self._went:
                part = slice(lines.start, lines.stop)
                self._add(number, later._lines[part], later._origins[part])

    def _add(self, number: int, lines: Sequence[bytes], origins: Sequence[LineOrigin]) -> None:
        self._went[number] = range(len(self._lines), len(self._lines) + len(lines))
        for line in lines:
            self._places[line] = (*self._places.get(line, ()), len(self._lines))[-_PLACES:]
            self._lines.append(line)
        self._origins += origins

    def origins(self, lines: Sequence[bytes], otherwise: LineOrigin) -> list[LineOrigin]:
        """Returns the origins of lines that came back (`otherwise` for a line that was never deleted).

        Looks for the longest runs deleted together, the latest deletions first.
        """
        line_origins: list[LineOrigin] = []
        while len(line_origins) < len(lines):
            at = len(line_origins)
            places = self._places.get(lines[at], ())
            length, place = max(((self._length(lines, at, place), place) for place in places), default=(0, 0))
            line_origins += self._origins[place : place + length] if length else [otherwise]
        return line_origins

    def _length(self, lines: Sequence[bytes], at: int, place: int) -> int:
        length = 0
        while (
            at + length < len(lines)
            and place + length < len(self._lines)
            and lines[at + length] == self._lines[place + length]
        ):
            length += 1
        return length


@attrs.frozen
class Block:
    """A range of lines that differs between baseline and file, between equal lines: from 0, without the end."""

    start: int
    end: int
    base_start: int
    base_end: int
    steps: tuple[StepId, ...]  # wrote or removed them, in the order of their first change of the file


@attrs.define
class Baseline:
    """What a person has accepted of a file, and which of its lines the file still has.

    Lines of the file are equal to lines of the baseline in the same order. A person's change of equal lines is made in
    the baseline, too, and so is one that touches an agent's change from outside. A person's change within an agent's
    change becomes a part of it.
    """

    path: RelPath  # where the baseline has the file: another path if an agent moved it
    entry: Entry | None  # the file, if it is still the one before the first change, or the one that was kept
    mode: int | None
    lines: list[bytes]
    is_text: bool  # whether it is text; an absent file counts as text
    gone: list[LineWriter | None]  # for each line, who removed it; None if the file has it
    # for each line of the file, its line in the baseline; None for a line that the baseline lacks
    equal: list[int | None]
    began: SnapshotId | None  # the work tree before the first change; None if unknown
    steps: dict[StepId, None] = attrs.field(factory=dict)
    is_mixed: bool = False  # whether a person changed something within the changes of agents

    @classmethod
    def of(
        cls, path: RelPath, entry: Entry | None, lines: Sequence[bytes], began: SnapshotId | None, *, is_text: bool
    ) -> Baseline:
        """Makes the current file the baseline."""
        mode = None if entry is None else entry.mode
        return cls(
            path=path,
            entry=entry,
            mode=mode,
            lines=list(lines),
            is_text=is_text,
            gone=[None] * len(lines),
            equal=list(range(len(lines))),
            began=began,
        )

    def copy(self) -> Baseline:
        """Returns an independent copy."""
        return attrs.evolve(
            self, lines=list(self.lines), gone=list(self.gone), equal=list(self.equal), steps=dict(self.steps)
        )

    def equals(self, path: RelPath, entry: Entry | None, lines: Sequence[bytes], *, is_text: bool) -> bool:
        """Whether a file equals the baseline."""
        if entry is None or self.mode is None:
            return entry is None and self.mode is None
        if path != self.path or entry.mode != self.mode or is_text != self.is_text:
            return False
        return self.lines == lines if is_text else entry == self.entry

    def change(
        self,
        change: FileChange,
        old: Entry | None,
        made: Sequence[Edit],
        origins: Sequence[Sequence[LineOrigin]],
        removers: Sequence[Sequence[LineWriter | None]],
        texts: Texts,
        *,
        is_text: bool,
    ) -> None:
        """Applies a change of the file `old`, the edits `made` in line order; it is text on both sides or on neither.

        `origins` has the origins of each edit's new lines; `removers` the agents that had removed each edit's old lines
        before they came back, empty for no line.
        """
        back = (origin.writer for came in origins for origin in came if not origin.accepted)
        again = (remover for went in removers for remover in went if remover is not None)
        for writer in (change.by, *back, *again):
            self.steps.update(dict.fromkeys(writer.steps))
        is_persons = change.nature == "person"
        # what a file is as a whole cannot be accepted in part
        accepts = is_persons and is_text and self.is_text and None not in (old, change.new, self.mode)
        if is_persons and old is not None and change.new is not None and old.mode == self.mode != change.new.mode:
            self.entry, self.mode = None, change.new.mode
        for edit, came, went in zip(reversed(made), reversed(origins), reversed(removers), strict=True):
            # an operation may do again what an agent did
            is_own = all(origin.accepted for origin in came) and all(remover is None for remover in went)
            is_accepted = accepts and is_own and self._is_outside(edit)
            self.is_mixed = self.is_mixed or (is_persons and not is_accepted)
            for line, remover in zip(self.equal[edit.start : edit.end], went, strict=False):
                if line is not None and remover is not None and not is_accepted:
                    self.gone[line] = remover
            self._change(edit, change.by, came, texts, accepts=is_accepted)

    # -- lines

    def _is_outside(self, edit: Edit) -> bool:
        """Whether an edit is not within a change of an agent."""
        if edit.start == edit.end:
            around = self.equal[max(edit.start - 1, 0) : edit.start + 1]
            # the beginning and the end of the file are equal to those of the baseline
            return len(around) < 2 or around != [None, None]
        first = self.equal[edit.start]
        return first is not None and self.equal[edit.start : edit.end] == list(
            range(first, first + edit.end - edit.start)
        )

    def _change(
        self, edit: Edit, by: LineWriter, origins: Sequence[LineOrigin], texts: Texts, *, accepts: bool
    ) -> None:
        # the lines of the baseline between those that are equal to the lines around the edit
        first = next((line + 1 for line in reversed(self.equal[: edit.start]) if line is not None), 0)
        last = next((line for line in self.equal[edit.end :] if line is not None), len(self.lines))
        removed = {line for line in self.equal[edit.start : edit.end] if line is not None}
        if accepts:
            self.entry = None
        else:
            for line in removed:
                self.gone[line] = self.gone[line] or by
        left = [line for line in range(first, last) if not (accepts and line in removed)]
        lines: list[bytes] = []
        gone: list[LineWriter | None] = []
        equal: list[int | None] = []
        # accepted lines take the place of those that they replace
        follows_equal = edit.start == 0 or self.equal[edit.start - 1] is not None
        is_right_before_a_change = follows_equal and edit.end < len(self.equal) and self.equal[edit.end] is None
        pivot = min(removed) if removed else first if is_right_before_a_change else last
        at = 0
        # a line that the baseline still has is the same line again
        script = texts.edits([self.lines[line] for line in left], list(edit.lines))
        for piece in (*script, Edit(len(left), len(left), ())):
            for line in left[at : piece.start]:
                equal.append(first + len(lines))
                lines.append(self.lines[line])
                gone.append(None)
            at = piece.end
            stays = left[piece.start : piece.end]
            ahead = [line for line in stays if line < pivot]
            begin = first + len(lines) + len(ahead)
            comes: list[bytes] = []
            for lineage_of_file in piece.lines:
                is_accepted = accepts and origins[len(equal)].accepted
                equal.append(begin + len(comes) if is_accepted else None)
                if is_accepted:
                    comes.append(lineage_of_file)
            behind = stays[len(ahead) :]
            lines += [*(self.lines[line] for line in ahead), *comes, *(self.lines[line] for line in behind)]
            accepted: list[LineWriter | None] = [None] * len(comes)
            gone += [*(self.gone[line] for line in ahead), *accepted, *(self.gone[line] for line in behind)]
        self.lines[first:last] = lines
        self.gone[first:last] = gone
        shift = len(lines) - (last - first)
        following = self.equal[edit.end :]
        if shift:
            following = [None if line is None else line + shift for line in following]
        self.equal[edit.start :] = [*equal, *following]

    # -- what a person accepts

    def keep(
        self, path: RelPath, entry: Entry | None, lines: list[bytes] | None, now: list[bytes], texts: Texts
    ) -> None:
        """Makes what a person kept the baseline, at the path of the file: a move is accepted, too.

        `entry` is None for no file; `lines` are its lines, None if it is not text; and `now` are the current lines.
        """
        new = lines or []
        gone: list[LineWriter | None] = [None] * len(new)
        for line, before in equal_lines(texts.edits(self.lines, new), len(self.lines), len(new)):
            gone[line] = self.gone[before]
        self.equal = [None] * len(now)
        for line, before in equal_lines(texts.edits(new, now), len(new), len(now)):
            self.equal[line] = before
            gone[before] = None
        self.path, self.entry, self.mode = path, entry, None if entry is None else entry.mode
        self.lines, self.gone, self.is_text = new, gone, lines is not None

    def accept_unowned(self, now: Sequence[bytes], writers: Sequence[LineWriter]) -> None:
        """Accepts the changes in which no agent has a part any more."""
        if not self.is_mixed:
            return
        for block in reversed(list(self.blocks(writers))):
            if block.steps:
                continue
            self.entry = None
            count = block.end - block.start
            self.lines[block.base_start : block.base_end] = now[block.start : block.end]
            self.gone[block.base_start : block.base_end] = [None] * count
            shift = count - (block.base_end - block.base_start)
            self.equal[block.start : block.end] = range(block.base_start, block.base_start + count)
            self.equal[block.end :] = [None if line is None else line + shift for line in self.equal[block.end :]]

    def blocks(self, writers: Sequence[LineWriter]) -> Iterator[Block]:
        """Yields where the file, whose lines have these writers, differs from the baseline, in order."""
        order = {step: place for place, step in enumerate(self.steps)}
        at = base = 0
        while at < len(self.equal) or base < len(self.lines):
            if at < len(self.equal) and self.equal[at] == base:
                at, base = at + 1, base + 1
                continue
            start, base_start = at, base
            while at < len(self.equal) and self.equal[at] is None:
                at += 1
            following = self.equal[at] if at < len(self.equal) else None
            base = len(self.lines) if following is None else following
            wrote = [*writers[start:at], *self.gone[base_start:base]]
            steps = {step for writer in wrote if writer is not None for step in writer.steps}
            # what came back may be of a step that is older than the first change
            yield Block(start, at, base_start, base, tuple(sorted(steps, key=lambda step: (order.get(step, -1), step))))


@attrs.frozen
class Version:
    """A file as it was for a while, in milliseconds since 1970."""

    lines: Sequence[bytes]
    writers: Sequence[LineWriter]
    since: int | None  # None if unknown
    until: int | None  # None if unknown, or if it is still like this


_Distance = tuple[int, int]
"""How many lines of a text a version lacks, and how far away in time it is."""
_FAR: _Distance = (1 << 62, 0)


def writers_of(
    text: bytes, when: int | None, versions: Callable[[], Iterable[Version]], texts: Texts
) -> list[LineWriter]:
    """Returns who wrote each line of a text, such as a committed one, from all versions of its file, oldest first.

    An identical version decides. Otherwise, a line belongs to its writer in a version that has it; the one with the
    most lines of the text comes first, since a commit may combine several versions. Among equals, the version that
    existed at the time of the text (`when`, ms since 1970) decides, or else the latest. Line ends do not count, since
    others may store them differently. A line that no version has at this place is by `UNKNOWN`.

    `versions` is called again if none is identical.
    """
    wanted = without_ends(split_lines(text))
    # most often there is one, and to look for it takes no comparison
    same = _very_text(wanted, when, versions())
    if same is not None:
        return list(same.writers)
    best = _Best(wanted)
    for version in versions():
        best.consider(version, when, texts)
    return best.writers


def _very_text(wanted: list[bytes], when: int | None, versions: Iterable[Version]) -> Version | None:
    result: Version | None = None
    distance = 0
    for version in versions:
        if len(version.lines) != len(wanted) or without_ends(version.lines) != wanted:
            continue
        away = _time_distance(version, when)
        if result is None or away <= distance:
            result, distance = version, away
        if when is not None and away == 0:
            break
    return result


class _Best:
    """The writer of each line, from the best of the versions so far that have the line."""

    def __init__(self, wanted: list[bytes]) -> None:
        self._wanted = wanted
        self._counts = Counter(wanted)
        self.writers: list[LineWriter] = [UNKNOWN] * len(wanted)
        self._distances: list[_Distance] = [_FAR] * len(wanted)

    def consider(self, version: Version, when: int | None, texts: Texts) -> None:
        lines = without_ends(version.lines)
        away = _time_distance(version, when)
        # no comparison finds more equal lines than this
        missing = (self._counts - Counter(lines)).total()
        if missing == len(self._wanted) or (missing, away) > max(self._distances):
            return
        equal = list(equal_lines(texts.edits(lines, self._wanted), len(lines), len(self._wanted)))
        distance = len(self._wanted) - len(equal), away
        for line, there in equal:
            if distance <= self._distances[line]:
                self._distances[line], self.writers[line] = distance, version.writers[there]


def without_ends(lines: Sequence[bytes]) -> list[bytes]:
    """Returns the lines, all with the same line end."""
    data = b"".join(lines)
    if data and not data.endswith(b"\n"):
        data += b"\n"
    return split_lines(data.replace(b"\r\n", b"\n"))


def _time_distance(version: Version, when: int | None) -> int:
    if when is None:
        return 0
    too_early = 0 if version.since is None else version.since - when
    too_late = 0 if version.until is None else when - version.until
    return max(0, too_early, too_late)
