"""The edits that make one text of another, line by line."""

from __future__ import annotations

import re
from io import BytesIO
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from snapd.core.call import Call
    from snapd.core.ports.differ import TextDiffer

_HEADER = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@attrs.frozen
class Edit:
    """Lines of a text that somebody replaced.

    Attributes:
        start: the first replaced line, from 0; for an insertion, the line before which the new lines stand.
        end: the line after the last replaced one.
        lines: the new lines, each with its line end.
    """

    start: int
    end: int
    lines: tuple[bytes, ...]


def split_lines(data: bytes) -> list[bytes]:
    """Splits lines as git does, each with its newline: only LF ends a line."""
    return BytesIO(data).readlines()


def edits(old: Sequence[bytes], new: Sequence[bytes], texts: TextDiffer, call: Call) -> list[Edit]:
    """Finds the edits between two texts, as `git diff` does.

    Args:
        old: the lines of the text before, each with its line end.
        new: those of the text after.
        texts: compares what differs.
        call: the request.

    Returns:
        The edits, from the first line to the last; at least one equal line stands between two of them.

    Raises:
        IoError, Cancelled: from `texts`.
    """
    first = _common(old, new)
    last = _common(old[first:][::-1], new[first:][::-1])
    before, behind = old[first : len(old) - last], new[first : len(new) - last]
    if not before and not behind:
        return []
    # git, too, compares only what is between the common ends; without a common line, all of it is one edit
    if not before or not behind or set(before).isdisjoint(behind):
        return [Edit(first, first + len(before), tuple(behind))]
    patch = texts.hunks(b"".join(before), b"".join(behind), call)
    return [
        Edit(first + start, first + end, tuple(behind[new_start:new_end]))
        for start, end, new_start, new_end in _places(patch)
    ]


def equal_lines(made: Sequence[Edit], old: int, new: int) -> Iterator[tuple[int, int]]:
    """Pairs the equal lines of two texts.

    Args:
        made: the edits from the one to the other.
        old: how many lines the one has.
        new: how many lines the other has.

    Yields:
        A line of the new text, and the equal line of the old one.
    """
    shift = at = 0
    for edit in (*made, Edit(old, old, ())):
        yield from ((line + shift, line) for line in range(at, edit.start))
        at, shift = edit.end, shift + len(edit.lines) - (edit.end - edit.start)
    assert old + shift == new


def _common(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    """Counts the equal lines that both begin with."""
    same, most = 0, min(len(old), len(new))
    while same < most:
        middle = (same + most + 1) // 2
        if old[same:middle] == new[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same


def _places(patch: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Finds the lines that a unified diff replaces, and those that it puts there: where each begin and end, from 0."""
    at = new_at = 0
    start = new_start = 0
    for line in split_lines(patch):
        header = _HEADER.match(line)
        if line.startswith(b"-"):
            at += 1
        elif line.startswith(b"+"):
            new_at += 1
        elif header is not None or line.startswith(b" "):
            if at > start or new_at > new_start:
                yield start, at, new_start, new_at
            if header is not None:
                # a range of no lines names the line before it
                at, new_at = (int(header[one]) - (header[one + 1] != b"0") for one in (1, 3))
            else:
                at, new_at = at + 1, new_at + 1
            start, new_start = at, new_at
    if at > start or new_at > new_start:
        yield start, at, new_start, new_at
