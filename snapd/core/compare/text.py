"""Text as git sees it: what is binary, how many lines changed, and how to show bytes as characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pygit2
from pygit2.enums import DiffOption

if TYPE_CHECKING:
    from snapd.core.call import Call

_FIRST_BYTES = 8000
_HUNK = b"@@ -"
_CONTEXT_LINES = 3
_NEWLINE = 0x0A
_SMALL_BYTES = 1 << 10
_PLAIN_BYTES = 1 << 16
"""Longer differences are compared at once: looking whether that is needed would take long as well."""


def is_binary(data: bytes) -> bool:
    """Whether git takes the bytes for binary: a NUL among the first 8000 (git's `buffer_is_binary`)."""
    return b"\0" in data[:_FIRST_BYTES]


def count_lines(data: bytes) -> int:
    """The number of lines, a last one without newline included."""
    return data.count(b"\n") + (not data.endswith(b"\n") if data else 0)


def plain_changes(old: bytes, new: bytes) -> tuple[int, int] | None:
    """Lines added and deleted where that is plain: between what both begin and end with, no line is on both sides.

    Git's comparison leaves out equal lines at both ends too, and then looks for lines that both sides have
    (`xdl_trim_ends`, `xdl_cleanup_records`). Where there is none, any way to compare gives the same numbers.

    Returns:
        None where lines have to be compared.
    """
    start = _common_start(old, new)
    before, behind = _without_common_end(old[start:], new[start:])
    if before and behind and (len(before) + len(behind) > _PLAIN_BYTES or _have_common_line(before, behind)):
        return None
    return count_lines(behind), count_lines(before)


def _common_start(old: bytes, new: bytes) -> int:
    """The length of the lines that both begin with."""
    same, most = 0, min(len(old), len(new))
    # lines at the end are what most often comes and goes
    if old.startswith(new) or new.startswith(old):
        same = most
    while same < most:
        middle = (same + most + 1) // 2
        if old[same:middle] == new[same:middle]:
            same = middle
        else:
            most = middle - 1
    if same == len(old) == len(new):
        return same
    return old.rfind(b"\n", 0, same) + 1


def _without_common_end(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """Both sides without the lines that both end with."""
    same, most = 0, min(len(old), len(new))
    while same < most:
        middle = (same + most + 1) // 2
        if old[len(old) - middle : len(old) - same] == new[len(new) - middle : len(new) - same]:
            same = middle
        else:
            most = middle - 1
    starts = (len(old) - same, len(new) - same)
    if not all(at == 0 or side[at - 1] == _NEWLINE for side, at in zip((old, new), starts, strict=True)):
        # it begins within a line of one side
        newline = old.find(b"\n", starts[0])
        same = 0 if newline < 0 else len(old) - newline - 1
    return old[: len(old) - same], new[: len(new) - same]


def _have_common_line(old: bytes, new: bytes) -> bool:
    # what follows the last newline is a line only where the text ends without one, and then differs: it is the end
    return not set(old.split(b"\n")[:-1]).isdisjoint(new.split(b"\n")[:-1])


def compare_lines(old: bytes, new: bytes) -> tuple[int, int]:
    """Lines added and deleted, as `git diff --numstat` counts them, by comparing all. Neither side may be binary."""
    patch = pygit2.Patch.create_from(old, new, flag=DiffOption.FORCE_TEXT, context_lines=0)
    _, additions, deletions = patch.line_stats
    return additions, deletions


def known_changes(old: bytes, new: bytes) -> tuple[int, int] | None:
    """As `plain_changes`, where to find out takes less than a comparison; else None."""
    if not old or not new:
        return count_lines(new), count_lines(old)
    return plain_changes(old, new) if len(old) + len(new) >= _SMALL_BYTES else None


def line_changes(old: bytes, new: bytes) -> tuple[int, int]:
    """As `compare_lines`, without comparing where the numbers are known."""
    known = known_changes(old, new)
    return compare_lines(old, new) if known is None else known


def hunks(old: bytes, new: bytes) -> bytes:
    """The hunks of a unified diff, three lines of context, as git writes them. Neither side may be binary."""
    flags = DiffOption.INDENT_HEURISTIC | DiffOption.FORCE_TEXT
    patch = pygit2.Patch.create_from(old, new, flag=flags, context_lines=_CONTEXT_LINES)
    data: bytes = patch.data
    if data.startswith(_HUNK):
        return data
    start = data.find(b"\n" + _HUNK)
    return data[start + 1 :] if start >= 0 else b""


class DirectDiffer:
    """Compares texts at once, in the thread that asks: a `ports.TextDiffer` that hears of no cancel meanwhile."""

    def line_changes(self, old: bytes, new: bytes, call: Call) -> tuple[int, int]:
        """See `ports.TextDiffer.line_changes`."""
        call.check()
        return line_changes(old, new)

    def hunks(self, old: bytes, new: bytes, call: Call) -> bytes:
        """See `ports.TextDiffer.hunks`."""
        call.check()
        return hunks(old, new)


def decode(*sides: bytes) -> tuple[list[str], str | None]:
    """Shows bytes as text.

    Args:
        sides: the bytes that are to be looked at together.

    Returns:
        A string for each: UTF-8, with its byte order mark if it has one. Where one of them is not UTF-8, all are
        shown as Latin-1, a character for each byte, so that none is lost; and then that encoding's name.
    """
    try:
        return [side.decode("utf-8") for side in sides], None
    except UnicodeDecodeError:
        return [side.decode("latin-1") for side in sides], "latin-1"
