"""Pages and searches for steps as parts of SQL statements for the timeline's database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3

    from snapd.core.timeline.queries import IdKind, StepQuery

AFTER_ALL = 2**63 - 1
"""A number above that of every event."""
_LAST_CHARACTER = "\U0010ffff"


def bounds(after: int | None, limit: int | None) -> tuple[int, int]:
    """The position before the first row, and one row more than `limit`, to see whether more follow; -1 for all."""
    return -1 if after is None else after, -1 if limit is None else limit + 1


def beside(table: str, column: str) -> str:
    """A statement that finds what comes right before and after a value in a column; the value is given twice."""
    before, after = f"max({column}) FROM {table} WHERE {column} < ?", f"min({column}) FROM {table} WHERE {column} > ?"
    return f"SELECT {before} UNION ALL SELECT {after}"


def neighbours(connection: sqlite3.Connection, kind: IdKind, name: str) -> tuple[str, ...]:
    """The ids of a kind that come right before and after one in order, as far as there are any."""
    rows = connection.execute(beside(kind, f"{kind[:-1]}_id"), (name, name))
    return tuple([found for (found,) in rows if found])


def search(wanted: StepQuery, limit: int | None) -> tuple[str, list[Any]]:
    """The end of a statement that finds steps, the newest first, and its values."""
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
    if wanted.message_id is not None:
        clauses.append("message_id = ?")
        values.append(wanted.message_id)
    if wanted.is_open:
        clauses.append("state = 'open'")
    where = f"WHERE {' AND '.join(clauses)} " if clauses else ""
    # the plus makes SQLite sort the few matches; without it, it would scan all steps in order
    order = "ORDER BY +seq DESC" if clauses else "ORDER BY seq DESC"
    return f"{where}{order} LIMIT ?", [*values, -1 if limit is None else limit]
