"""Finds the lines that keep two changes of a text from being merged, so that people can see them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from snapd.core.model import Dispute

from .adjacent import Edit
from .text import decode, is_binary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from snapd.core.call import Call
    from snapd.core.ports.differ import TextDiffer

MOST_LINES = 100
"""The most lines that are shown of each side."""

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_HEADER = re.compile(rb"@@ -(\d+)(?:,(\d+))? ")


def dispute(left: bytes, now: bytes, wanted: bytes, texts: TextDiffer, call: Call) -> Dispute | None:
    """Finds the first lines in which two changes of a text overlap.

    Args:
        left: the text that both changes began with.
        now: one change's result: the text as it is.
        wanted: the other's: the text to get back.
        texts: compares the texts.
        call: the request.

    Returns:
        The lines; None if a text is binary, or the changes do not overlap.

    Raises:
        IoError, Cancelled: from `texts`.
    """
    if any(is_binary(side) for side in (left, now, wanted)):
        return None
    ours, theirs = (_edits(texts.hunks(left, side, call)) for side in (now, wanted))
    first = next(((one, other) for one in ours for other in theirs if _overlap(one, other)), None)
    if first is None:
        return None
    region = Edit(min(edit.start for edit in first), max(edit.end for edit in first), ())
    while (wider := _widened(region, (*ours, *theirs))) != region:
        region = wider
    base = _LINE.findall(left)
    line = 1 + region.start + sum(len(edit.lines) + edit.start - edit.end for edit in ours if edit.start < region.start)
    sides = [_applied(base, region, edits) for edits in (ours, (), theirs)]
    shown, _ = decode(*(b"".join(side[:MOST_LINES]) for side in sides))
    now_lines, left_lines, wanted_lines = (tuple(_split(text)) for text in shown)
    return Dispute(line, now_lines, left_lines, wanted_lines)


def _split(text: str) -> list[str]:
    """Splits a text into its lines, without their ends."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _edits(patch: bytes) -> list[Edit]:
    """Reads the hunks of a unified diff as edits; context lines separate one from the next."""
    found: list[Edit] = []
    at = start = 0
    new: list[bytes] = []

    def end() -> None:
        if new or at > start:
            found.append(Edit(start, at, tuple(new)))
        new.clear()

    for line in _LINE.findall(patch):
        header = _HEADER.match(line)
        if header is not None:
            end()
            # a range of no lines names the line before it
            at = start = int(header[1]) - (header[2] != b"0")
        elif line.startswith(b"-"):
            at += 1
        elif line.startswith(b"+"):
            new.append(line[1:])
        elif line.startswith(b" "):
            end()
            at += 1
            start = at
    end()
    return found


def _overlap(one: Edit, other: Edit) -> bool:
    both_insert_there = one.start == one.end == other.start == other.end
    return (both_insert_there and one != other) or (one.start < other.end and other.start < one.end and one != other)


def _widened(region: Edit, edits: Iterable[Edit]) -> Edit:
    reached = [edit for edit in edits if edit.start < region.end and region.start < edit.end]
    ends = (region, *reached)
    return Edit(min(edit.start for edit in ends), max(edit.end for edit in ends), ())


def _applied(base: Sequence[bytes], region: Edit, edits: Iterable[Edit]) -> list[bytes]:
    """The lines of a region with the edits in it made."""
    lines: list[bytes] = []
    at = region.start
    for edit in edits:
        if region.start <= edit.start and edit.end <= region.end:
            lines += base[at : edit.start]
            lines += edit.lines
            at = edit.end
    return [*lines, *base[at : region.end]]
