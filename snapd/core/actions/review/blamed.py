"""The lines of a text, each run of them with its writer."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import InvalidParams
from snapd.core.paths import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from snapd.core.model import RelPath
    from snapd.core.ports.notes import NotedCommit, NoteProblem
    from snapd.core.review.changes import LineWriter


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
