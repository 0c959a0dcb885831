"""Says what a plan changes in all: how many lines, and as a diff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from snapd.core.compare.file_diff import describe
from snapd.core.compare.unified import as_text, unified
from snapd.core.model import Change, Details

if TYPE_CHECKING:
    from snapd.core.call import Call
    from snapd.core.plan import Plan
    from snapd.core.ports.differ import TextDiffer
    from snapd.core.ports.objects import Blobs


def details_of(
    plan: Plan, blobs: Blobs, texts: TextDiffer, wanted: Literal["counts", "diff"] | None, call: Call
) -> Details | None:
    """Counts the lines that a plan changes.

    Args:
        plan: before it is carried out.
        blobs: holds the contents of both sides.
        texts: compares them.
        wanted: whether a unified diff is wanted besides the counts; None for nothing, which gives None.
        call: the request.

    Raises:
        StoreCorrupt: a blob is missing or damaged.
        IoError, Cancelled: from `texts`.
    """
    if wanted is None:
        return None
    changes = [
        Change(write.path, None if write.captured is None else write.captured.entry, write.entry)
        for write in plan.writes
    ]
    changes += [Change(delete.path, delete.captured.entry, None) for delete in plan.deletes]
    additions = deletions = 0
    parts: list[bytes] = []
    for change in sorted(changes, key=lambda change: change.path):
        call.check()
        counted = describe(blobs, change.path, change.old, change.new, texts, call, contents=False)
        additions += counted.additions
        deletions += counted.deletions
        if wanted == "diff":
            parts.append(unified(blobs, change, texts, call))
    return Details(additions, deletions, as_text(parts) if wanted == "diff" else None)
