"""Says what happened to files that no snapshot has: an undo cannot bring them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .filenames import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMED = 5
"""How many files are named of those that were deleted, and of those that were changed."""


def not_in_snapshots(steps: Iterable[dict[str, Any]]) -> str | None:
    """Says what happened while steps were open to files that no snapshot has.

    Args:
        steps: as the wire has them.

    Returns:
        A line; None if nothing is known to have happened.
    """
    happened = {each["file"]: each["change"] for step in steps for each in step.get("uncaptured", ())}
    said = []
    for change in ("deleted", "changed"):
        files = sorted(file for file, what in happened.items() if what == change)
        if files:
            more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
            verb = "was" if len(files) == 1 else "were"
            said.append(f"{', '.join(map(printable, files[:_NAMED]))}{more} {verb} {change}")
    return f"not in snapshots: {'; '.join(said)}" if said else None
