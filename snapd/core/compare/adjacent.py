"""Joins two changes of a text that touch but do not overlap.

git takes two changes for a conflict as soon as they touch: a line that somebody adds right below the last line of an
agent's edit cannot be merged with the undo of that edit. But the order of the two is certain, unless both insert lines
at the same place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .edits import Edit


def join(base: Sequence[bytes], ours: Iterable[Edit], theirs: Iterable[Edit]) -> bytes | None:
    """Makes both changes of a text.

    Args:
        base: the lines that both started from, each with its line end.
        ours: the edits of one change, none of which touches another.
        theirs: the edits of the other change, none of which touches another.

    Returns:
        The text with both; None if the changes overlap, or if both insert other lines at the same place.
    """
    edits = sorted({*ours, *theirs}, key=lambda edit: (edit.start, edit.end))
    pieces: list[bytes] = []
    at = 0
    last: Edit | None = None
    for edit in edits:
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
