"""The lines of a text, each run of them with its writer."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import InvalidParams
from snapd.core.paths import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.core.model import RelPath
    from snapd.core.review.changes import LineWriter


@attrs.frozen
class BlamedLines:
    """Lines of one writer.

    Attributes:
        start: the first line, from 1.
        count: how many lines.
        writer: who wrote them.
    """

    start: int
    count: int
    writer: LineWriter


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
