"""Steps and snapshots as rows of the timeline's database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.core.timeline.model import SnapshotId, Step, StepBegun, Undone

from .codec import decode_claims, decode_summary, decode_uncaptured

if TYPE_CHECKING:
    from snapd.core.model import ObjectId

EVENT = "SELECT payload, commit_id FROM events "
WITHIN = "WHERE milliseconds BETWEEN ?1 AND ?2 AND (?3 IS NULL OR head_tree = ?3) ORDER BY seq DESC"
SESSION = "SELECT session_id, agent, title, started, ended, step_count FROM sessions "
UNDONE = "SELECT step_id, operation_id, rest FROM undone "
HEARD = """
SELECT spans.step_id, parent, is_left AND (spoken_for OR spans.step_id = ?)
FROM spans JOIN steps ON steps.step_id = spans.step_id
WHERE spans.seq = ? ORDER BY spans.place
"""
"""The steps of a span, with one that counts as spoken for: whether each was left, and was spoken for."""
STEP = """
SELECT step_id, session_id, place, parent, message_id, part_id, tool, description, started, ended, from_tree,
    from_coverage, to_tree, to_coverage, state, claims, summary, detached, uncaptured
FROM steps
"""


def snapshot(tree: ObjectId | None, coverage: ObjectId | None) -> SnapshotId | None:
    """The id of a snapshot in a row; None if there is none."""
    return SnapshotId(tree, coverage) if tree is not None and coverage is not None else None


def step(row: tuple[Any, ...]) -> Step:
    """The step in a row that `STEP` selects."""
    step_id, session_id, index, parent, message_id, part_id, tool, description = row[:8]
    started, ended, from_tree, from_coverage, to_tree, to_coverage, state, claims, summary, detached, uncaptured = row[
        8:
    ]
    return Step(
        begun=StepBegun(step_id, session_id, index, parent, message_id, part_id, tool, description, bool(detached)),
        started=started,
        ended=ended,
        from_=SnapshotId(from_tree, from_coverage),
        to=snapshot(to_tree, to_coverage),
        state=state,
        claims=decode_claims(claims) if claims is not None else None,
        summary=decode_summary(summary) if summary is not None else None,
        uncaptured=decode_uncaptured(uncaptured) if uncaptured is not None else (),
    )


def undone(row: tuple[Any, ...]) -> Undone:
    """What was undone of a step, in a row that `UNDONE` selects."""
    step_id, operation_id, rest = row
    return Undone(step_id, operation_id, decode_claims(rest) if rest is not None else None)
