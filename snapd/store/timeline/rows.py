"""Steps and snapshots as rows of the timeline's database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.core.history import SnapshotId, Step, StepBegun

from .codec import decode_claims, decode_summary

if TYPE_CHECKING:
    from snapd.core.model import ObjectId

STEP = """
SELECT step_id, session_id, place, parent, message_id, part_id, tool, description, started, ended, from_tree,
    from_coverage, to_tree, to_coverage, state, claims, summary, detached
FROM steps
"""


def snapshot(tree: ObjectId | None, coverage: ObjectId | None) -> SnapshotId | None:
    """Which snapshot; None where there is none."""
    return SnapshotId(tree, coverage) if tree is not None and coverage is not None else None


def step(row: tuple[Any, ...]) -> Step:
    """A step, of a row that `STEP` selects."""
    step_id, session_id, index, parent, message_id, part_id, tool, description = row[:8]
    started, ended, from_tree, from_coverage, to_tree, to_coverage, state, claims, summary, detached = row[8:]
    return Step(
        begun=StepBegun(step_id, session_id, index, parent, message_id, part_id, tool, description, bool(detached)),
        started=started,
        ended=ended,
        from_=SnapshotId(from_tree, from_coverage),
        to=snapshot(to_tree, to_coverage),
        state=state,
        claims=decode_claims(claims) if claims is not None else None,
        summary=decode_summary(summary) if summary is not None else None,
    )
