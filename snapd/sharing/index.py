"""The index of fetched sessions: their references and steps, and what each remote is known to have.

Except for what was pushed, all of it is derived from the references of the mirrors and their events: a file that is
missing, damaged or of another version is rebuilt. Losing what was pushed costs one more request to the remote.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import attrs

from snapd.model.errors import IoError, SnapdError, error_from_os_error, os_errors
from snapd.model.snapshot import ObjectId
from snapd.model.timeline import Session, SessionId, StepId, StepQuery
from snapd.store.files.durable import PRIVATE_FILE, make_directories, remove_if_there
from snapd.store.timeline import codec
from snapd.store.timeline.chain import chain_of_session
from snapd.store.timeline.queries import beginning, beside, session_of

T = TypeVar("T")

logger = logging.getLogger(__name__)

VERSION = 6

TABLES = (
    "CREATE TABLE mirrors (mirror TEXT PRIMARY KEY, stamp TEXT NOT NULL, dropped INTEGER NOT NULL)",
    # AUTOINCREMENT: a place is never reused, so a page of a list continues where the one before it ended
    (
        "CREATE TABLE sessions (place INTEGER PRIMARY KEY AUTOINCREMENT, mirror TEXT NOT NULL, chain TEXT NOT NULL, "
        "head BLOB NOT NULL, host TEXT NOT NULL, taken INTEGER NOT NULL, session_id TEXT NOT NULL, agent TEXT, "
        "title TEXT, started INTEGER NOT NULL, ended INTEGER, step_count INTEGER NOT NULL, prompt TEXT, "
        "continues TEXT, newest INTEGER NOT NULL, UNIQUE (mirror, chain))"
    ),
    "CREATE INDEX sessions_by_chain ON sessions (chain)",
    "CREATE INDEX sessions_by_id ON sessions (session_id)",
    (
        "CREATE TABLE steps (step_id TEXT NOT NULL, place INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE, "
        "message_id TEXT, is_open INTEGER NOT NULL, begun_on TEXT NOT NULL, ended_on TEXT, "
        "PRIMARY KEY (step_id, place)) WITHOUT ROWID"
    ),
    "CREATE INDEX steps_by_place ON steps (place)",
    "CREATE INDEX steps_by_message ON steps (message_id) WHERE message_id IS NOT NULL",
    "CREATE INDEX steps_by_begin ON steps (begun_on)",
    "CREATE INDEX steps_by_end ON steps (ended_on)",
    "CREATE INDEX open_steps ON steps (place) WHERE is_open",
    # what a remote has, where that differs from what was fetched; head is NULL for a session that is gone there
    (
        "CREATE TABLE there (mirror TEXT NOT NULL, chain TEXT NOT NULL, head BLOB, PRIMARY KEY (mirror, chain)) "
        "WITHOUT ROWID"
    ),
    # fetched signatures by the names of their own references, with the result of their last check
    (
        "CREATE TABLE signatures (mirror TEXT NOT NULL, chain TEXT NOT NULL, tag BLOB NOT NULL, head BLOB NOT NULL, "
        "covers TEXT NOT NULL, signed BLOB, key TEXT, seconds INTEGER, stamp TEXT, state TEXT, signer TEXT, "
        "reason TEXT, PRIMARY KEY (mirror, chain)) WITHOUT ROWID"
    ),
    # signatures that this machine made, so that it need not make them again
    (
        "CREATE TABLE made (mirror TEXT NOT NULL, chain TEXT NOT NULL, signed BLOB NOT NULL, tag BLOB NOT NULL, "
        "key TEXT NOT NULL, PRIMARY KEY (mirror, chain)) WITHOUT ROWID"
    ),
    # the addresses that blobs and messages were ever sent to
    "CREATE TABLE sent (what BLOB NOT NULL, address TEXT NOT NULL, PRIMARY KEY (what, address)) WITHOUT ROWID",
)
_LISTED = (
    "SELECT place, mirror, chain, head, host, session_id, agent, title, started, ended, step_count, prompt, "
    "continues, newest, taken FROM sessions "
)
_IDS = ("step_id", "message_id", "begun_on", "ended_on")
NEIGHBOURS = beside(("sessions", "session_id"), *[("steps", column) for column in _IDS])
_MOST_NAMES = 500
"""Names in one statement: SQLite allows 999 parameters."""


@attrs.frozen
class IndexedStep:
    """A step in the index, with the hashes of the snapshots at its begin and end; `ended_on` is None if it is open."""

    step_id: StepId
    message_id: str | None
    is_open: bool
    begun_on: str
    ended_on: str | None


@attrs.frozen
class Entry:
    """A session to put into the index, at the reference `chain`.

    Its newest commit is `head`, made by the machine `host` at the time `newest` (milliseconds since 1970).
    """

    chain: str
    head: ObjectId
    host: str
    newest: int
    session: Session
    steps: Sequence[IndexedStep]


@attrs.frozen
class IndexedSession:
    """A session in the index: an `Entry` with its mirror.

    `place` orders all sessions and is never reused. `taken` is when `head` was fetched, milliseconds since 1970.
    """

    place: int
    mirror: str
    chain: str
    head: ObjectId
    host: str
    session: Session
    newest: int
    taken: int


class IndexFile:
    """The SQLite file of an index. Safe to use from several threads.

    The first query opens it; a damaged file is rebuilt. Every method raises `StorageFull` or `IoError`.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Closes the file; the next query opens it again."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def ask(self, statement: str, *values: Any) -> list[Any]:
        """Returns the rows of a query."""
        return self._do(lambda connection: connection.execute(statement, values).fetchall())

    @staticmethod
    def _first(rows: list[Any]) -> Any:
        return rows[0][0] if rows else None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Applies the changes of the block as one transaction."""
        with self._lock:
            self._do(lambda connection: connection.execute("BEGIN IMMEDIATE"))
            connection = self._connection
            assert connection is not None
            try:
                yield connection
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                # closing the connection rolls the transaction back
                self.close()
                raise self._failed(error) from error
            except BaseException:
                connection.execute("ROLLBACK")
                raise

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                return work(self._opened())
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError):
                    # the file could not be read now, but need not be damaged
                    raise self._failed(error) from error
                logger.warning("%s is damaged, and is made anew: %s", self._path, error)
                self._remove()
                raise IoError(
                    f"{self._path} was damaged and is being rebuilt", hint="try again", errno="EIO", path=self._path
                ) from error

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = self._open()
            if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION << 8 | codec.VERSION:
                connection.close()
                self._remove()
                connection = self._open()
                try:
                    _create(connection)
                except BaseException:
                    connection.close()
                    raise
            self._connection = connection
        return self._connection

    def _open(self) -> sqlite3.Connection:
        make_directories(os.path.dirname(self._path))
        with os_errors(self._path):
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE))
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            # deleted rows must not stay readable in the file
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA journal_mode = TRUNCATE")
        except BaseException:
            connection.close()
            raise
        return connection

    def _remove(self) -> None:
        self.close()
        with os_errors(self._path):
            for path in (f"{self._path}-journal", self._path):
                remove_if_there(path)

    def _failed(self, error: sqlite3.Error) -> SnapdError:
        if "disk is full" in str(error):
            return error_from_os_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), self._path)
        return IoError(
            f"{self._path} could not be used: {error}",
            hint="check that its disk is not read-only, then try again",
            errno="EIO",
            path=self._path,
        )


class SessionIndex(IndexFile):
    """The index of all mirrors of a store."""

    # -- the state of a mirror

    def mirrors(self) -> set[str]:
        """Returns the names of the mirrors in the index."""
        return {name for (name,) in self.ask("SELECT mirror FROM mirrors")}

    def stamp(self, mirror: str) -> str | None:
        """Returns the state of a mirror's references when they were last read; None if they never were."""
        text: str | None = self._first(self.ask("SELECT stamp FROM mirrors WHERE mirror = ?", mirror))
        return text

    def heads(self, mirror: str, names: Collection[str] | None = None) -> dict[str, ObjectId]:
        """Returns the newest commits of sessions by the names of their references; of all sessions for None."""
        return dict(self.named("SELECT chain, head FROM sessions WHERE mirror = ?", mirror, names))

    def there(self, mirror: str, names: Collection[str]) -> dict[str, ObjectId]:
        """Returns what the remote of a mirror was last known to have of some references."""
        noted = dict(self.named("SELECT chain, head FROM there WHERE mirror = ?", mirror, names))
        signatures = dict(self.named("SELECT chain, tag FROM signatures WHERE mirror = ?", mirror, names))
        result = {**self.heads(mirror, names), **signatures, **noted}
        return {chain: head for chain, head in result.items() if head is not None}

    def dropped(self, mirror: str) -> int:
        """Returns how many sessions, or versions of them, were dropped since the last `note_swept`."""
        return self._first(self.ask("SELECT dropped FROM mirrors WHERE mirror = ?", mirror)) or 0

    def count(self, mirror: str) -> int:
        """Returns the number of sessions of a mirror."""
        return self._first(self.ask("SELECT COUNT(*) FROM sessions WHERE mirror = ?", mirror)) or 0

    # -- queries

    def page(self, after: int, limit: int) -> list[IndexedSession]:
        """Returns sessions of all mirrors in the order of their places, from the first one above `after`."""
        return self._sessions("WHERE place > ? ORDER BY place LIMIT ?", after, limit)

    def of_session(self, session_id: SessionId) -> IndexedSession | None:
        """Returns a session by its id."""
        result = self._sessions(
            "WHERE chain = ? AND session_id = ? ORDER BY place LIMIT 1", chain_of_session(session_id), session_id
        )
        return next(iter(result), None)

    def at(self, mirror: str, names: Collection[str]) -> list[IndexedSession]:
        """Returns sessions of a mirror by the names of their references."""
        return [_indexed(row) for row in self.named(f"{_LISTED} WHERE mirror = ?", mirror, names)]

    def with_steps(self, wanted: StepQuery, after: int, limit: int) -> list[IndexedSession]:
        """Like `page`, for sessions with a step that may match; ignores `session_id` and `parent` of the query."""
        conditions: list[str] = ["place > ?"]
        values: list[Any] = [after]
        if wanted.prefix:
            condition, some = beginning("step_id", wanted.prefix)
            conditions.append(condition)
            values += some
        if wanted.hash:
            sides = [beginning(column, wanted.hash) for column in ("begun_on", "ended_on")]
            conditions.append("(" + " OR ".join(condition for condition, _ in sides) + ")")
            values += [value for _, some in sides for value in some]
        if wanted.message_id is not None:
            conditions.append("message_id = ?")
            values.append(wanted.message_id)
        if wanted.is_open:
            conditions.append("is_open")
        if len(conditions) == 1:
            return self.page(after, limit)
        # the conditions are constants
        places = f"SELECT DISTINCT place FROM steps WHERE {' AND '.join(conditions)} ORDER BY place LIMIT ?"  # noqa: S608
        return self._sessions(f"WHERE place IN ({places}) ORDER BY place", *values, limit)

    def neighbours(self, name: str) -> tuple[str, ...]:
        """Returns the ids of each kind right before and after a name in order, as far as there are any."""
        return tuple([result for (result,) in self.ask(NEIGHBOURS, name) if result])

    def older_than(self, mirror: str, milliseconds: int) -> list[IndexedSession]:
        """Returns sessions with no event newer than a time that were also fetched before it."""
        return self._sessions("WHERE mirror = ? AND newest < ? AND taken < ?", mirror, milliseconds, milliseconds)

    # -- changes

    def put(self, mirror: str, entries: Iterable[Entry], gone: Iterable[str], stamp: str, taken: int) -> None:
        """Replaces or adds `entries` and removes the references `gone`: all or nothing.

        `stamp` is the state of the references now, `taken` the time in milliseconds since 1970.
        """
        with self.transaction() as connection:
            dropped = 0
            for chain in gone:
                dropped += connection.execute(
                    "DELETE FROM sessions WHERE mirror = ? AND chain = ?", (mirror, chain)
                ).rowcount
            for entry in entries:
                dropped += _put(connection, mirror, entry, taken)
                # what was fetched is newer than an earlier note
                connection.execute("DELETE FROM there WHERE mirror = ? AND chain = ?", (mirror, entry.chain))
            connection.execute(
                "INSERT INTO mirrors VALUES (?, ?, ?) ON CONFLICT (mirror) DO UPDATE "
                "SET stamp = excluded.stamp, dropped = dropped + excluded.dropped",
                (mirror, stamp, dropped),
            )

    def note_remote_heads(self, mirror: str, heads: Mapping[str, ObjectId | None]) -> None:
        """Records what the remote has now of some references; None for a reference that is gone there."""
        with self.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO there VALUES (?, ?, ?)", [(mirror, *each) for each in heads.items()]
            )

    def note_sent(self, address: str, what: Iterable[bytes]) -> None:
        """Records that blobs, and messages by their ids, were sent to an address."""
        with self.transaction() as connection:
            connection.executemany("INSERT OR IGNORE INTO sent VALUES (?, ?)", [(each, address) for each in what])

    def sent(self, what: Iterable[bytes] | None) -> set[str]:
        """Returns the addresses that any of these blobs and messages, or for None anything, was sent to."""
        if what is None:
            return {address for (address,) in self.ask("SELECT DISTINCT address FROM sent")}
        return {address for each in what for (address,) in self.ask("SELECT address FROM sent WHERE what = ?", each)}

    def forget_sent(self, what: Iterable[bytes]) -> None:
        """Forgets that blobs were sent: the id of a blob can reveal its contents."""
        with self.transaction() as connection:
            connection.executemany("DELETE FROM sent WHERE what = ?", [(each,) for each in what])

    def remove(self, mirror: str) -> None:
        """Removes a mirror with all of its sessions."""
        with self.transaction() as connection:
            for table in ("sessions", "signatures", "made", "there", "mirrors"):
                # the names of the tables are constants
                connection.execute(f"DELETE FROM {table} WHERE mirror = ?", (mirror,))  # noqa: S608

    def note_swept(self, mirror: str) -> None:
        """Records that nothing is left of what was dropped from a mirror."""
        with self.transaction() as connection:
            connection.execute("UPDATE mirrors SET dropped = 0 WHERE mirror = ?", (mirror,))

    # -- queries, also for the other tables

    def _sessions(self, clause: str, *values: Any) -> list[IndexedSession]:
        return [_indexed(row) for row in self.ask(_LISTED + clause, *values)]

    def named(self, statement: str, mirror: str, names: Collection[str] | None) -> Iterator[tuple[Any, ...]]:
        """Returns the rows of a query about a mirror, for some references or, for None, all."""
        if names is None:
            yield from self.ask(statement, mirror)
            return
        wanted = list(names)
        for at in range(0, len(wanted), _MOST_NAMES):
            some = wanted[at : at + _MOST_NAMES]
            yield from self.ask(f"{statement} AND chain IN ({', '.join('?' * len(some))})", mirror, *some)


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN")
    for statement in TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION << 8 | codec.VERSION}")
    connection.execute("COMMIT")


def _put(connection: sqlite3.Connection, mirror: str, entry: Entry, taken: int) -> int:
    """Puts a session in; returns how many versions of it were replaced."""
    had = connection.execute(
        "SELECT place, head FROM sessions WHERE mirror = ? AND chain = ?", (mirror, entry.chain)
    ).fetchone()
    continues = entry.session.continues
    session = attrs.astuple(entry.session, recurse=False)[:-1]
    stored = None if continues is None else codec.encode_derived(continues)
    values = (entry.head, entry.host, taken, *session, stored, entry.newest)
    if had is None:
        place = connection.execute(
            "INSERT INTO sessions (head, host, taken, session_id, agent, title, started, ended, step_count, prompt, "
            "continues, newest, mirror, chain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, mirror, entry.chain),
        ).lastrowid
    else:
        place = had[0]
        connection.execute(
            "UPDATE sessions SET head = ?, host = ?, taken = ?, session_id = ?, agent = ?, title = ?, started = ?, "
            "ended = ?, step_count = ?, prompt = ?, continues = ?, newest = ? WHERE place = ?",
            (*values, place),
        )
        connection.execute("DELETE FROM steps WHERE place = ?", (place,))
    connection.executemany(
        "INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?)",
        [(step.step_id, place, *attrs.astuple(step)[1:]) for step in entry.steps],
    )
    return int(had is not None and had[1] != entry.head)


def _indexed(row: tuple[Any, ...]) -> IndexedSession:
    place, mirror, chain, head, host, *session, newest, taken = row
    return IndexedSession(
        place=place,
        mirror=mirror,
        chain=chain,
        head=head,
        host=host,
        session=session_of(session),
        newest=newest,
        taken=taken,
    )
