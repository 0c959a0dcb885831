"""Compares texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from snapd.core.call import Call


class TextDiffer(Protocol):
    """Compares texts, none of them binary, in this process or another.

    Its methods raise `Cancelled` when the request is cancelled, and `IoError` if the comparison fails.
    """

    def line_changes(self, old: bytes, new: bytes, call: Call) -> tuple[int, int]:
        """Lines added and deleted, as `text.line_changes` counts them."""

    def hunks(self, old: bytes, new: bytes, call: Call) -> bytes:
        """The hunks of a unified diff, as `text.hunks` writes them."""
