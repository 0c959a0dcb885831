"""Tables of the timeline's database that have questions and changes of their own.

The files that each event changed follow from the snapshots of the events alone, so they never change. But to compare
snapshots takes time, for which no step should wait: whoever needs the files lists them first, event by event, in their
order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any

from snapd.model.snapshot import RelPath
from snapd.model.timeline import Event, Message, MessageSent, Operated, SessionId, StepId, Touched, Turned

from .codec import ENTRY, encode_claims, optional
from .rows import AFTER_ALL, beginning, bounds

_MESSAGE = "SELECT session_id, message_id, text, started, seq FROM messages "
_TOUCHED = "SELECT path, seq, part, old, new, other FROM touched "
_FILE = optional(ENTRY)


# -- the messages of sessions


def name_message(connection: sqlite3.Connection, event: Event, session_id: SessionId, message_id: str) -> None:
    """Adds a message that an event names, unless it is there; raises `sqlite3.IntegrityError` as `send_message`."""
    connection.execute(
        "INSERT INTO messages (session_id, message_id, seq, started) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (session_id, message_id, event.seq, event.milliseconds),
    )


def send_message(connection: sqlite3.Connection, event: Event, what: MessageSent) -> None:
    """Adds a message that was sent, or notes that it was sent again; a new text takes the place of the old one.

    Args:
        connection: to the database, in a transaction.
        event: its event.
        what: the message.

    Raises:
        sqlite3.IntegrityError: its session is unknown.
    """
    name_message(connection, event, what.session_id, what.message_id)
    connection.execute(
        "UPDATE messages SET sent = ?, text = COALESCE(?, text) WHERE session_id = ? AND message_id = ?",
        (event.seq, what.text, what.session_id, what.message_id),
    )


def message(connection: sqlite3.Connection, session_id: SessionId, message_id: str) -> Message | None:
    """A message of a session by its id."""
    return _message(connection, "WHERE session_id = ? AND message_id = ?", session_id, message_id)


def last_message(connection: sqlite3.Connection, session_id: SessionId) -> Message | None:
    """The message that was sent last in a session."""
    return _message(connection, "WHERE session_id = ? AND sent IS NOT NULL ORDER BY sent DESC LIMIT 1", session_id)


def message_page(
    connection: sqlite3.Connection, session_id: SessionId | None, prefix: str, after: int | None, limit: int | None
) -> tuple[tuple[Message, ...], int | None]:
    """Lists up to `limit` messages from where a page ended; and where this one ends.

    A message that only steps name is among them, at the place of its first step.

    Args:
        connection: to the database.
        session_id: only those of this session, oldest first; None for those of all sessions, newest first.
        prefix: the beginning of their ids; a whole id means that message alone.
        after: where the page before ended; None for the first page.
        limit: messages, at most; None for all.
    """
    start, most = bounds(after, limit)
    clause = "TRUE"
    values: list[Any] = []
    if prefix:
        clause, values = beginning("message_id", prefix)
        clause += " AND (message_id = ? OR NOT EXISTS (SELECT 1 FROM messages WHERE message_id = ?))"
        values += [prefix, prefix]
    if session_id is None:
        clause += " AND seq < ? ORDER BY +seq DESC"
        start = AFTER_ALL if after is None else after
    else:
        clause += " AND session_id = ? AND seq > ? ORDER BY seq"
        values.append(session_id)
    rows = _messages(connection, f"WHERE {clause} LIMIT ?", *values, start, most)
    shown = rows[:limit]
    return tuple([Message(*row[:-1]) for row in shown]), shown[-1][-1] if len(shown) < len(rows) else None


def _message(connection: sqlite3.Connection, clause: str, *values: Any) -> Message | None:
    return next((Message(*row[:-1]) for row in _messages(connection, clause, *values)), None)


def _messages(connection: sqlite3.Connection, clause: str, *values: Any) -> list[Any]:
    return connection.execute(_MESSAGE + clause, values).fetchall()


# -- the files that each event changed


def unlisted(connection: sqlite3.Connection, most: int) -> tuple[int, ...]:
    """The numbers of up to `most` events whose files are not listed yet, oldest first."""
    rows = connection.execute(
        "SELECT seq FROM events WHERE seq > (SELECT COALESCE(MAX(seq), 0) FROM listed) ORDER BY seq LIMIT ?", (most,)
    )
    return tuple([seq for (seq,) in rows])


def list_files(connection: sqlite3.Connection, seq: int, files: Iterable[Touched]) -> None:
    """Lists the files of an event, the oldest that is not listed yet; does nothing if the event was dropped since."""
    if connection.execute("SELECT 1 FROM events WHERE seq = ?", (seq,)).fetchone() is None:
        return
    rows = [(file.path, seq, file.part, _FILE.show(file.old), _FILE.show(file.new), file.other) for file in files]
    connection.executemany("INSERT OR REPLACE INTO touched VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.execute("DELETE FROM listed")
    connection.execute("INSERT INTO listed VALUES (?)", (seq,))


def touched_of(connection: sqlite3.Connection, path: RelPath, before: int, after: int = 0) -> tuple[Touched, ...]:
    """What the listed events with a number below `before` and above `after` did to a file, oldest first."""
    return _touched(connection, "WHERE path = ? AND seq > ? AND seq < ? ORDER BY seq, part DESC", path, after, before)


def touched_since(connection: sqlite3.Connection, seq: int) -> tuple[Touched, ...]:
    """What the listed events with a number above `seq` did, in their order."""
    return _touched(connection, "WHERE seq > ? ORDER BY seq, part DESC, path", seq)


def _touched(connection: sqlite3.Connection, clause: str, *values: Any) -> tuple[Touched, ...]:
    rows = connection.execute(_TOUCHED + clause, values)
    read = _FILE.read
    return tuple([Touched(path, seq, part, read(old), read(new), other) for path, seq, part, old, new, other in rows])


# -- what an operation makes of the steps and operations that it takes back or does again


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
