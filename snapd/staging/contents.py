"""The bytes of files that are being staged, by their names as blobs of SHA-1, whatever the repository uses."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs
import pygit2
from pygit2.enums import MergeFavor

from snapd.core.compare.text import is_binary
from snapd.core.model import SYMLINK, Entry
from snapd.store.merging import merged
from snapd.store.objects.codec import object_id

if TYPE_CHECKING:
    from snapd.core.model import ObjectId


class Contents:
    """Bytes in memory."""

    def __init__(self) -> None:
        self._data: dict[ObjectId, bytes] = {}

    def add(self, mode: int, data: bytes) -> Entry:
        """Keeps the bytes of a file, and gives the file."""
        oid = object_id("blob", data)
        self._data.setdefault(oid, data)
        return Entry(mode, oid)

    def read(self, oid: ObjectId) -> bytes:
        """The bytes of a blob."""
        return self._data[oid]

    def of(self, entry: Entry | None) -> bytes:
        """The bytes of a file; none for no file."""
        return b"" if entry is None else self._data[entry.oid]


@attrs.frozen
class Merging:
    """Merges files.

    Args:
        contents: has the bytes, and gets those of what is merged.
        by_lines: whether text may be merged line by line; else each file is one piece.
    """

    _contents: Contents
    _by_lines: bool

    def merge(self, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
        """Merges text, as `Objects.merge`; but what both have is never there twice because their changes touch."""
        found = self._merged(base, ours, theirs, MergeFavor.NORMAL, touching=False)
        if found is not None or base is None:
            return found
        found = self._merged(base, ours, theirs, MergeFavor.NORMAL)
        if found is None:
            return None
        counts = [Counter(self._contents.of(entry).split(b"\n")) for entry in (found, base, ours, theirs)]
        there, was, mine, other = counts
        added = (mine - was) & (other - was)
        return None if any(there[line] > max(mine[line], other[line]) for line in added) else found

    def merge_for_ours(self, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
        """Merges text; where the changes overlap, ours count."""
        return self._merged(base, ours, theirs, MergeFavor.OURS)

    def empty(self, like: Entry) -> Entry:
        """An empty file with the mode of another one."""
        return self._contents.add(like.mode, b"")

    def has_added(self, ours: Entry, before: Entry | None, after: Entry) -> bool:
        """Whether a file has all lines that a change added, in their order; of what is not text, all of it."""
        if ours == after:
            return True
        sides = [self._contents.of(side) for side in (ours, before, after)]
        if not self._by_lines or SYMLINK in (ours.mode, after.mode) or any(map(is_binary, sides)):
            return False
        data, old, new = sides
        hunks = pygit2.Patch.create_from(old, new, context_lines=0).hunks
        added = (line.raw_content for hunk in hunks for line in hunk.lines if line.origin == "+")
        # what was found is taken from the iterator: so the order counts
        lines = iter(data.split(b"\n"))
        return all(line.removesuffix(b"\n") in lines for line in added)

    def _merged(
        self, base: Entry | None, ours: Entry, theirs: Entry, favor: MergeFavor, *, touching: bool = True
    ) -> Entry | None:
        if not self._by_lines:
            return None
        found = merged(self._contents.read, base, ours, theirs, favor, touching=touching)
        return None if found is None else self._contents.add(*found)
