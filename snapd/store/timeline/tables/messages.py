"""The messages of sessions in the timeline's database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.core.timeline.model import Message
from snapd.store.timeline.rows import bounds

if TYPE_CHECKING:
    import sqlite3

    from snapd.core.timeline.model import Event, MessageSent, SessionId

_MESSAGE = "SELECT session_id, message_id, text, started, seq FROM messages "


def name(connection: sqlite3.Connection, event: Event, session_id: SessionId, message_id: str) -> None:
    """Adds a message that an event names, unless it is there; raises `sqlite3.IntegrityError` as `send`."""
    connection.execute(
        "INSERT INTO messages (session_id, message_id, seq, started) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (session_id, message_id, event.seq, event.milliseconds),
    )


def send(connection: sqlite3.Connection, event: Event, what: MessageSent) -> None:
    """Adds a message that was sent, or notes that it was sent again; a new text takes the place of the old one.

    Args:
        connection: to the database, in a transaction.
        event: its event.
        what: the message.

    Raises:
        sqlite3.IntegrityError: its session is unknown.
    """
    name(connection, event, what.session_id, what.message_id)
    connection.execute(
        "UPDATE messages SET sent = ?, text = COALESCE(?, text) WHERE session_id = ? AND message_id = ?",
        (event.seq, what.text, what.session_id, what.message_id),
    )


def one(connection: sqlite3.Connection, session_id: SessionId, message_id: str) -> Message | None:
    """A message of a session by its id."""
    return _first(connection, "WHERE session_id = ? AND message_id = ?", session_id, message_id)


def last_sent(connection: sqlite3.Connection, session_id: SessionId) -> Message | None:
    """The message that was sent last in a session."""
    return _first(connection, "WHERE session_id = ? AND sent IS NOT NULL ORDER BY sent DESC LIMIT 1", session_id)


def page(
    connection: sqlite3.Connection, session_id: SessionId, after: int | None, limit: int | None
) -> tuple[tuple[Message, ...], int | None]:
    """Up to `limit` messages of a session after the end of a page, and the end of this page, or None."""
    rows = _rows(connection, "WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?", session_id, *bounds(after, limit))
    shown = rows[:limit]
    return tuple([Message(*row[:-1]) for row in shown]), shown[-1][-1] if len(shown) < len(rows) else None


def _first(connection: sqlite3.Connection, clause: str, *values: Any) -> Message | None:
    return next((Message(*row[:-1]) for row in _rows(connection, clause, *values)), None)


def _rows(connection: sqlite3.Connection, clause: str, *values: Any) -> list[Any]:
    return connection.execute(_MESSAGE + clause, values).fetchall()
