"""The files that each event changed, in the timeline's database.

They follow from the snapshots of the events alone, so they never change. But to compare snapshots takes time, for which
no step should wait: whoever needs the files lists them first, event by event, in their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.core.timeline.queries import Touched
from snapd.store.timeline.codec import ENTRY

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from snapd.core.model import Entry, RelPath

_TOUCHED = "SELECT path, seq, part, old, new, other FROM touched "


def unlisted(connection: sqlite3.Connection, most: int) -> tuple[int, ...]:
    """The numbers of up to `most` events whose files are not listed yet, oldest first."""
    rows = connection.execute(
        "SELECT seq FROM events WHERE seq > (SELECT COALESCE(MAX(seq), 0) FROM listed) ORDER BY seq LIMIT ?", (most,)
    )
    return tuple([seq for (seq,) in rows])


def add(connection: sqlite3.Connection, seq: int, files: Iterable[Touched]) -> None:
    """Lists the files of an event, the oldest that is not listed yet; does nothing if the event was dropped since."""
    if connection.execute("SELECT 1 FROM events WHERE seq = ?", (seq,)).fetchone() is None:
        return
    rows = [(file.path, seq, file.part, _show(file.old), _show(file.new), file.other) for file in files]
    connection.executemany("INSERT OR REPLACE INTO touched VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.execute("DELETE FROM listed")
    connection.execute("INSERT INTO listed VALUES (?)", (seq,))


def of_file(connection: sqlite3.Connection, path: RelPath, before: int, after: int = 0) -> tuple[Touched, ...]:
    """What the listed events with a number below `before` and above `after` did to a file, oldest first."""
    return _rows(connection, "WHERE path = ? AND seq > ? AND seq < ? ORDER BY seq, part DESC", path, after, before)


def since(connection: sqlite3.Connection, seq: int) -> tuple[Touched, ...]:
    """What the listed events with a number above `seq` did, in their order."""
    return _rows(connection, "WHERE seq > ? ORDER BY seq, part DESC, path", seq)


def _rows(connection: sqlite3.Connection, clause: str, *values: Any) -> tuple[Touched, ...]:
    rows = connection.execute(_TOUCHED + clause, values)
    return tuple([Touched(path, seq, part, _read(old), _read(new), other) for path, seq, part, old, new, other in rows])


def _show(entry: Entry | None) -> str | None:
    return None if entry is None else ENTRY.show(entry)


def _read(text: str | None) -> Entry | None:
    return None if text is None else ENTRY.read(text)
