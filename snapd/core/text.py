"""Text as git sees it: what is binary, how many lines changed, and how to show bytes as characters."""

from __future__ import annotations

import pygit2
from pygit2.enums import DiffOption

_FIRST_BYTES = 8000
_HUNK = b"@@ -"
_CONTEXT_LINES = 3


def is_binary(data: bytes) -> bool:
    """Whether git takes the bytes for binary: a NUL among the first 8000 (git's `buffer_is_binary`)."""
    return b"\0" in data[:_FIRST_BYTES]


def count_lines(data: bytes) -> int:
    """The number of lines, a last one without newline included."""
    return data.count(b"\n") + (not data.endswith(b"\n") if data else 0)


def line_changes(old: bytes, new: bytes) -> tuple[int, int]:
    """Lines added and deleted, as `git diff --numstat` counts them. Neither side may be binary."""
    if not old or not new:
        return count_lines(new), count_lines(old)
    if old == new:
        return 0, 0
    patch = pygit2.Patch.create_from(old, new, flag=DiffOption.FORCE_TEXT, context_lines=0)
    _, additions, deletions = patch.line_stats
    return additions, deletions


def hunks(old: bytes, new: bytes) -> bytes:
    """The hunks of a unified diff, three lines of context, as git writes them. Neither side may be binary."""
    flags = DiffOption.INDENT_HEURISTIC | DiffOption.FORCE_TEXT
    patch = pygit2.Patch.create_from(old, new, flag=flags, context_lines=_CONTEXT_LINES)
    data: bytes = patch.data
    if data.startswith(_HUNK):
        return data
    start = data.find(b"\n" + _HUNK)
    return data[start + 1 :] if start >= 0 else b""


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
