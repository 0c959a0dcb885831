"""The timeline's database: the state that follows from the events, in SQLite.

The file uses a write-ahead log (WAL): after a kill or a power cut, it is as it was after one of its commits. Only a
purge or an erasure changes existing events, and both remove it. So opening only adds the events after its newest one in
each chain.

One commit to the file holds up to 64 events, because the same few pages change with each; an event is a savepoint. What
follows only from events in the file (summaries, lists of files) is written as soon as it is computed, so that processes
that are soon killed need not each compute all of it again.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any
from urllib.parse import quote

import attrs

from snapd.failpoints import failpoint
from snapd.model.snapshot import RelPath
from snapd.model.snapshot_records import SnapshotRecord, taken_by
from snapd.model.timeline import (
    Commented,
    Edited,
    Event,
    FileChangeRow,
    Informed,
    Kept,
    MessageSent,
    Operated,
    Recorded,
    Replied,
    Reversal,
    SessionEnded,
    SessionId,
    SessionStarted,
    SnapshotId,
    StepBegun,
    StepEnded,
    StepId,
    StepsLeft,
    Summary,
)
from snapd.store.files.durable import PRIVATE_FILE, remove_if_there

from . import codec
from .chain import ChainLink, snapshots
from .codec import encode_claims, encode_derived, encode_summary, encode_uncaptured
from .converter import write_file
from .file_queries import TimelineQueries
from .schema import GO_ON, TABLES, VERSION

NAME = "timeline.db"
_SEAL = ".sha1"
BESIDE = (_SEAL, "-wal", "-shm", "-journal", "")
"""The endings of the names of a database's files, in the order in which they are removed."""

_OF_A_CHAIN = (
    "snapshots", "undone", "turns", "kept", "looks", "replies", "comments", "spans", "operations", "steps", "messages",
    "sessions",
)  # fmt: skip
_VARYING = ("summary", "is_empty", "previous")
_EVENTS = 64
"""Events per commit to the file: reading these again after a kill takes less time than starting a process."""


_FOLD = """
SELECT fold FROM folds
WHERE path = ? AND basis = ? AND seq = (SELECT MAX(seq) FROM touched WHERE path = ? AND seq <= ?)
"""
_KEEP_FOLD = """
INSERT OR REPLACE INTO folds
SELECT ?, MAX(seq), ?, ? FROM touched WHERE path = ? AND seq <= ? HAVING MAX(seq) IS NOT NULL
"""


class Database(TimelineQueries):
    """An open database, in a file of `made` or, for None, in memory. Only one thread at a time may use it.

    `is_read` opens it only for reading, if no process has it open. Every method raises `sqlite3.Error` if the file
    cannot be read or written, or is damaged.
    """

    def __init__(self, path: str | None, *, is_read: bool = False) -> None:
        self._unwritten = 0
        self._first_unwritten: int | None = None
        self._last: int | None = None  # the `seq` of the newest event, if it is known
        self._is_changing = False
        self._to_summarize: set[StepId] = set()
        self._has_file = path is not None
        name = ":memory:" if path is None else f"file:{quote(path)}?immutable=1" if is_read else path
        self.connection = sqlite3.connect(name, isolation_level=None, check_same_thread=False, uri=is_read)
        if is_read:
            return
        try:
            for pragma in ("page_size = 1024", "locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL",
                           "temp_store = MEMORY", "foreign_keys = ON"):  # fmt: skip
                self.connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            self.connection.close()
            raise

    def close(self) -> None:
        """Closes the file, after writing everything that was committed."""
        try:
            self.write()
        finally:
            self.connection.close()

    def write(self) -> None:
        """Writes what was committed to the file."""
        self._unwritten = 0
        self._first_unwritten = None
        if self.connection.in_transaction:
            if self._has_file:
                failpoint("database.write")
            self.connection.execute("COMMIT")

    @classmethod
    def made(cls, path: str | None, links: Iterable[ChainLink]) -> Database:
        """Creates a database from all events, in order, in an empty file or, for None, in memory; raises as `add`."""
        database = cls(path)
        try:
            database.connection.execute("BEGIN IMMEDIATE")
            for statement in TABLES:
                database.connection.execute(statement)
            database.connection.execute(f"PRAGMA user_version = {VERSION << 8 | codec.VERSION}")
            database.sign(path)
            database.catch_up(links)
        except BaseException:
            database.connection.close()
            raise
        return database

    def catch_up(self, links: Iterable[ChainLink]) -> None:
        """Adds events that follow the existing ones, in order, and writes them; raises as `add`."""
        previous = self.last
        self.begin()
        for link in links:
            self.add(link, previous)
            previous = link.event.seq
        self.commit()
        self.write()
        self._to_summarize.clear()

    @property
    def is_current(self) -> bool:
        """Whether its tables and the format of its events are those of this version."""
        # a database of another snapd may interpret the same events in another way
        return bool(self._value("PRAGMA user_version") == VERSION << 8 | codec.VERSION)

    def is_original(self, path: str) -> bool:
        """Whether the file is the one that `sign` was last called for, not a copy.

        A copy made during a write may be a mixture that SQLite cannot distinguish from a sound database.
        """
        return bool(self._value("PRAGMA application_id") == _file_number(path))

    def sign(self, path: str | None) -> None:
        """Notes in the file which file it is."""
        if path is not None and not self.is_original(path):
            self.connection.execute(f"PRAGMA application_id = {_file_number(path)}")

    def begin(self) -> None:
        """Begins a change that `commit` or `roll_back` ends."""
        self._join()
        self.connection.execute("SAVEPOINT change")
        self._is_changing = True

    def _join(self) -> None:
        """Begins a transaction unless one is open: later changes are written with it."""
        if not self.connection.in_transaction:
            self.connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Makes a change part of the database; it is written together with later ones."""
        failpoint("database.commit")
        self.connection.execute("RELEASE change")
        self._is_changing = False
        self._unwritten += 1
        if self._unwritten >= _EVENTS:
            self.write()

    def roll_back(self) -> None:
        """Reverts a change; raises `sqlite3.Error` if an error also reverted everything not yet written."""
        self._is_changing = False
        self._last = None
        self.connection.execute("ROLLBACK TO change")
        self.connection.execute("RELEASE change")

    # -- adding events

    def add_all(self, links: Iterable[tuple[ChainLink, int | None]]) -> None:
        """Begins a change and adds events, each with the `seq` of the one before; rolls back if it raises, as `add`."""
        self.begin()
        try:
            for link, previous in links:
                self.add(link, previous)
        except BaseException:
            self.roll_back()
            raise

    def add(self, link: ChainLink, previous: int | None) -> None:
        """Adds the event after `previous`; raises `ValueError` or `sqlite3.IntegrityError` if it cannot follow."""
        event = link.event
        head = event.head
        failpoint("database.add")
        if self._first_unwritten is None:
            self._first_unwritten = event.seq
        self.insert(
            "events",
            seq=event.seq,
            previous=previous,
            chain=link.chain,
            commit_id=link.commit,
            pins=link.tree,
            milliseconds=event.milliseconds,
            head_tree=head.tree if head is not None else None,
            head_coverage=head.coverage if head is not None else None,
            git=None if event.git is None else event.git.tree,
            git_before=None if event.seen is None or event.seen.git is None else event.seen.git.tree,
            payload=link.payload,
        )
        if event.seen is not None:
            for place, step_id in enumerate((*event.seen.steps, *event.seen.left)):
                self._run(
                    "INSERT INTO spans VALUES (?, ?, ?, ?)", step_id, event.seq, place, step_id in event.seen.left
                )
        match event.what:
            case SessionStarted() as what:
                _start_session(self.connection, event, what)
            case SessionEnded(session_id):
                _one(
                    self.connection,
                    "UPDATE sessions SET ended = ? WHERE session_id = ?",
                    event.milliseconds,
                    session_id,
                )
            case MessageSent() as what:
                _send_message(self.connection, event, what)
            case StepBegun() as what:
                self._begin_step(event, what)
            case Edited() if event.seen is not None and head is not None:
                for step_id in event.seen.steps:
                    self._run(GO_ON, head.tree, head.coverage, step_id)
            case StepsLeft() | Edited() | Recorded():
                pass  # the event only records the look at the work tree
            case Kept(_, steps):
                for step_id in steps:
                    self._run("INSERT INTO kept VALUES (?, ?)", event.seq, step_id)
            case StepEnded() as what:
                self._end_step(event, what)
            case Operated() as what:
                _operate(self.connection, event, what)
            case Commented(comment_id, session_id):
                due = event.seq if session_id not in (None, event.what.by) else None
                state = "open" if event.what.text else "purged"
                row = {"comment_id": comment_id, "seq": event.seq, "session_id": session_id, "state": state, "due": due}
                self.insert("comments", **row)
            case Replied() as what:
                _reply(self, event, what)
            case Informed(session_id, comments, until, files):
                statement = "UPDATE comments SET due = NULL, delivered = ? WHERE session_id = ? AND due <= ?"
                self._run(f"{statement} AND state = 'open'", event.milliseconds, session_id, comments)
                for path, entry in files:
                    row = {"seq": event.seq, "path": path, "session_id": session_id, "until": until}
                    self.insert("looks", **row, entry=write_file(entry))
        for taken in taken_by(event, self.session_of(event.what)):
            self._take(taken)
        self._add_named_snapshots(event)
        self._last = event.seq

    @property
    def last(self) -> int | None:
        """The `seq` of the newest event."""
        # each event asks for it several times
        if self._last is None:
            self._last = super().last
        return self._last

    def _take(self, taken: SnapshotRecord) -> None:
        columns = attrs.asdict(taken, recurse=False)
        snapshot = columns.pop("snapshot")
        self.insert("snapshots", tree=snapshot.tree, coverage=snapshot.coverage, **columns)

    def _add_named_snapshots(self, event: Event) -> None:
        """Makes the snapshots that an event names searchable by their hashes, though no remaining event took them."""
        for snapshot in set(snapshots(event).values()):
            if not self.knows(snapshot.tree):
                place = -1 - self._value("SELECT -MIN(0, COALESCE(MIN(place), 0)) FROM snapshots")
                self._take(SnapshotRecord(place, event.seq, "look", snapshot, event.milliseconds, is_base=False))

    def _begin_step(self, event: Event, what: StepBegun) -> None:
        if event.head is None:
            raise ValueError(f"step {what.step_id} begins without a snapshot")
        if what.message_id is not None:
            _name_message(self.connection, event, what.session_id, what.message_id)
        self.insert(
            "steps",
            step_id=what.step_id,
            seq=event.seq,
            session_id=what.session_id,
            place=what.index,
            parent=what.parent,
            message_id=what.message_id,
            part_id=what.part_id,
            tool=what.tool,
            description=what.description,
            command=what.command,
            started=event.milliseconds if what.began is None else what.began,
            from_tree=event.head.tree,
            from_coverage=event.head.coverage,
            detached=what.detached,
            late=what.began is not None,
        )
        _one(self.connection, "UPDATE sessions SET step_count = step_count + 1 WHERE session_id = ?", what.session_id)

    def _end_step(self, event: Event, what: StepEnded) -> None:
        if event.head is None:
            raise ValueError(f"step {what.step_id} ends without a snapshot")
        if what.changed:
            _end_redoing(self.connection, what.step_id)
        to = event.head if what.spoken_for else _residual_changes(self, what.step_id, event.head)
        values = (
            event.milliseconds,
            to.tree,
            to.coverage,
            encode_claims(what.claims) if what.claims is not None else None,
            what.spoken_for,
            encode_uncaptured(what.uncaptured) if what.uncaptured else None,
            what.description,
            what.step_id,
        )
        _one(
            self.connection,
            "UPDATE steps SET ended = ?, to_tree = ?, to_coverage = ?, state = 'applied', claims = ?, spoken_for = ?, "
            "uncaptured = ?, description = COALESCE(?, description) WHERE step_id = ? AND state = 'open'",
            *values,
        )
        # the attribution may have changed
        for other in (what.step_id, *self.beside(what.step_id)):
            self._to_summarize.add(other)
            self._run("UPDATE steps SET summary = NULL, is_empty = NULL WHERE step_id = ?", other)

    def keep_summary(self, step_id: StepId, summary: Summary) -> None:
        """Keeps the summary of a step until a step ends that was open at the same time."""
        self._join()
        self._run(
            "UPDATE steps SET summary = ?, is_empty = ? WHERE step_id = ?",
            encode_summary(summary),
            summary.is_empty,
            step_id,
        )
        if step_id in self._to_summarize:
            self._to_summarize.remove(step_id)
        else:
            self._write_derived()

    def list_files(self, files: Mapping[int, Iterable[FileChangeRow]]) -> None:
        """Lists the files that events changed, by the `seq` of each event."""
        self._join()
        for seq in sorted(files):
            _list_files(self.connection, seq, files[seq])
        if self._first_unwritten is None or min(files) < self._first_unwritten:
            self._write_derived()

    def fold_of(self, path: RelPath, last: int, basis: str) -> str | None:
        """Returns the kept fold of a file, if it did not change since; see `Timeline.fold_of`."""
        fold: str | None = self._value(_FOLD, path, basis, path, last)
        return fold

    def keep_folds(self, folds: Mapping[RelPath, str], last: int, basis: str) -> None:
        """Keeps the folds of files until their next changes."""
        self._join()
        rows = [(path, basis, fold, path, last) for path, fold in folds.items()]
        self.connection.executemany(_KEEP_FOLD, rows)
        self._write_derived()

    def _write_derived(self) -> None:
        if not self._is_changing:
            self.write()

    def drop(self, chains: Iterable[str], singles: Iterable[int], moved: Iterable[ChainLink]) -> None:
        """Drops chains that no other chain is linked with, and snapshot events by `seq` (`singles`).

        `moved` are events that stay with another commit.
        """
        failpoint("database.drop")
        self.write()
        self._last = None
        self.begin()
        try:
            # a step may be dropped before its parts
            self.connection.execute("PRAGMA defer_foreign_keys = ON")
            for chain in chains:
                for table in (*_OF_A_CHAIN, "touched"):
                    # the names of the tables are constants
                    self._run(f"DELETE FROM {table} WHERE seq IN (SELECT seq FROM events WHERE chain = ?)", chain)  # noqa: S608
                self._run("DELETE FROM events WHERE chain = ?", chain)
            self._run("DELETE FROM folds")
            for seq in singles:
                self._run("DELETE FROM snapshots WHERE seq = ?", seq)
                self._run("DELETE FROM events WHERE seq = ?", seq)
            for link in moved:
                self._run("UPDATE events SET commit_id = ? WHERE seq = ?", link.commit, link.event.seq)
            for event in self.all_events():
                self._add_named_snapshots(event)
            self.commit()
        except BaseException:
            self.roll_back()
            raise
        self.write()
        # dropping has to make the store smaller
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # -- the chains

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Returns all rows of all tables, sorted, for comparison.

        Leaves out what may differ: summaries, and the `seq` of the event before, which may have expired.
        """
        result = {}
        for table in ("events", *_OF_A_CHAIN):
            columns = [name for _, name, *_ in self._rows(f"PRAGMA table_info({table})") if name not in _VARYING]
            # the names of the tables are constants, and their columns in the schema
            rows = self._rows(f"SELECT {', '.join(columns)} FROM {table}")  # noqa: S608
            result[table] = sorted(rows, key=repr)
        # the other rows depend on what was dropped before
        result["snapshots"] = [row for row in result["snapshots"] if row[0] > 0]
        return result

    def _together(self) -> AbstractContextManager[object]:
        return nullcontext()

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        return self.connection.execute(statement, values).fetchall()

    def insert(self, table: str, **values: Any) -> None:
        """Adds a row."""
        names, places = ", ".join(values), ", ".join("?" for _ in values)
        # the names of the tables and columns are constants
        self._run(f"INSERT INTO {table} ({names}) VALUES ({places})", *values.values())  # noqa: S608

    def _run(self, statement: str, *values: Any) -> int:
        return self.connection.execute(statement, values).rowcount


def _reply(database: Database, event: Event, what: Replied) -> None:
    database.insert("replies", seq=event.seq, comment_id=what.comment_id)
    # never for the agent's own words, nor for what a person settled
    is_due = what.session_id not in (None, what.by) and what.state != "resolved"
    database.connection.execute(
        "UPDATE comments SET state = COALESCE(?, state), due = CASE WHEN ? THEN ? ELSE due END "
        "WHERE comment_id = ? AND state != 'purged'",
        (what.state, is_due, event.seq, what.comment_id),
    )


def _start_session(connection: sqlite3.Connection, event: Event, what: SessionStarted) -> None:
    continues = None if what.continues is None else encode_derived(what.continues)
    connection.execute(
        "INSERT INTO sessions (session_id, seq, agent, title, started, continues) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (session_id) DO UPDATE "
        "SET ended = NULL, agent = COALESCE(excluded.agent, agent), title = COALESCE(excluded.title, title), "
        "continues = COALESCE(excluded.continues, continues)",
        (what.session_id, event.seq, what.agent, what.title, event.milliseconds, continues),
    )


def _name_message(connection: sqlite3.Connection, event: Event, session_id: SessionId, message_id: str) -> None:
    """Adds a message that an event names, unless it exists; raises `sqlite3.IntegrityError` as `_send_message`."""
    connection.execute(
        "INSERT INTO messages (session_id, message_id, seq, started) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (session_id, message_id, event.seq, event.milliseconds),
    )


def _send_message(connection: sqlite3.Connection, event: Event, what: MessageSent) -> None:
    """Adds a message that was sent, or replaces its text if it was sent again.

    Raises `sqlite3.IntegrityError` if its session is unknown.
    """
    _name_message(connection, event, what.session_id, what.message_id)
    connection.execute(
        "UPDATE messages SET sent = ?, text = COALESCE(?, text) WHERE session_id = ? AND message_id = ?",
        (event.seq, what.text, what.session_id, what.message_id),
    )


def _residual_changes(database: Database, step_id: StepId, snapshot_id: SnapshotId) -> SnapshotId:
    """Returns the end of a step that no client ended: `snapshot_id`, or the state when its client left."""
    statement = "SELECT MIN(seq) FROM spans WHERE step_id = ? AND is_left"
    (first,) = database.connection.execute(statement, (step_id,)).fetchone()
    event = None if first is None else database.event(first)
    return snapshot_id if event is None or event.seen is None else event.seen.before


def _list_files(connection: sqlite3.Connection, seq: int, files: Iterable[FileChangeRow]) -> None:
    """Lists the files of the oldest event not listed yet; does nothing if the event was dropped since."""
    if connection.execute("SELECT 1 FROM events WHERE seq = ?", (seq,)).fetchone() is None:
        return
    rows = [(file.path, seq, file.part, write_file(file.old), write_file(file.new), file.other) for file in files]
    connection.executemany("INSERT OR REPLACE INTO touched VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.execute("DELETE FROM listed")
    connection.execute("INSERT INTO listed VALUES (?)", (seq,))


def _operate(connection: sqlite3.Connection, event: Event, what: Operated) -> None:
    """Adds an operation; raises `ValueError` or `sqlite3.IntegrityError` if it cannot follow the existing events."""
    if what.is_own:
        # it is now the folder's own latest change
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


def _end_redoing(connection: sqlite3.Connection, step_id: StepId) -> None:
    """Ends redoing after a step changed something: no earlier undo of its session or of the folder is redoable now."""
    connection.execute(
        "UPDATE undone SET redoable = 0 WHERE redoable AND (step_id IS NULL OR step_id IN (SELECT step_id FROM steps "
        "WHERE session_id = (SELECT session_id FROM steps WHERE step_id = ?)))",
        (step_id,),
    )


def _do_again(connection: sqlite3.Connection, turned: Reversal) -> None:
    """Applies the redo of an undone item, except for some paths (`Reversal.rest`) and the git state."""
    which = (turned.name, turned.again)
    if turned.rest or turned.git_rests:
        values = (encode_claims(turned.rest), turned.git_rests, *which)
        rest = "UPDATE undone SET rest = ?, git = git AND ? WHERE name = ? AND operation_id = ?"
        _one(connection, rest, *values)
    else:
        _one(connection, "DELETE FROM undone WHERE name = ? AND operation_id = ?", *which)


def _take_back(connection: sqlite3.Connection, seq: int, place: int, what: Operated, turned: Reversal) -> bool:
    """Applies an undo, or a step that an older snapd undid or redid; returns whether the item's state changes."""
    if turned.left is None:
        if turned.state == "undone" and not (turned.effects or turned.made_directories or turned.removed_directories):
            # an older snapd recorded a step as undone although all of it was in conflict
            return False
        # it undid or redid the whole step each time, including everything undone before
        connection.execute("DELETE FROM undone WHERE name = ?", (turned.name,))
        if turned.state == "applied":
            return True
    connection.execute(
        "INSERT INTO undone VALUES (?, ?, ?, ?, ?, NULL, TRUE, ?)",
        (turned.name, seq, place, turned.step_id, what.operation_id, turned.git is not None),
    )
    return True


def _one(connection: sqlite3.Connection, statement: str, *values: Any) -> None:
    if connection.execute(statement, values).rowcount != 1:
        raise ValueError(f"{values[-1]} is unknown, or not in a state for this event")


def _file_number(path: str) -> int:
    """Distinguishes a file from its copies."""
    # as many bits as SQLite keeps for an application
    return os.stat(path).st_ino & 0x7FFFFFFF


def rows_of(links: Iterable[ChainLink]) -> dict[str, list[tuple[Any, ...]]]:
    """Returns the rows of a new database with these events; raises as `Database.made`."""
    with closing(Database.made(None, links)) as database:
        return database.rows()


def fresh(path: str) -> None:
    """Replaces the file of a database by an empty private one; raises `OSError`."""
    failpoint("database.fresh")
    remove(path)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))


def remove(path: str) -> None:
    """Removes all files of a database; raises `OSError`."""
    for end in BESIDE:
        remove_if_there(path + end)


def seal(path: str) -> None:
    """Writes the digest of a file that was closed cleanly, to detect damage; raises `OSError`."""
    digest = _digest(path)
    failpoint("database.seal")
    descriptor = os.open(path + _SEAL, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(digest)


def is_sealed(path: str) -> bool | None:
    """Whether a file is as it was closed; None if it was not closed cleanly. Raises `OSError`."""
    try:
        with open(path + _SEAL, "rb") as file:
            return file.read() == _digest(path)
    except FileNotFoundError:
        return None


def unseal(path: str) -> None:
    """Removes the digest of a file that is about to change; raises `OSError`."""
    remove_if_there(path + _SEAL)


def _digest(path: str) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha1").hexdigest().encode()


def closed(path: str) -> Database | None:
    """Opens a cleanly closed database, which no process has open, for reading; None if there is none."""
    if not is_sealed(path):
        return None
    database = Database(path, is_read=True)
    if database.is_current:
        return database
    database.close()
    return None
