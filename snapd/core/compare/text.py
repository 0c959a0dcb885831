"""Treats text as git does: what is binary, how many lines changed, and how bytes are shown as characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pygit2
from pygit2.enums import DiffOption

from snapd.model.call import Call
from snapd.model.snapshot import ObjectId

_FIRST_BYTES = 8000
_HUNK = b"@@ -"
_CONTEXT_LINES = 3
_NEWLINE = 0x0A
_SMALL_BYTES = 1 << 10
_PLAIN_BYTES = 1 << 16
"""Longer differences are compared directly: looking for a shortcut would take as long."""


def is_binary(data: bytes) -> bool:
    """Whether git treats the bytes as binary: a NUL among the first 8000 (git's `buffer_is_binary`)."""
    return b"\0" in data[:_FIRST_BYTES]


def count_lines(data: bytes) -> int:
    """Counts lines, including a last line without a newline."""
    return data.count(b"\n") + (not data.endswith(b"\n") if data else 0)


def plain_changes(old: bytes, new: bytes) -> tuple[int, int] | None:
    """Counts added and deleted lines if no line between the common ends is on both sides; else returns None.

    git also trims equal lines at both ends first, and then looks for lines on both sides (`xdl_trim_ends`,
    `xdl_cleanup_records`). If there is none, every comparison gives the same numbers.
    """
    same = common(old, new)
    start = same if same == len(old) == len(new) else old.rfind(b"\n", 0, same) + 1
    before, behind = _without_common_end(old[start:], new[start:])
    if before and behind and (len(before) + len(behind) > _PLAIN_BYTES or _have_common_line(before, behind)):
        return None
    return count_lines(behind), count_lines(before)


def common(old: Sequence[object], new: Sequence[object]) -> int:
    """Counts the equal leading lines, or bytes."""
    same, most = 0, min(len(old), len(new))
    # most often something is added or removed at the end
    if old[:most] == new[:most]:
        return most
    while same < most:
        middle = (same + most + 1) // 2
        if old[same:middle] == new[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same


def _without_common_end(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    same, most = 0, min(len(old), len(new))
    while same < most:
        middle = (same + most + 1) // 2
        if old[len(old) - middle : len(old) - same] == new[len(new) - middle : len(new) - same]:
            same = middle
        else:
            most = middle - 1
    starts = (len(old) - same, len(new) - same)
    if not all(at == 0 or side[at - 1] == _NEWLINE for side, at in zip((old, new), starts, strict=True)):
        # the common end begins within a line of one side
        newline = old.find(b"\n", starts[0])
        same = 0 if newline < 0 else len(old) - newline - 1
    return old[: len(old) - same], new[: len(new) - same]


def _have_common_line(old: bytes, new: bytes) -> bool:
    # a last line without a newline differs in any case, because the common end is cut off
    return not set(old.split(b"\n")[:-1]).isdisjoint(new.split(b"\n")[:-1])


def compare_lines(old: bytes, new: bytes) -> tuple[int, int]:
    """Counts added and deleted lines as `git diff --numstat` does, by a full comparison. Neither side may be binary."""
    patch = pygit2.Patch.create_from(old, new, flag=DiffOption.FORCE_TEXT, context_lines=0)
    _, additions, deletions = patch.line_stats
    return additions, deletions


def known_changes(old: bytes, new: bytes) -> tuple[int, int] | None:
    """Returns `plain_changes` if that is faster than a comparison, else None."""
    if not old or not new:
        return count_lines(new), count_lines(old)
    return plain_changes(old, new) if len(old) + len(new) >= _SMALL_BYTES else None


def line_changes(old: bytes, new: bytes) -> tuple[int, int]:
    """Counts as `compare_lines`, but without a comparison if possible."""
    known = known_changes(old, new)
    return compare_lines(old, new) if known is None else known


def hunks(old: bytes, new: bytes) -> bytes:
    """Writes the hunks of a unified diff with three lines of context, as git does. Neither side may be binary."""
    flags = DiffOption.INDENT_HEURISTIC | DiffOption.FORCE_TEXT
    patch = pygit2.Patch.create_from(old, new, flag=flags, context_lines=_CONTEXT_LINES)
    data: bytes = patch.data
    if data.startswith(_HUNK):
        return data
    start = data.find(b"\n" + _HUNK)
    return data[start + 1 :] if start >= 0 else b""


class DirectDiffer:
    """Compares texts in the calling thread; a `TextDiffer` that cannot be cancelled during a comparison."""

    def line_changes(self, old: bytes, new: bytes, call: Call) -> tuple[int, int]:
        """See `TextDiffer.line_changes`."""
        call.check()
        return line_changes(old, new)

    def hunks(self, old: bytes, new: bytes, call: Call) -> bytes:
        """See `TextDiffer.hunks`."""
        call.check()
        return hunks(old, new)


def decode(*sides: bytes) -> tuple[list[str], str | None]:
    """Decodes bytes for display, all sides in the same way; also returns the name of the encoding, None for UTF-8.

    If one side is not UTF-8, all are Latin-1, one character for each byte, so that nothing is lost. UTF-8 keeps a byte
    order mark.
    """
    try:
        return [side.decode("utf-8") for side in sides], None
    except UnicodeDecodeError:
        return [side.decode("latin-1") for side in sides], "latin-1"


class SmallBlobs(Protocol):
    """The bytes of files, by id."""

    def read_small_blob(self, oid: ObjectId, most: int) -> bytes | None:
        """Returns the bytes of a file, None if it has more than `most`."""

    def blob_chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """Yields the bytes of a file in pieces. Raises `StoreCorrupt` before the last piece if they are damaged."""


class Blobs(SmallBlobs, Protocol):
    """The bytes of files and their sizes, by id."""

    def read_blob(self, oid: ObjectId) -> bytes:
        """Returns the bytes of a file."""

    def blob_size(self, oid: ObjectId) -> int:
        """Returns the size of a file in bytes."""


class TextDiffer(Protocol):
    """Compares texts, none of them binary, in this process or another; raises `IoError` if that fails."""

    def line_changes(self, old: bytes, new: bytes, call: Call) -> tuple[int, int]:
        """Counts added and deleted lines, as `text.line_changes` does."""

    def hunks(self, old: bytes, new: bytes, call: Call) -> bytes:
        """Returns the hunks of a unified diff, as `text.hunks` does."""
