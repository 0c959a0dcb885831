"""The hunks of one change of a text file, and the text without some of them."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import InvalidParams

from .text import decode

if TYPE_CHECKING:
    from collections.abc import Collection

    from snapd.core.call import Call
    from snapd.core.ports.differ import TextDiffer

_HEADER = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


@attrs.frozen
class Hunk:
    r"""One hunk of a unified diff, for people.

    Attributes:
        index: its place, from 0.
        header: the line that begins with "@@".
        lines: each with its " ", "+" or "-", without its newline; "\ No newline at end of file" follows one that has
            none.
    """

    index: int
    header: str
    lines: tuple[str, ...]


def hunks(old: bytes, new: bytes, texts: TextDiffer, call: Call) -> tuple[Hunk, ...]:
    """The hunks that `git diff` shows for a change, with three lines of context.

    Args:
        old: the text before; empty where there was no file.
        new: the text afterwards, likewise. Neither may be binary.
        texts: compares the two.
        call: the request.

    Returns:
        Them as a unified diff of the change shows them, see `snapd.core.compare.text.decode`.

    Raises:
        IoError, Cancelled: from `texts`.
    """
    patch = texts.hunks(old, new, call)
    _, encoding = decode(patch)
    pieces = [piece.decode(encoding or "utf-8").split("\n")[:-1] for piece in _pieces(patch)]
    return tuple(Hunk(at, header, tuple(lines)) for at, (header, *lines) in enumerate(pieces))


def without(old: bytes, new: bytes, indexes: Collection[int], texts: TextDiffer, call: Call) -> bytes:
    """A text with some of the hunks taken back that made it what it is.

    Args:
        old: as of `hunks`.
        new: likewise.
        indexes: which hunks.
        texts: as of `hunks`.
        call: the request.

    Raises:
        InvalidParams: there is no such hunk, or one is named twice.
        IoError, Cancelled: from `texts`.
    """
    pieces = _pieces(texts.hunks(old, new, call))
    for index in indexes:
        if not 0 <= index < len(pieces):
            raise InvalidParams(
                f"hunks: there is no hunk {index}, only {len(pieces)}, from 0",
                hint="`step/hunks` gives the hunks and their numbers",
                field="hunks",
            )
    wanted = set(indexes)
    if len(wanted) != len(indexes):
        raise InvalidParams("hunks: one is named twice", field="hunks")
    before, after = _lines(old), _lines(new)
    # from the last, for the places of those above it to stay right
    for index in sorted(wanted, reverse=True):
        was, is_ = _ranges(pieces[index])
        after[is_] = before[was]
    return b"".join(after)


def _pieces(patch: bytes) -> list[bytes]:
    """The hunks of a patch, header and all."""
    # every other line of a hunk begins with a blank, a sign or a backslash
    starts = [found.start() for found in _HEADER.finditer(patch)]
    return [patch[start:end] for start, end in pairwise([*starts, len(patch)])]


def _ranges(piece: bytes) -> tuple[slice, slice]:
    """The lines that a hunk is about, before and afterwards, counted from 0."""
    found = _HEADER.match(piece)
    assert found is not None
    sides = []
    for start, count in (found.group(1, 2), found.group(3, 4)):
        length = 1 if count is None else int(count)
        # no lines, which are those of an empty file, begin at 0
        first = max(int(start) - 1, 0)
        sides.append(slice(first, first + length))
    return sides[0], sides[1]


def _lines(data: bytes) -> list[bytes]:
    """Lines as git sees them, each with its newline; of the other line ends it knows nothing."""
    return _LINE.findall(data)
