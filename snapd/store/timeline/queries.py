"""What a timeline is asked: statements on the tables of `schema`, and their rows as plain data."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import attrs

from snapd.model.retention import Chain, DatedSnapshot, Inventory
from snapd.model.snapshot import ObjectId, RelPath
from snapd.model.snapshot_records import SnapshotRecord, SnapshotRecordQuery, taken_by
from snapd.model.timeline import (
    Edited,
    Event,
    EventPayload,
    FileChangeRow,
    Kept,
    Message,
    Operated,
    Operation,
    OperationId,
    Recorded,
    Session,
    SessionId,
    SnapshotId,
    Span,
    Step,
    StepBegun,
    StepEnded,
    StepId,
    StepQuery,
    StepsLeft,
    Tally,
    UndoneShare,
    UndoUnit,
    around,
)

from .chain import SESSIONS, SNAPSHOTS, chain_of_session, effect_blobs, snapshots
from .codec import decode_claims, decode_event, decode_summary, decode_uncaptured
from .converter import read_file
from .schema import CHAINS, HEADS, LINKS, ROOTS

AFTER_ALL = 2**63 - 1
"""A number above that of every event."""
_LAST_CHARACTER = "\U0010ffff"

EVENT = "SELECT payload, commit_id FROM events "
_NOT_A_SNAPSHOT = f"chain NOT BETWEEN '{SNAPSHOTS}' AND '{SNAPSHOTS}~'"
BELOW = f"WHERE seq < ? AND {_NOT_A_SNAPSHOT} ORDER BY seq DESC LIMIT ?"
UNLISTED = f"""
SELECT seq FROM events WHERE seq > (SELECT COALESCE(MAX(seq), 0) FROM listed) AND {_NOT_A_SNAPSHOT} ORDER BY seq LIMIT ?
"""  # noqa: S608 - the name is a constant
TAKEN = "SELECT * FROM snapshots "
HEAD = "SELECT head_tree, head_coverage FROM events WHERE head_tree IS NOT NULL ORDER BY seq DESC LIMIT 1"
SESSION = """
SELECT session_id, agent, title, started, ended, step_count, (
    SELECT SUBSTR(text, 1, 500) FROM messages
    WHERE messages.session_id = sessions.session_id AND text IS NOT NULL ORDER BY messages.seq LIMIT 1
)
FROM sessions """
UNDONE = "SELECT name, operation_id, rest FROM undone "
SPAN_STEPS = """
SELECT spans.step_id, parent, is_left AND (spoken_for OR spans.step_id = ?)
FROM spans JOIN steps ON steps.step_id = spans.step_id
WHERE spans.seq = ? ORDER BY spans.place
"""
"""The steps of a span, with one that counts as spoken for: whether each was left, and was spoken for."""
STEP_EVENTS = """
SELECT payload, commit_id FROM spans JOIN events ON events.seq = spans.seq JOIN steps ON steps.step_id = spans.step_id
WHERE spans.step_id = ? AND (? OR steps.spoken_for OR NOT spans.is_left) ORDER BY spans.seq
"""
"""The events whose spans a step is among, where it was left only if it is spoken for."""
SESSION_OPERATIONS = """
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
    from_coverage, to_tree, to_coverage, state, claims, summary, detached, uncaptured, late, command
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


NEIGHBOURS = beside(("steps", "step_id"), ("sessions", "session_id"), ("messages", "message_id"))


_HEXADECIMAL = re.compile("[0-9a-f]*")
_DIGITS = 40
"""Of a hash."""
_TREES_BESIDE = """
SELECT lower(hex(max(tree))) FROM snapshots WHERE tree < ?1
UNION ALL SELECT lower(hex(min(tree))) FROM snapshots WHERE tree > ?2
UNION ALL SELECT lower(hex(min(tree))) FROM snapshots WHERE tree BETWEEN ?1 AND ?2 AND ?1 != ?2
"""
TAKEN_UNTIL = "WHERE place > 0 AND place < ? AND milliseconds <= ? ORDER BY place DESC LIMIT ?"
TAKEN_BEGINNING = """
WHERE tree BETWEEN ? AND ? AND place < ?
    AND place = (SELECT MAX(place) FROM snapshots AS newer WHERE newer.tree = snapshots.tree)
ORDER BY place DESC LIMIT ?
"""


def _bounds_of_trees(digits: str) -> tuple[ObjectId, ObjectId]:
    """The first and the last hash that begins with some digits."""
    return bytes.fromhex(digits.ljust(_DIGITS, "0")), bytes.fromhex(digits.ljust(_DIGITS, "f"))


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


_MESSAGE = "SELECT session_id, message_id, text, started, seq FROM messages "
_TOUCHED = "SELECT path, seq, part, old, new, other FROM touched "


class Queries(ABC):
    """What asks the tables."""

    @abstractmethod
    def _rows(self, statement: str, *values: Any) -> list[Any]:
        """The rows that a statement gives."""

    @abstractmethod
    def _together(self) -> AbstractContextManager[object]:
        """Has several statements see the same events."""

    def _value(self, statement: str, *values: Any) -> Any:
        rows = self._rows(statement, *values)
        return rows[0][0] if rows else None


class SessionQueries(Queries):
    """Sessions and their messages."""

    def session(self, session_id: SessionId) -> Session | None:
        """A session by its name."""
        return next(iter(self._sessions("WHERE session_id = ?", session_id)), None)

    def sessions(self) -> tuple[Session, ...]:
        """All sessions, in the order in which they were first begun."""
        return self._sessions("ORDER BY seq")

    def session_page(self, after: int | None, limit: int | None) -> tuple[tuple[Session, ...], int | None]:
        """Lists up to `limit` sessions in the order of `sessions`, from where a page ended; and where this one ends."""
        with self._together():
            sessions = self._sessions("WHERE seq > ? ORDER BY seq LIMIT ?", *bounds(after, limit))
            shown = sessions[:limit]
            if len(shown) == len(sessions):
                return shown, None
            return shown, self._value("SELECT seq FROM sessions WHERE session_id = ?", shown[-1].session_id)

    def message(self, session_id: SessionId, message_id: str) -> Message | None:
        """A message of a session by its id."""
        return self._message("WHERE session_id = ? AND message_id = ?", session_id, message_id)

    def last_message(self, session_id: SessionId) -> Message | None:
        """The message that was sent last in a session; None if none was, whatever steps name."""
        return self._message("WHERE session_id = ? AND sent IS NOT NULL ORDER BY sent DESC LIMIT 1", session_id)

    def message_page(
        self, session_id: SessionId | None, prefix: str, after: int | None, limit: int | None
    ) -> tuple[tuple[Message, ...], int | None]:
        """Lists up to `limit` messages from where a page ended; and where this one ends.

        A message that only steps name is among them, at the place of its first step.

        Args:
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
        rows = self._messages(f"WHERE {clause} LIMIT ?", *values, start, most)
        shown = rows[:limit]
        return tuple([Message(*row[:-1]) for row in shown]), shown[-1][-1] if len(shown) < len(rows) else None

    def neighbours(self, name: str) -> tuple[str, ...]:
        """The ids of each kind, and the hashes, that come right before and after a name, as far as there are any."""
        digits = _HEXADECIMAL.match(name)
        assert digits is not None
        trees = self._rows(_TREES_BESIDE, *_bounds_of_trees(digits[0][:_DIGITS]))
        return tuple([found for (found,) in (*self._rows(NEIGHBOURS, name), *trees) if found])

    def _sessions(self, clause: str, *values: Any) -> tuple[Session, ...]:
        return tuple([Session(*row) for row in self._rows(SESSION + clause, *values)])

    def _message(self, clause: str, *values: Any) -> Message | None:
        return next((Message(*row[:-1]) for row in self._messages(clause, *values)), None)

    def _messages(self, clause: str, *values: Any) -> list[Any]:
        return self._rows(_MESSAGE + clause, *values)


class StepQueries(Queries):
    """Steps."""

    def step(self, step_id: StepId) -> Step | None:
        """A step by its name."""
        return next(iter(self._steps("WHERE step_id = ?", step_id)), None)

    def step_of_part(self, session_id: SessionId, message_id: str | None, part_id: str) -> Step | None:
        """The first step of a session that was begun for a part of a message, or that is open for a part of any."""
        which = "WHERE session_id = ? AND part_id = ? AND (message_id IS ? OR state = 'open') ORDER BY seq LIMIT 1"
        return next(iter(self._steps(which, session_id, part_id, message_id)), None)

    def steps(self, session_id: SessionId) -> tuple[Step, ...]:
        """The steps of a session, in the order in which they were begun."""
        return self._steps("WHERE session_id = ? ORDER BY seq", session_id)

    def step_page(
        self, session_id: SessionId, after: int | None, limit: int | None
    ) -> tuple[tuple[Step, ...], int | None]:
        """Lists up to `limit` steps, in the order of `steps`, from where a page ended; and says where this one ends."""
        clause = "WHERE session_id = ? AND place > ? ORDER BY place LIMIT ?"
        steps = self._steps(clause, session_id, *bounds(after, limit))
        return steps[:limit], steps[:limit][-1].begun.index if len(steps[:limit]) < len(steps) else None

    def find_steps(self, wanted: StepQuery, limit: int | None) -> tuple[Step, ...]:
        """Finds up to `limit` steps, newest first."""
        clause, values = search(wanted, limit)
        return self._steps(clause, *values)

    def parts(self, step_id: StepId) -> tuple[Step, ...]:
        """The direct parts of a step, of any session, in the order in which they were begun."""
        return self._steps("WHERE parent = ? ORDER BY seq", step_id)

    def open_steps(self) -> tuple[Step, ...]:
        """The open steps of all sessions, in the order in which they were begun."""
        return self._steps("WHERE state = 'open' ORDER BY seq")

    def beside(self, step_id: StepId) -> tuple[StepId, ...]:
        """The other steps in the spans of a step, including the spans that have it in `Span.left`."""
        rows = self._rows(
            "SELECT there.step_id FROM spans AS here JOIN spans AS there USING (seq) "
            "WHERE here.step_id = ? AND there.step_id != here.step_id "
            "GROUP BY there.step_id ORDER BY MIN(there.seq), MIN(there.place)",
            step_id,
        )
        return tuple([step for (step,) in rows])

    def tally(self, session_id: SessionId) -> Tally:
        """Counts the steps of a session that can be undone and redone."""
        with self._together():
            undoable, redoable = self._rows(TALLY, session_id)[0]
            unknown = "WHERE session_id = ? AND state IN ('applied', 'partly') AND is_empty IS NULL ORDER BY seq"
            return Tally(int(undoable), int(redoable), self._steps(unknown, session_id))

    def _steps(self, clause: str, *values: Any) -> tuple[Step, ...]:
        return tuple([step(row) for row in self._rows(STEP + clause, *values)])


class EventQueries(Queries):
    """Events, and what they saw."""

    @property
    def last(self) -> int | None:
        """The `seq` of the newest event."""
        found: int | None = self._value("SELECT MAX(seq) FROM events")
        return found

    @property
    def head(self) -> SnapshotId | None:
        """The snapshot of the work tree at the last event that says who changed what before it."""
        rows = self._rows(HEAD)
        return SnapshotId(*rows[0]) if rows else None

    def session_of(self, what: EventPayload) -> SessionId | None:
        """The session of an event; None if it has none, or if its step is unknown."""
        if isinstance(what, StepEnded):
            found: str | None = self._value("SELECT session_id FROM steps WHERE step_id = ?", what.step_id)
            return found
        return None if isinstance(what, StepsLeft | Edited | Kept | Recorded) else what.session_id

    def event(self, seq: int) -> Event | None:
        """The event with a number."""
        return next(iter(self._events("WHERE seq = ?", seq)), None)

    def events(self, before: int | None, limit: int) -> tuple[Event, ...]:
        """Lists up to `limit` events with a `seq` below `before`, or of all events for None, newest first.

        Not those that only record a snapshot.
        """
        return self._events(BELOW, AFTER_ALL if before is None else before, limit)

    def events_of(self, step_id: StepId, *, spoken_for: bool = False) -> tuple[Event, ...]:
        """The events whose `seen` is one of the `spans` of a step, in the order of time. Arguments as of `spans`."""
        with self._together():
            rows = self._rows(STEP_EVENTS, step_id, spoken_for)
            return tuple([self._event(payload, commit, step_id if spoken_for else None) for payload, commit in rows])

    def events_of_session(self, session_id: SessionId) -> tuple[Event, ...]:
        """The events that say anything about a session or its steps, whichever session they are of, oldest first."""
        return self._events(OF_SESSION, chain_of_session(session_id), session_id)

    def spans(self, step_id: StepId, *, spoken_for: bool = False) -> tuple[Span, ...]:
        """The spans that have a step among their `steps`, in the order of time.

        Here and in `events`, a step of `Span.left` is also among the `steps` once somebody spoke for it.

        Args:
            step_id: the step.
            spoken_for: answer as if somebody had spoken for it.
        """
        events = self.events_of(step_id, spoken_for=spoken_for)
        return tuple([event.seen for event in events if event.seen is not None])

    def heads(self) -> dict[str, ObjectId]:
        """The newest commit of each chain."""
        return dict(self._rows(HEADS))

    def chains(self) -> list[tuple[str, Event, bool]]:
        """All events in order: the chain of each, the event, and whether the chain is an open session."""
        rows = self._rows(CHAINS)
        return [(chain, decode_event(payload, commit)[0], bool(is_open)) for chain, payload, commit, is_open in rows]

    def inventory(self) -> Inventory:
        """What retention needs."""
        events = self.chains()
        times: list[float] = []
        taken: list[DatedSnapshot] = []
        named: dict[str, set[ObjectId]] = {}
        places: dict[str, list[int]] = {}
        is_open: dict[str, bool] = {}
        base: int | None = None
        for at, (chain, event, goes_on) in enumerate(events):
            times.append(event.milliseconds / 1000)
            is_single = chain.startswith(SNAPSHOTS)
            for each in taken_by(event, None):
                taken.append(DatedSnapshot(at, event.seq, each.tree, None if is_single else chain))
                if each.is_base:
                    base = event.seq
            if not is_single:
                named.setdefault(chain, set()).update(snapshot.tree for snapshot in snapshots(event).values())
                places.setdefault(chain, []).append(at)
                is_open[chain] = goes_on
        chains = [
            Chain(name, found[0], found[-1], is_open[name], name.startswith(SESSIONS), frozenset(named[name]))
            for name, found in places.items()
        ]
        return Inventory(times, taken, chains, self._rows(LINKS), base)

    def all_events(self) -> Iterator[Event]:
        """All events, oldest first."""
        return (event for _, event, _ in self.chains())

    def blobs(self) -> Iterator[tuple[RelPath, ObjectId]]:
        """The files in the effects of operations: the paths, with the blobs before and after."""
        for _, event, _ in self.chains():
            yield from effect_blobs(event)

    def roots(self) -> list[tuple[str, int, tuple[ObjectId, ObjectId]]]:
        """The chain of each event, its number, and its commit with the tree of that."""
        return [(chain, seq, (commit, tree)) for chain, seq, commit, tree in self._rows(ROOTS)]

    def _event(self, payload: str, commit: ObjectId, speaking: StepId | None = None) -> Event:
        """An event; `seen.steps` includes steps that were left and were spoken for, or are now."""
        event, _ = decode_event(payload, commit)
        if event.seen is None or not event.seen.left:
            return event
        rows = self._rows(SPAN_STEPS, speaking, event.seq)
        claimed = [step for step, _, is_claimed in rows if is_claimed]
        outer = around(claimed, {step: parent for step, parent, _ in rows})
        steps = [step for step in (*event.seen.steps, *claimed) if step not in outer]
        return attrs.evolve(event, seen=attrs.evolve(event.seen, steps=tuple(steps)))

    def _events(self, clause: str, *values: Any) -> tuple[Event, ...]:
        with self._together():
            return tuple([self._event(*row) for row in self._rows(EVENT + clause, *values)])


class OperationQueries(StepQueries, EventQueries):
    """Operations, and what was taken back."""

    def operation(self, operation_id: OperationId) -> Operated | None:
        """An operation by its name."""
        for payload, commit, _ in self._rows(OPERATION, operation_id):
            what = decode_event(payload, commit)[0].what
            assert isinstance(what, Operated)
            return what
        return None

    def operations_about(self, session_id: SessionId) -> tuple[Event, ...]:
        """The operations about a session that changed something by themselves and were not taken back as a whole.

        They are given as their events, in the order of time.
        """
        return self._events(SESSION_OPERATIONS, session_id)

    def unit(self, name: StepId | OperationId) -> UndoUnit | None:
        """A step, or an operation that can be taken back, by its name."""
        with self._together():
            return self.step(name) or next((operation(row) for row in self._rows(OPERATION, name)), None)

    def in_force(self) -> tuple[StepId | OperationId, ...]:
        """What was not taken back as a whole, as far as it may have changed something: the last to do so first.

        These are steps of all sessions, open ones included, and operations.
        """
        return tuple([name for (name,) in self._rows(IN_FORCE)])

    def redoable(self, session_id: SessionId | None) -> tuple[UndoneShare, ...]:
        """What can be done again, the last taken back first; a step taken back piece by piece is there several times.

        Args:
            session_id: only steps of this session; None for all steps and operations.
        """
        order = "ORDER BY undone.seq DESC, undone.place DESC"
        if session_id is None:
            return self._undone(f"WHERE redoable {order}")
        return self._undone(f"JOIN steps USING (step_id) WHERE session_id = ? AND redoable {order}", session_id)

    def undone(self, name: StepId | OperationId) -> tuple[UndoneShare, ...]:
        """What was taken back of a step or an operation and not done again, oldest first.

        What cannot be done again any more is there, too.
        """
        return self._undone("WHERE name = ? ORDER BY seq", name)

    def _undone(self, clause: str, *values: Any) -> tuple[UndoneShare, ...]:
        return tuple([undone(row) for row in self._rows(UNDONE + clause, *values)])


class FileQueries(Queries):
    """The files that each event changed.

    They follow from the snapshots of the events alone, so they never change. But to compare snapshots takes time, for
    which no step should wait: whoever needs the files lists them first, event by event, in their order.
    """

    def unlisted(self, most: int) -> tuple[int, ...]:
        """The numbers of up to `most` events whose files are not listed yet, oldest first; see `list_files`."""
        return tuple([seq for (seq,) in self._rows(UNLISTED, most)])

    def touched_of(self, path: RelPath, before: int, after: int = 0) -> tuple[FileChangeRow, ...]:
        """What the listed events with a number below `before` and above `after` did to a file, oldest first."""
        return self._touched("WHERE path = ? AND seq > ? AND seq < ? ORDER BY seq, part DESC", path, after, before)

    def touched_since(self, seq: int) -> tuple[FileChangeRow, ...]:
        """What the listed events with a number above `seq` did, in their order."""
        return self._touched("WHERE seq > ? ORDER BY seq, part DESC, path", seq)

    def _touched(self, clause: str, *values: Any) -> tuple[FileChangeRow, ...]:
        return tuple(
            [
                FileChangeRow(path, seq, part, read_file(old), read_file(new), other)
                for path, seq, part, old, new, other in self._rows(_TOUCHED + clause, *values)
            ]
        )


class SnapshotQueries(Queries):
    """The snapshots that events recorded."""

    def knows(self, tree: ObjectId) -> bool:
        """Whether there is a snapshot with this tree."""
        return self._value("SELECT 1 FROM snapshots WHERE tree = ? LIMIT 1", tree) is not None

    def taken_last(self, tree: ObjectId) -> SnapshotRecord | None:
        """The newest snapshot with this tree, a look only if there is nothing else; None if there is none.

        What somebody only looked at may lack what an operation had to leave out, such as an empty directory.
        """
        with self._together():
            for which in ("(kind != 'look' OR is_base)", "TRUE"):
                for taken in self._taken(f"WHERE tree = ? AND {which} ORDER BY place DESC LIMIT 1", tree):
                    return taken
        return None

    @property
    def base(self) -> SnapshotRecord | None:
        """The newest snapshot that a client asked for or that an operation left; see `Recorded.is_base`."""
        return next(iter(self._taken("WHERE is_base ORDER BY place DESC LIMIT 1")), None)

    def taken(self, wanted: SnapshotRecordQuery, below: int | None, limit: int) -> tuple[SnapshotRecord, ...]:
        """Lists up to `limit` snapshots, newest first; only those with a `place` below `below` unless that is None."""
        before = AFTER_ALL if below is None else below
        if wanted.prefix:
            return self._taken(TAKEN_BEGINNING, *_bounds_of_trees(wanted.prefix), before, limit)
        until = AFTER_ALL if wanted.until is None else wanted.until * 1000 + 999
        return self._taken(TAKEN_UNTIL, before, until, limit)

    def taken_before(self, place: int) -> SnapshotRecord | None:
        """The snapshot before one; None for the first."""
        return next(iter(self._taken("WHERE place BETWEEN 1 AND ? ORDER BY place DESC LIMIT 1", place - 1)), None)

    def _taken(self, clause: str, *values: Any) -> tuple[SnapshotRecord, ...]:
        return tuple(
            [
                SnapshotRecord(place, seq, kind, SnapshotId(tree, coverage), milliseconds, bool(is_base), *names)
                for place, seq, kind, tree, coverage, milliseconds, is_base, *names in self._rows(
                    TAKEN + clause, *values
                )
            ]
        )


class TimelineQueries(SessionQueries, OperationQueries, FileQueries, SnapshotQueries):
    """All that a timeline is asked."""


def step(row: tuple[Any, ...]) -> Step:
    """The step in a row that `STEP` selects."""
    step_id, session_id, index, parent, message_id, part_id, tool, description = row[:8]
    started, ended, from_tree, from_coverage, to_tree, to_coverage, state = row[8:15]
    claims, summary, detached, uncaptured, late, command = row[15:]
    named = (parent, message_id, part_id, tool, description)
    return Step(
        begun=StepBegun(step_id, session_id, index, *named, bool(detached), started if late else None, command),
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


def undone(row: tuple[Any, ...]) -> UndoneShare:
    """What was undone of a step or an operation, in a row that `UNDONE` selects."""
    name, operation_id, rest = row
    return UndoneShare(name, operation_id, decode_claims(rest) if rest is not None else None)
