"""Steps and snapshots as rows of the timeline's database; and parts of statements that page through and find them."""

from __future__ import annotations

import sqlite3
from typing import Any

from snapd.model.snapshot import ObjectId
from snapd.model.timeline import Operated, Operation, SnapshotId, Step, StepBegun, StepQuery, Undone

from .codec import decode_claims, decode_event, decode_summary, decode_uncaptured

AFTER_ALL = 2**63 - 1
"""A number above that of every event."""
_LAST_CHARACTER = "\U0010ffff"

EVENT = "SELECT payload, commit_id FROM events "
WITHIN = "WHERE milliseconds BETWEEN ?1 AND ?2 AND (?3 IS NULL OR head_tree = ?3) ORDER BY seq DESC"
SESSION = "SELECT session_id, agent, title, started, ended, step_count FROM sessions "
UNDONE = "SELECT name, operation_id, rest FROM undone "
HEARD = """
SELECT spans.step_id, parent, is_left AND (spoken_for OR spans.step_id = ?)
FROM spans JOIN steps ON steps.step_id = spans.step_id
WHERE spans.seq = ? ORDER BY spans.place
"""
"""The steps of a span, with one that counts as spoken for: whether each was left, and was spoken for."""
SEEN = """
SELECT payload, commit_id FROM spans JOIN events ON events.seq = spans.seq JOIN steps ON steps.step_id = spans.step_id
WHERE spans.step_id = ? AND (? OR steps.spoken_for OR NOT spans.is_left) ORDER BY spans.seq
"""
"""The events whose spans a step is among, where it was left only if it is spoken for."""
ABOUT = """
JOIN operations USING (seq) WHERE operations.session_id = ? AND state IN ('applied', 'partly') ORDER BY events.seq
"""
"""The events of operations about a session that changed something by themselves and were not undone as a whole."""
OF_SESSION = """
WHERE chain = ?1 OR seq IN (
    SELECT spans.seq FROM spans JOIN steps USING (step_id) WHERE session_id = ?2
    UNION ALL SELECT turns.seq FROM turns JOIN steps USING (step_id) WHERE session_id = ?2
    UNION ALL SELECT kept.seq FROM kept JOIN steps USING (step_id) WHERE session_id = ?2
)
ORDER BY seq
"""
"""The events of a chain, and those in whose spans, turns or kept changes steps of a session are."""
IN_FORCE = """
SELECT name FROM (
    SELECT step_id AS name, MAX(spans.seq) AS last, steps.seq AS begun FROM spans JOIN steps USING (step_id)
        WHERE state != 'undone' AND is_empty IS NOT 1 AND (spoken_for OR NOT is_left) GROUP BY step_id
    UNION ALL SELECT operation_id, seq, seq FROM operations WHERE state IN ('applied', 'partly')
)
ORDER BY last DESC, begun DESC
"""
"""The names of steps and operations that were not undone as a whole, the last to change anything first."""
OPERATION = "SELECT payload, commit_id, state FROM operations JOIN events USING (seq) WHERE operation_id = ?"
TALLY = """
SELECT
    (SELECT COUNT(*) FROM steps WHERE session_id = ?1 AND state IN ('applied', 'partly') AND is_empty = 0),
    -- a cross join begins with what was undone, which is little
    (SELECT COUNT(DISTINCT step_id) FROM undone CROSS JOIN steps USING (step_id) WHERE redoable AND session_id = ?1)
"""
"""How many steps of a session can be undone, as far as the kept summaries show, and how many redone."""
STEP = """
SELECT step_id, session_id, place, parent, message_id, part_id, tool, description, started, ended, from_tree,
    from_coverage, to_tree, to_coverage, state, claims, summary, detached, uncaptured, late
FROM steps
"""


def bounds(after: int | None, limit: int | None) -> tuple[int, int]:
    """The position before the first row, and one row more than `limit`, to see whether more follow; -1 for all."""
    return -1 if after is None else after, -1 if limit is None else limit + 1


def beside(*columns: tuple[str, str]) -> str:
    """A statement that finds what comes right before and after a value in some columns, each given with its table."""
    return " UNION ALL ".join(
        # the names are constants
        f"SELECT {nearest}({column}) FROM {table} WHERE {column} {side} ?1"  # noqa: S608
        for table, column in columns
        for nearest, side in (("max", "<"), ("min", ">"))
    )


_NEIGHBOURS = beside(("steps", "step_id"), ("sessions", "session_id"), ("messages", "message_id"))


def neighbours(connection: sqlite3.Connection, name: str) -> tuple[str, ...]:
    """The ids of each kind that come right before and after one in order, as far as there are any."""
    return tuple([found for (found,) in connection.execute(_NEIGHBOURS, (name,)) if found])


def beginning(column: str, prefix: str) -> tuple[str, list[str]]:
    """A condition that what is in a column begins with a text, and its values."""
    return f"{column} >= ? AND {column} < ?", [prefix, prefix + _LAST_CHARACTER]


def search(wanted: StepQuery, limit: int | None) -> tuple[str, list[Any]]:
    """The end of a statement that finds steps, the newest first, and its values."""
    clauses: list[str] = []
    values: list[Any] = []
    if wanted.prefix:
        clause, values = beginning("step_id", wanted.prefix)
        clauses.append(clause)
    if wanted.session_id is not None:
        clauses.append("session_id = ?")
        values.append(wanted.session_id)
    if wanted.parent is not None:
        clauses.append("parent = ?")
        values.append(wanted.parent)
    if wanted.message_id is not None:
        clauses.append("message_id = ?")
        values.append(wanted.message_id)
    if wanted.is_open:
        clauses.append("state = 'open'")
    where = f"WHERE {' AND '.join(clauses)} " if clauses else ""
    # the plus makes SQLite sort the few matches; without it, it would scan all steps in order
    order = "ORDER BY +seq DESC" if clauses else "ORDER BY seq DESC"
    return f"{where}{order} LIMIT ?", [*values, -1 if limit is None else limit]


def snapshot(tree: ObjectId | None, coverage: ObjectId | None) -> SnapshotId | None:
    """The id of a snapshot in a row; None if there is none."""
    return SnapshotId(tree, coverage) if tree is not None and coverage is not None else None


def step(row: tuple[Any, ...]) -> Step:
    """The step in a row that `STEP` selects."""
    step_id, session_id, index, parent, message_id, part_id, tool, description = row[:8]
    started, ended, from_tree, from_coverage, to_tree, to_coverage, state = row[8:15]
    claims, summary, detached, uncaptured, late = row[15:]
    named = (parent, message_id, part_id, tool, description)
    return Step(
        begun=StepBegun(step_id, session_id, index, *named, bool(detached), started if late else None),
        started=started,
        ended=ended,
        from_=SnapshotId(from_tree, from_coverage),
        to=snapshot(to_tree, to_coverage),
        state=state,
        claims=decode_claims(claims) if claims is not None else None,
        summary=decode_summary(summary) if summary is not None else None,
        uncaptured=decode_uncaptured(uncaptured) if uncaptured is not None else (),
    )


def operation(row: tuple[Any, ...]) -> Operation | None:
    """The operation in a row that `OPERATION` selects; None if it cannot be taken back."""
    payload, commit, state = row
    event, _ = decode_event(payload, commit)
    if state is None or event.head is None or not isinstance(event.what, Operated):
        return None
    return Operation(event.what, event.milliseconds, event.head, state)


def undone(row: tuple[Any, ...]) -> Undone:
    """What was undone of a step or an operation, in a row that `UNDONE` selects."""
    name, operation_id, rest = row
    return Undone(name, operation_id, decode_claims(rest) if rest is not None else None)
