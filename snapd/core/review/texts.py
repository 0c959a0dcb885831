"""Reads the texts of files, and compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.compare.edits import edits, split_lines
from snapd.core.compare.text import is_binary
from snapd.core.model import SYMLINK, TEN_MIB

if TYPE_CHECKING:
    from snapd.core.call import Call
    from snapd.core.compare.edits import Edit
    from snapd.core.model import Entry
    from snapd.core.ports.differ import TextDiffer
    from snapd.core.ports.store import Blobs


@attrs.frozen
class Texts:
    """Reads files, and compares them.

    Attributes:
        blobs: holds their contents.
        differ: compares texts.
        call: the request.
    """

    blobs: Blobs
    differ: TextDiffer
    call: Call

    def lines(self, entry: Entry | None) -> list[bytes] | None:
        """The lines of a file, none for no file; None if it is no text, or over 10 MB.

        Raises:
            StoreCorrupt: the blob is missing or damaged.
        """
        if entry is None:
            return []
        if entry.mode == SYMLINK:
            return None
        data = self.blobs.read_small_blob(entry.oid, TEN_MIB)
        return None if data is None or is_binary(data) else split_lines(data)

    def edits(self, old: list[bytes], new: list[bytes]) -> list[Edit]:
        """The edits between two texts; raises `IoError`, `Cancelled`."""
        self.call.check()
        return edits(old, new, self.differ, self.call)
