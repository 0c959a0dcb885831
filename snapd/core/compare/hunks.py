"""Lists the hunks of one change of a text file, and takes some of them back."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import InvalidParams

from .edits import split_lines
from .text import decode

if TYPE_CHECKING:
    from collections.abc import Collection

    from snapd.core.call import Call
    from snapd.core.ports.differ import TextDiffer

_HEADER = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@attrs.frozen
class Hunk:
    r"""One hunk of a unified diff, for people.

    Attributes:
        index: its place in the change, from 0.
        header: the line that begins with "@@".
        lines: each with its " ", "+" or "-", without its newline; "\ No newline at end of file" follows a line that has
            none.
        old: its lines in the text before: the first, from 0, and the one after the last.
        new: its lines in the text afterwards, in the same way.
    """

    index: int
    header: str
    lines: tuple[str, ...]
    old: tuple[int, int]
    new: tuple[int, int]


def hunks(old: bytes, new: bytes, texts: TextDiffer, call: Call) -> tuple[Hunk, ...]:
    """Lists the hunks that `git diff` shows for a change, with three lines of context.

    Args:
        old: the text before, not binary; empty for no file.
        new: the text after, not binary; empty for no file.
        texts: compares the two.
        call: the request.

    Returns:
        The hunks as a unified diff of the change shows them; for the encoding see `snapd.core.compare.text.decode`.

    Raises:
        IoError, Cancelled: from `texts`.
    """
    patch = texts.hunks(old, new, call)
    _, encoding = decode(patch)
    found: list[Hunk] = []
    for piece in _pieces(patch):
        header, *lines = piece.decode(encoding or "utf-8").split("\n")[:-1]
        sides = [(side.start, side.stop) for side in _ranges(piece)]
        found.append(Hunk(len(found), header, tuple(lines), *sides))
    return tuple(found)


def without(old: bytes, new: bytes, indexes: Collection[int], texts: TextDiffer, call: Call) -> bytes:
    """Takes some of the hunks of a change back out of the text.

    Args:
        old: as of `hunks`.
        new: as of `hunks`.
        indexes: the hunks, counted from 0.
        texts: as of `hunks`.
        call: the request.

    Raises:
        InvalidParams: there is no such hunk, or a hunk is named twice.
        IoError, Cancelled: from `texts`.
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
    """Splits a patch into its hunks, each with its header."""
    # all other lines begin with a blank, a sign or a backslash
    starts = [found.start() for found in _HEADER.finditer(patch)]
    return [patch[start:end] for start, end in pairwise([*starts, len(patch)])]


def _ranges(piece: bytes) -> tuple[slice, slice]:
    """The ranges of lines of a hunk, before and after, counted from 0."""
    found = _HEADER.match(piece)
    assert found is not None
    sides = []
    for start, count in (found.group(1, 2), found.group(3, 4)):
        length = 1 if count is None else int(count)
        # the range of an empty file begins at line 0
        first = max(int(start) - 1, 0)
        sides.append(slice(first, first + length))
    return sides[0], sides[1]
