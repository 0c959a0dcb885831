"""Finds the lines that keep two changes of a text from being merged, so that people can see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.model import Dispute

from .edits import Edit, edits, split_lines
from .text import decode, is_binary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from snapd.core.call import Call
    from snapd.core.ports.differ import TextDiffer

MOST_LINES = 100
"""The most lines that are shown of each side."""


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
    base = split_lines(left)
    ours, theirs = (edits(base, split_lines(side), texts, call) for side in (now, wanted))
    first = next(((one, other) for one in ours for other in theirs if _overlap(one, other)), None)
    if first is None:
        return None
    region = Edit(min(edit.start for edit in first), max(edit.end for edit in first), ())
    while (wider := _widened(region, (*ours, *theirs))) != region:
        region = wider
    line = 1 + region.start + sum(len(edit.lines) + edit.start - edit.end for edit in ours if edit.start < region.start)
    sides = [_applied(base, region, made) for made in (ours, (), theirs)]
    shown, _ = decode(*(b"".join(side[:MOST_LINES]) for side in sides))
    now_lines, left_lines, wanted_lines = (tuple(_split(text)) for text in shown)
    return Dispute(line, now_lines, left_lines, wanted_lines)


def _split(text: str) -> list[str]:
    """Splits a text into its lines, without their ends."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _overlap(one: Edit, other: Edit) -> bool:
    both_insert_there = one.start == one.end == other.start == other.end
    return (both_insert_there and one != other) or (one.start < other.end and other.start < one.end and one != other)


def _widened(region: Edit, found: Iterable[Edit]) -> Edit:
    reached = [edit for edit in found if edit.start < region.end and region.start < edit.end]
    ends = (region, *reached)
    return Edit(min(edit.start for edit in ends), max(edit.end for edit in ends), ())


def _applied(base: Sequence[bytes], region: Edit, made: Iterable[Edit]) -> list[bytes]:
    """The lines of a region with the edits in it made."""
    lines: list[bytes] = []
    at = region.start
    for edit in made:
        if region.start <= edit.start and edit.end <= region.end:
            lines += base[at : edit.start]
            lines += edit.lines
            at = edit.end
    return [*lines, *base[at : region.end]]
