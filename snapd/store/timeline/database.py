"""The timeline's database: the state that follows from the events, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from snapd.failpoints import failpoint
from snapd.model.snapshot import ObjectId
from snapd.model.timeline import (
    Edited,
    Event,
    EventPayload,
    Kept,
    MessageSent,
    Operated,
    OperationId,
    Session,
    SessionEnded,
    SessionId,
    SessionStarted,
    SnapshotId,
    Step,
    StepBegun,
    StepEnded,
    StepId,
    StepQuery,
    StepsLeft,
    Summary,
    Tally,
    Undone,
    UndoUnit,
    around,
)

from . import codec
from .chain import Link, chain_of_session
from .codec import decode_event, encode_claims, encode_summary, encode_uncaptured
from .rows import (
    ABOUT,
    AFTER_ALL,
    EVENT,
    HEARD,
    IN_FORCE,
    OF_SESSION,
    OPERATION,
    SEEN,
    SESSION,
    STEP,
    TALLY,
    UNDONE,
    WITHIN,
    bounds,
    operation,
    search,
    snapshot,
    step,
    undone,
)
from .schema import CHAINS, GO_ON, TABLES, VERSION
from .tables import end_redoing, name_message, operate, send_message

_OF_A_CHAIN = ("undone", "turns", "kept", "spans", "operations", "steps", "messages", "sessions")
_VARYING = ("summary", "is_empty", "previous")


class Database:
    """An open database. Only one thread at a time may use it.

    Nothing of it is ever synced, and its own journal is in memory: a process that dies within a transaction may leave a
    file that is none any more. See `verify`.

    Args:
        path: a file of `made`; None for one that is in memory alone.

    Attributes:
        connection: for `tables` and `schema`, which have questions of their own.

    Every method raises `sqlite3.Error` where the file cannot be read or written, or is damaged.
    """

    def __init__(self, path: str | None) -> None:
        self.connection = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
        try:
            for pragma in ("page_size = 1024", "locking_mode = EXCLUSIVE", "journal_mode = MEMORY", "synchronous = OFF",
                           "temp_store = MEMORY", "foreign_keys = ON"):  # fmt: skip
                self.connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the file."""
        self.connection.close()

    @classmethod
    def made(cls, path: str | None, links: Iterable[Link]) -> Database:
        """A database with the tables, and what follows from events.

        Args:
            path: an empty file; None for one that is in memory alone.
            links: all events, in their order.

        Raises:
            ValueError, sqlite3.IntegrityError: the events are inconsistent.
        """
        database = cls(path)
        try:
            with database._transaction():
                for statement in TABLES:
                    database.connection.execute(statement)
                database.connection.execute(f"PRAGMA user_version = {VERSION << 8 | codec.VERSION}")
                previous = None
                for link in links:
                    database.add(link, previous)
                    previous = link.event.seq
        except BaseException:
            database.close()
            raise
        return database

    @property
    def is_current(self) -> bool:
        """Whether its tables and the format of its events are those of this version."""
        # a database of another snapd may interpret the same events in another way
        return bool(self._value("PRAGMA user_version") == VERSION << 8 | codec.VERSION)

    def begin(self) -> None:
        """Begins a transaction."""
        self.connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Commits the transaction."""
        failpoint("database.commit")
        self.connection.execute("COMMIT")

    def roll_back(self) -> None:
        """Rolls the transaction back, unless an error did already."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.begin()
        try:
            yield
            self.commit()
        except BaseException:
            self.roll_back()
            raise

    # -- adding events

    def add(self, link: Link, previous: int | None) -> None:
        """Adds the next event.

        Args:
            link: the event.
            previous: the `seq` of the one before it.

        Raises:
            ValueError, sqlite3.IntegrityError: it cannot follow those that are there.
        """
        event = link.event
        head = event.head
        failpoint("database.add")
        self._run(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            event.seq,
            previous,
            link.chain,
            link.commit,
            link.tree,
            event.milliseconds,
            head.tree if head is not None else None,
            head.coverage if head is not None else None,
            link.payload,
        )
        if event.seen is not None:
            for place, step_id in enumerate((*event.seen.steps, *event.seen.left)):
                self._run(
                    "INSERT INTO spans VALUES (?, ?, ?, ?)", step_id, event.seq, place, step_id in event.seen.left
                )
        match event.what:
            case SessionStarted() as what:
                self._start_session(event, what)
            case SessionEnded(session_id):
                self._one("UPDATE sessions SET ended = ? WHERE session_id = ?", event.milliseconds, session_id)
            case MessageSent() as what:
                send_message(self.connection, event, what)
            case StepBegun() as what:
                self._begin_step(event, what)
            case Edited() if event.seen is not None and head is not None:
                for step_id in event.seen.steps:
                    self._run(GO_ON, head.tree, head.coverage, step_id)
            case StepsLeft() | Edited():
                pass  # the event only records the look at the work tree
            case Kept(_, steps):
                for step_id in steps:
                    self._run("INSERT INTO kept VALUES (?, ?)", event.seq, step_id)
            case StepEnded() as what:
                self._end_step(event, what)
            case Operated() as what:
                operate(self.connection, event, what)

    def _start_session(self, event: Event, what: SessionStarted) -> None:
        self._run(
            "INSERT INTO sessions (session_id, seq, agent, title, started) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (session_id) DO UPDATE "
            "SET ended = NULL, agent = COALESCE(excluded.agent, agent), title = COALESCE(excluded.title, title)",
            what.session_id,
            event.seq,
            what.agent,
            what.title,
            event.milliseconds,
        )

    def _begin_step(self, event: Event, what: StepBegun) -> None:
        if event.head is None:
            raise ValueError(f"step {what.step_id} begins without a snapshot")
        if what.message_id is not None:
            name_message(self.connection, event, what.session_id, what.message_id)
        self._run(
            "INSERT INTO steps (step_id, seq, session_id, place, parent, message_id, part_id, tool, description, "
            "started, from_tree, from_coverage, detached, late) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            what.step_id,
            event.seq,
            what.session_id,
            what.index,
            what.parent,
            what.message_id,
            what.part_id,
            what.tool,
            what.description,
            event.milliseconds if what.began is None else what.began,
            event.head.tree,
            event.head.coverage,
            what.detached,
            what.began is not None,
        )
        self._one("UPDATE sessions SET step_count = step_count + 1 WHERE session_id = ?", what.session_id)

    def _end_step(self, event: Event, what: StepEnded) -> None:
        if event.head is None:
            raise ValueError(f"step {what.step_id} ends without a snapshot")
        if what.changed:
            end_redoing(self.connection, what.step_id)
        to = event.head if what.spoken_for else self._left_with(what.step_id, event.head)
        self._one(
            "UPDATE steps SET ended = ?, to_tree = ?, to_coverage = ?, state = 'applied', claims = ?, spoken_for = ?, "
            "uncaptured = ?, description = COALESCE(?, description) WHERE step_id = ? AND state = 'open'",
            event.milliseconds,
            to.tree,
            to.coverage,
            encode_claims(what.claims) if what.claims is not None else None,
            what.spoken_for,
            encode_uncaptured(what.uncaptured) if what.uncaptured else None,
            what.description,
            what.step_id,
        )
        # the attribution may be different now
        for other in (what.step_id, *self.beside(what.step_id)):
            self._run("UPDATE steps SET summary = NULL, is_empty = NULL WHERE step_id = ?", other)

    def _left_with(self, step_id: StepId, found: SnapshotId) -> SnapshotId:
        """What a step without a client left: the changes that were found, unless its client was gone before."""
        first = self._value("SELECT MIN(seq) FROM spans WHERE step_id = ? AND is_left", step_id)
        if first is None:
            return found
        event = self._event(*self._rows(EVENT + "WHERE seq = ?", first)[0])
        assert event.seen is not None
        return event.seen.before

    def keep_summary(self, step_id: StepId, summary: Summary) -> None:
        """Keeps the summary of a step, until a step ends that was open at the same time."""
        self._run(
            "UPDATE steps SET summary = ?, is_empty = ? WHERE step_id = ?",
            encode_summary(summary),
            summary.is_empty,
            step_id,
        )

    def drop(self, chains: Iterable[str]) -> None:
        """Drops chains; no other chain may be linked with them."""
        failpoint("database.drop")
        with self._transaction():
            # a step may be dropped before its parts
            self.connection.execute("PRAGMA defer_foreign_keys = ON")
            for chain in chains:
                for table in (*_OF_A_CHAIN, "touched"):
                    # the names of the tables are constants
                    self._run(f"DELETE FROM {table} WHERE seq IN (SELECT seq FROM events WHERE chain = ?)", chain)  # noqa: S608
                self._run("DELETE FROM events WHERE chain = ?", chain)

    # -- the chains

    def heads(self) -> dict[str, ObjectId]:
        """The newest commit of each chain."""
        rows = self._rows("SELECT chain, commit_id, MAX(seq) FROM events GROUP BY chain")
        return {chain: commit for chain, commit, _ in rows}

    def chains(self) -> list[tuple[str, Event, bool]]:
        """All events in order: the chain of each, the event, and whether the chain is an open session."""
        rows = self._rows(CHAINS)
        return [(chain, decode_event(payload, commit)[0], bool(is_open)) for chain, payload, commit, is_open in rows]

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows of all tables, sorted.

        Without summaries, which it may drop, and without the `seq` before an event, whose event may have expired.
        """
        found = {}
        for table in ("events", *_OF_A_CHAIN):
            columns = [name for _, name, *_ in self._rows(f"PRAGMA table_info({table})") if name not in _VARYING]
            # the names of the tables are constants, and their columns in the schema
            rows = self._rows(f"SELECT {', '.join(columns)} FROM {table}")  # noqa: S608
            found[table] = sorted(rows, key=repr)
        return found

    # -- queries

    def last(self) -> tuple[int, SnapshotId | None] | None:
        """The `seq` and the head of the newest event."""
        rows = self._rows("SELECT seq, head_tree, head_coverage FROM events ORDER BY seq DESC LIMIT 1")
        return (rows[0][0], snapshot(*rows[0][1:])) if rows else None

    def session_of(self, what: EventPayload) -> SessionId | None:
        """The session of an event; None if it has none, or if its step is unknown."""
        if isinstance(what, StepEnded):
            found: str | None = self._value("SELECT session_id FROM steps WHERE step_id = ?", what.step_id)
            return found
        return None if isinstance(what, StepsLeft | Edited | Kept) else what.session_id

    def session(self, session_id: SessionId) -> Session | None:
        """A session by its id."""
        return next(iter(self._sessions("WHERE session_id = ?", session_id)), None)

    def sessions(self) -> tuple[Session, ...]:
        """All sessions, in the order in which they were first begun."""
        return self._sessions("ORDER BY seq")

    def step(self, step_id: StepId) -> Step | None:
        """A step by its id."""
        return next(iter(self._steps("WHERE step_id = ?", step_id)), None)

    def step_of_part(self, session_id: SessionId, message_id: str | None, part_id: str) -> Step | None:
        """The first step of a part of a message; an open step of the part may be of any message."""
        which = "WHERE session_id = ? AND part_id = ? AND (message_id IS ? OR state = 'open') ORDER BY seq LIMIT 1"
        return next(iter(self._steps(which, session_id, part_id, message_id)), None)

    def steps(self, session_id: SessionId) -> tuple[Step, ...]:
        """The steps of a session, in the order in which they were begun."""
        return self._steps("WHERE session_id = ? ORDER BY seq", session_id)

    def session_page(self, after: int | None, limit: int | None) -> tuple[tuple[Session, ...], int | None]:
        """Up to `limit` sessions after the end of a page, and the end of this page, or None if it is the last."""
        sessions = self._sessions("WHERE seq > ? ORDER BY seq LIMIT ?", *bounds(after, limit))
        shown = sessions[:limit]
        if len(shown) == len(sessions):
            return shown, None
        return shown, self._value("SELECT seq FROM sessions WHERE session_id = ?", shown[-1].session_id)

    def step_page(
        self, session_id: SessionId, after: int | None, limit: int | None
    ) -> tuple[tuple[Step, ...], int | None]:
        """Up to `limit` steps of a session after the end of a page, and the end of this page, or None."""
        clause = "WHERE session_id = ? AND place > ? ORDER BY place LIMIT ?"
        steps = self._steps(clause, session_id, *bounds(after, limit))
        return steps[:limit], steps[:limit][-1].begun.index if len(steps[:limit]) < len(steps) else None

    def find_steps(self, wanted: StepQuery, limit: int | None) -> tuple[Step, ...]:
        """Up to `limit` steps that match, the newest first."""
        clause, values = search(wanted, limit)
        return self._steps(clause, *values)

    def parts(self, step_id: StepId) -> tuple[Step, ...]:
        """The steps that were begun as parts of a step, in that order."""
        return self._steps("WHERE parent = ? ORDER BY seq", step_id)

    def open_steps(self) -> tuple[Step, ...]:
        """The steps that are open, in the order in which they were begun."""
        return self._steps("WHERE state = 'open' ORDER BY seq")

    def unit(self, name: StepId | OperationId) -> UndoUnit | None:
        """A step, or an operation that can be taken back."""
        return self.step(name) or next((operation(row) for row in self._rows(OPERATION, name)), None)

    def in_force(self) -> tuple[StepId | OperationId, ...]:
        """What may have changed something and was not undone as a whole, the last to do so first."""
        return tuple([name for (name,) in self._rows(IN_FORCE)])

    def redoable(self, session_id: SessionId | None) -> tuple[Undone, ...]:
        """What can be redone, of the steps of a session or of all that there is, the last undone first."""
        order = "ORDER BY undone.seq DESC, undone.place DESC"
        if session_id is None:
            return self._undone(f"WHERE redoable {order}")
        return self._undone(f"JOIN steps USING (step_id) WHERE session_id = ? AND redoable {order}", session_id)

    def undone(self, name: StepId | OperationId) -> tuple[Undone, ...]:
        """What was undone of a step or an operation and not redone, oldest first."""
        return self._undone("WHERE name = ? ORDER BY seq", name)

    def tally(self, session_id: SessionId) -> Tally:
        """What can be done in a session."""
        undoable, redoable = self._rows(TALLY, session_id)[0]
        unknown = "WHERE session_id = ? AND state IN ('applied', 'partly') AND is_empty IS NULL ORDER BY seq"
        return Tally(int(undoable), int(redoable), self._steps(unknown, session_id))

    def events_of(self, step_id: StepId, *, spoken_for: bool = False) -> tuple[Event, ...]:
        """The events whose spans have a step among their `steps`, in their order."""
        rows = self._rows(SEEN, step_id, spoken_for)
        return tuple([self._event(payload, commit, step_id if spoken_for else None) for payload, commit in rows])

    def events_of_session(self, session_id: SessionId) -> tuple[Event, ...]:
        """The events that say anything about a session, oldest first."""
        return self._events(OF_SESSION, chain_of_session(session_id), session_id)

    def operations_about(self, session_id: SessionId) -> tuple[Event, ...]:
        """The events of the operations about a session that are in force, in their order."""
        return self._events(ABOUT, session_id)

    def beside(self, step_id: StepId) -> tuple[StepId, ...]:
        """The other steps in the spans of a step, including spans in which it was left."""
        rows = self._rows(
            "SELECT there.step_id FROM spans AS here JOIN spans AS there USING (seq) "
            "WHERE here.step_id = ? AND there.step_id != here.step_id "
            "GROUP BY there.step_id ORDER BY MIN(there.seq), MIN(there.place)",
            step_id,
        )
        return tuple([step for (step,) in rows])

    def operation(self, operation_id: OperationId) -> Operated | None:
        """An operation by its id."""
        for payload, commit, _ in self._rows(OPERATION, operation_id):
            what = decode_event(payload, commit)[0].what
            assert isinstance(what, Operated)
            return what
        return None

    def events(self, before: int | None, limit: int) -> tuple[Event, ...]:
        """At most `limit` events, the newest first, with a `seq` below `before` unless that is None."""
        return self._events("WHERE seq < ? ORDER BY seq DESC LIMIT ?", AFTER_ALL if before is None else before, limit)

    def event(self, seq: int) -> Event | None:
        """The event with a number."""
        return next(iter(self._events("WHERE seq = ?", seq)), None)

    def events_within(self, first: int, last: int, head: ObjectId | None) -> tuple[Event, ...]:
        """The events between two times, the newest first; with this head, unless that is None."""
        return self._events(WITHIN, first, last, head)

    # -- statements

    def _event(self, payload: str, commit: ObjectId, speaking: StepId | None = None) -> Event:
        """An event; `seen.steps` includes steps that were left and were spoken for, or are now."""
        event, _ = decode_event(payload, commit)
        if event.seen is None or not event.seen.left:
            return event
        rows = self._rows(HEARD, speaking, event.seq)
        heard = [step for step, _, is_heard in rows if is_heard]
        outer = around(heard, {step: parent for step, parent, _ in rows})
        steps = [step for step in (*event.seen.steps, *heard) if step not in outer]
        return attrs.evolve(event, seen=attrs.evolve(event.seen, steps=tuple(steps)))

    def _events(self, clause: str, *values: Any) -> tuple[Event, ...]:
        return tuple([self._event(*row) for row in self._rows(EVENT + clause, *values)])

    def _sessions(self, clause: str, *values: Any) -> tuple[Session, ...]:
        return tuple([Session(*row) for row in self._rows(SESSION + clause, *values)])

    def _steps(self, clause: str, *values: Any) -> tuple[Step, ...]:
        return tuple([step(row) for row in self._rows(STEP + clause, *values)])

    def _undone(self, clause: str, *values: Any) -> tuple[Undone, ...]:
        return tuple([undone(row) for row in self._rows(UNDONE + clause, *values)])

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        return self.connection.execute(statement, values).fetchall()

    def _value(self, statement: str, *values: Any) -> Any:
        row = self.connection.execute(statement, values).fetchone()
        return row[0] if row is not None else None

    def _run(self, statement: str, *values: Any) -> int:
        return self.connection.execute(statement, values).rowcount

    def _one(self, statement: str, *values: Any) -> None:
        if self._run(statement, *values) != 1:
            raise ValueError(f"{values[-1]} is unknown, or not in a state for this event")
