"""Line-by-line edits between two texts, and the hunks that are shown and reverted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from io import BytesIO
from itertools import groupby, pairwise

import attrs

from snapd.model.call import Call
from snapd.model.errors import InvalidParams

from .text import TextDiffer, common, decode

_HEADER = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@attrs.frozen
class Edit:
    """Lines of a text, from `start` (0 is the first) to before `end`, that were replaced by new ones with line ends.

    An insertion has `start` equal to `end`: the line before which the new lines stand.
    """

    start: int
    end: int
    lines: tuple[bytes, ...]


def split_lines(data: bytes) -> list[bytes]:
    """Splits lines as git does, each with its newline: only LF ends a line."""
    return BytesIO(data).readlines()


def edits(old: Sequence[bytes], new: Sequence[bytes], texts: TextDiffer, call: Call) -> list[Edit]:
    """Returns the edits between two texts in line order, as `git diff` finds them, with equal lines between them."""
    first = common(old, new)
    last = common(old[first:][::-1], new[first:][::-1])
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
    """Yields each line of the new text that has an equal old one, with that; `made` are the edits from old to new."""
    shift = at = 0
    for edit in (*made, Edit(old, old, ())):
        yield from ((line + shift, line) for line in range(at, edit.start))
        at, shift = edit.end, shift + len(edit.lines) - (edit.end - edit.start)
    assert old + shift == new


def _places(patch: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yields the line ranges that a unified diff replaces and inserts: where each begins and ends, from 0."""
    for piece in _pieces(patch):
        start, new_start = (side.start for side in _ranges(piece))
        # a last line without an end has a line of its own, with a backslash
        signs = [line[:1] for line in split_lines(piece)[1:] if not line.startswith(b"\\")]
        for is_equal, run in groupby(signs, b" ".__eq__):
            matches = list(run)
            end = start + len(matches) - matches.count(b"+")
            new_end = new_start + len(matches) - matches.count(b"-")
            if not is_equal:
                yield start, end, new_start, new_end
            start, new_start = end, new_end


def join(base: Sequence[bytes], ours: Iterable[Edit], theirs: Iterable[Edit]) -> bytes | None:
    """Applies two changes of a text, which may touch; None if they overlap or insert different lines at one place.

    git reports a conflict as soon as two changes touch: a line added right below an agent's edit cannot be merged with
    the undo of that edit. But the order of the two is certain, unless both insert lines at the same place. The edits of
    one change must not touch each other.
    """
    both = sorted({*ours, *theirs}, key=lambda edit: (edit.start, edit.end))
    pieces: list[bytes] = []
    at = 0
    last: Edit | None = None
    for edit in both:
        if edit.start < at or (last is not None and last.start == last.end == edit.start == edit.end):
            return None
        pieces += base[at : edit.start]
        pieces += edit.lines
        at, last = edit.end, edit
    pieces += base[at:]
    if not all(piece.endswith(b"\n") for piece in pieces[:-1]):
        # a last line without an end came before another line
        return None
    return b"".join(pieces)


@attrs.frozen
class Hunk:
    r"""One hunk of a unified diff, for display."""

    index: int  # from 0
    header: str  # the line that begins with "@@"
    # with " ", "+" or "-", without newlines; "\ No newline at end of file" follows a line that has none
    lines: tuple[str, ...]
    old: tuple[int, int]  # its lines in the text before: the first, from 0, and the one after the last
    new: tuple[int, int]  # the same for the text after


def hunks(old: bytes, new: bytes, texts: TextDiffer, call: Call) -> tuple[Hunk, ...]:
    """Returns the hunks that `git diff` shows for a change, with three lines of context, decoded as by `text.decode`.

    Neither side may be binary; empty stands for no file.
    """
    patch = texts.hunks(old, new, call)
    _, encoding = decode(patch)
    matches: list[Hunk] = []
    for piece in _pieces(patch):
        header, *lines = piece.decode(encoding or "utf-8").split("\n")[:-1]
        sides = [(side.start, side.stop) for side in _ranges(piece)]
        matches.append(Hunk(len(matches), header, tuple(lines), *sides))
    return tuple(matches)


def without(old: bytes, new: bytes, indexes: Collection[int], texts: TextDiffer, call: Call) -> bytes:
    """Removes some of the hunks of a change, counted from 0, from the new text.

    Raises `InvalidParams` if there is no such hunk or one is given twice.
    """
    pieces = _pieces(texts.hunks(old, new, call))
    for index in indexes:
        if not 0 <= index < len(pieces):
            raise InvalidParams(
                f"hunks: there is no hunk {index}, only {len(pieces)}, from 0",
                hint="`step/hunks` and `review/file` give the hunks and their numbers",
                field="hunks",
            )
    wanted = set(indexes)
    if len(wanted) != len(indexes):
        raise InvalidParams("hunks: a hunk is named twice; name each once", field="hunks")
    before, after = split_lines(old), split_lines(new)
    # from the last to the first, so that the line numbers of the others stay right
    for index in sorted(wanted, reverse=True):
        was, is_ = _ranges(pieces[index])
        after[is_] = before[was]
    return b"".join(after)


def _pieces(patch: bytes) -> list[bytes]:
    # all other lines begin with a blank, a sign or a backslash
    starts = [result.start() for result in _HEADER.finditer(patch)]
    return [patch[start:end] for start, end in pairwise([*starts, len(patch)])]


def _ranges(piece: bytes) -> tuple[slice, slice]:
    """Returns the ranges of lines of a hunk, before and after, counted from 0."""
    result = _HEADER.match(piece)
    assert result is not None
    sides = []
    for start, count in (result.group(1, 2), result.group(3, 4)):
        length = 1 if count is None else int(count)
        # the range of an empty file begins at line 0
        first = max(int(start) - 1, 0)
        sides.append(slice(first, first + length))
    return sides[0], sides[1]
