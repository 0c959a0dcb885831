"""The files with pending changes: what agents changed, and nobody has kept yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from .history import Ask

_ON_A_PAGE = 500


@attrs.frozen
class Pending:
    """What is pending.

    Attributes:
        files: of `review/list`, ordered by name.
        additions: lines added, in all files.
        deletions: lines deleted, in all files.
    """

    files: list[dict[str, Any]] = attrs.field(factory=list)
    additions: int = 0
    deletions: int = 0


def fetch_pending(ask: Ask) -> Pending:
    """Asks for all files with pending changes. Raises `SnapdError`: the error that answers a request."""
    files: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = ask("review/list", {"limit": _ON_A_PAGE, "cursor": cursor})
        files += page["files"]
        cursor = page.get("nextCursor")
        if cursor is None:
            return Pending(files, page["additions"], page["deletions"])


def count_pending(ask: Ask) -> int:
    """Asks how many files have pending changes; from then on, `review/didChange` tells. Raises as `fetch_pending`."""
    return int(ask("review/list", {"limit": 1})["pendingFiles"])
