"""What an operation makes of the steps and operations that it takes back or does again, in the timeline's database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.store.timeline.codec import encode_claims

if TYPE_CHECKING:
    import sqlite3

    from snapd.core.timeline.model import Event, Operated, StepId, Turned


def operate(connection: sqlite3.Connection, event: Event, what: Operated) -> None:
    """Adds an operation.

    Args:
        connection: to the database, in a transaction.
        event: its event.
        what: the operation.

    Raises:
        ValueError, sqlite3.IntegrityError: it cannot follow the events that are there.
    """
    if what.is_own:
        # what it did is the latest of the folder itself
        connection.execute("UPDATE undone SET redoable = 0 WHERE redoable AND step_id IS NULL")
    connection.execute(
        "INSERT INTO operations VALUES (?, ?, ?, ?, ?, ?)",
        (
            what.operation_id,
            event.seq,
            what.session_id,
            what.undoes,
            what.root,
            "applied" if what.is_own else None,
        ),
    )
    for place, turned in enumerate(what.turned):
        values = (event.seq, place, turned.step_id, turned.operation_id)
        connection.execute("INSERT INTO turns VALUES (?, ?, ?, ?)", values)
        if turned.again is not None:
            _do_again(connection, turned)
        elif not _take_back(connection, event.seq, place, what, turned):
            continue
        if turned.step_id is not None:
            _one(connection, "UPDATE steps SET state = ? WHERE step_id = ?", turned.state, turned.step_id)
        else:
            named = "UPDATE operations SET state = ? WHERE state IS NOT NULL AND operation_id = ?"
            _one(connection, named, turned.state, turned.operation_id)


def end_redoing(connection: sqlite3.Connection, step_id: StepId) -> None:
    """A step changed something: nothing that was undone before, of its session or of the folder, is redone now."""
    connection.execute(
        "UPDATE undone SET redoable = 0 WHERE redoable AND (step_id IS NULL OR step_id IN (SELECT step_id FROM steps "
        "WHERE session_id = (SELECT session_id FROM steps WHERE step_id = ?)))",
        (step_id,),
    )


def _do_again(connection: sqlite3.Connection, turned: Turned) -> None:
    """An operation redid what was undone, except for some paths."""
    which = (turned.name, turned.again)
    if turned.rest:
        values = (encode_claims(turned.rest), *which)
        _one(connection, "UPDATE undone SET rest = ? WHERE name = ? AND operation_id = ?", *values)
    else:
        _one(connection, "DELETE FROM undone WHERE name = ? AND operation_id = ?", *which)


def _take_back(connection: sqlite3.Connection, seq: int, place: int, what: Operated, turned: Turned) -> bool:
    """An operation undid something, or an older snapd turned a step; returns whether its state is another by that."""
    if turned.left is None:
        if turned.state == "undone" and not (turned.effects or turned.made_directories or turned.removed_directories):
            # an older snapd recorded a step as undone although all of it was in conflict
            return False
        # it turned a whole step each time, and repeated everything that was undone before
        connection.execute("DELETE FROM undone WHERE name = ?", (turned.name,))
        if turned.state == "applied":
            return True
    connection.execute(
        "INSERT INTO undone VALUES (?, ?, ?, ?, ?, NULL, TRUE)",
        (turned.name, seq, place, turned.step_id, what.operation_id),
    )
    return True


def _one(connection: sqlite3.Connection, statement: str, *values: Any) -> None:
    if connection.execute(statement, values).rowcount != 1:
        raise ValueError(f"{values[-1]} is unknown, or not in a state for this event")
