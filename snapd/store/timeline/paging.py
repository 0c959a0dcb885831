"""What a page, and a search for steps, come to as parts of a statement for the timeline's database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from snapd.core.timeline.model import StepQuery

_LAST_CHARACTER = "\U0010ffff"


def bounds(after: int | None, limit: int | None) -> tuple[int, int]:
    """What the first row comes after, and how many rows tell whether there are more than `limit`; -1 for all."""
    return -1 if after is None else after, -1 if limit is None else limit + 1


def search(wanted: StepQuery, limit: int | None) -> tuple[str, list[Any]]:
    """The end of a statement that finds steps, the one that was begun last first, and its values."""
    clauses: list[str] = []
    values: list[Any] = []
    if wanted.prefix:
        clauses.append("step_id >= ? AND step_id < ?")
        values += [wanted.prefix, wanted.prefix + _LAST_CHARACTER]
    if wanted.session_id is not None:
        clauses.append("session_id = ?")
        values.append(wanted.session_id)
    if wanted.parent is not None:
        clauses.append("parent = ?")
        values.append(wanted.parent)
    where = f"WHERE {' AND '.join(clauses)} " if clauses else ""
    # the plus has the few that are wanted be sorted; without it, all would be gone through in their order
    order = "ORDER BY +seq DESC" if clauses else "ORDER BY seq DESC"
    return f"{where}{order} LIMIT ?", [*values, -1 if limit is None else limit]
