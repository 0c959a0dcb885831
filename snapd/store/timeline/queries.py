"""The queries of a timeline: statements on the tables of `schema`, with their rows as plain data."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import attrs

from snapd.model.git import GitStateId
from snapd.model.retention import Chain, DatedSnapshot, Inventory
from snapd.model.snapshot import ObjectId, RelPath
from snapd.model.snapshot_records import taken_by
from snapd.model.timeline import (
    Continuation,
    Edited,
    Event,
    EventPayload,
    Kept,
    Message,
    MessageSent,
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
    Summary,
    Tally,
    Transcript,
    UndoneShare,
    UndoUnit,
    around,
)

from .chain import SESSIONS, SNAPSHOTS, chain_of_session, effect_blobs, snapshots
from .codec import decode_claims, decode_derived, decode_event, decode_summary, decode_uncaptured
from .schema import CHAINS, HEADS, LINKS, ROOTS

AFTER_ALL = 2**63 - 1
"""A number above the `seq` of every event."""
_LAST_CHARACTER = "\U0010ffff"

EVENT = "SELECT payload, commit_id FROM events "
NOT_A_SNAPSHOT = f"chain NOT BETWEEN '{SNAPSHOTS}' AND '{SNAPSHOTS}~'"
BELOW = f"WHERE seq < ? AND {NOT_A_SNAPSHOT} ORDER BY seq DESC LIMIT ?"
HEAD = "SELECT head_tree, head_coverage FROM events WHERE head_tree IS NOT NULL ORDER BY seq DESC LIMIT 1"
# only events with a head have one; without this condition, SQLite would read all others, too
GIT = "SELECT git FROM events WHERE head_tree IS NOT NULL AND git IS NOT NULL ORDER BY seq DESC LIMIT 1"
SESSION = """
SELECT session_id, agent, title, started, ended, step_count, (
    SELECT SUBSTR(text, 1, 500) FROM messages
    WHERE messages.session_id = sessions.session_id AND text IS NOT NULL ORDER BY messages.seq LIMIT 1
), continues
FROM sessions """
UNDONE = "SELECT name, operation_id, rest, git FROM undone "
SPAN_STEPS = """
SELECT spans.step_id, parent, is_left AND (spoken_for OR spans.step_id = ?)
FROM spans JOIN steps ON steps.step_id = spans.step_id
WHERE spans.seq = ? ORDER BY spans.place
"""
"""The steps of a span: whether each was left, and later ended by a client; the given step counts as ended by one."""
STEP_EVENTS = """
SELECT payload, commit_id FROM spans JOIN events ON events.seq = spans.seq JOIN steps ON steps.step_id = spans.step_id
WHERE spans.step_id = ? AND (? OR steps.spoken_for OR NOT spans.is_left) ORDER BY spans.seq
"""
"""The events with a step among their spans; where it was left, only if a client ended it afterwards."""
SEEN_GIT = """
SELECT payload, commit_id FROM spans JOIN events ON events.seq = spans.seq JOIN steps ON steps.step_id = spans.step_id
WHERE spans.step_id = ? AND git_before IS NOT NULL AND (steps.spoken_for OR NOT spans.is_left) ORDER BY spans.seq
"""
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
"""The events of a chain, and those with steps of a session in their spans, turns or kept changes."""
IN_FORCE = """
SELECT name FROM (
    SELECT step_id AS name, MAX(spans.seq) AS last, steps.seq AS begun FROM spans JOIN steps USING (step_id)
        WHERE state != 'undone' AND (spoken_for OR NOT is_left) AND (
            is_empty IS NOT 1
            OR ?1 AND EXISTS (SELECT 1 FROM events WHERE events.seq = spans.seq AND git_before IS NOT NULL)
        ) GROUP BY step_id
    UNION ALL SELECT operation_id, seq, seq FROM operations WHERE state IN ('applied', 'partly')
)
ORDER BY last DESC, begun DESC
"""
"""The ids of steps and operations that were not undone as a whole, most recent change first."""
OPERATION = "SELECT payload, commit_id, state FROM operations JOIN events USING (seq) WHERE operation_id = ?"
TALLY = """
SELECT
    (SELECT COUNT(*) FROM steps WHERE session_id = ?1 AND state IN ('applied', 'partly') AND is_empty = 0),
    -- a cross join begins with what was undone, which is little
    (SELECT COUNT(DISTINCT step_id) FROM undone CROSS JOIN steps USING (step_id)
        WHERE redoable AND rest IS NOT '[]' AND session_id = ?1)
"""
"""How many steps of a session can be undone, according to the kept summaries, and how many redone."""
STARTER = """
SELECT parents.step_id FROM steps JOIN steps AS parents ON parents.step_id = steps.parent
WHERE steps.session_id = ? AND parents.session_id != steps.session_id ORDER BY steps.place LIMIT 1
"""
AT_WORK = """
SELECT MAX(step_id) FROM (
    SELECT step_id, session_id, parent FROM spans JOIN steps USING (step_id) WHERE spans.seq >= ? AND spans.seq < ?
    UNION SELECT step_id, session_id, parent FROM steps WHERE state = 'open'
) GROUP BY session_id, parent
"""
STEP = """
SELECT step_id, session_id, place, parent, message_id, part_id, tool, description, started, ended, from_tree,
    from_coverage, to_tree, to_coverage, state, claims, detached, uncaptured, late, command,
    EXISTS (SELECT 1 FROM spans JOIN events ON events.seq = spans.seq
        WHERE spans.step_id = steps.step_id AND git_before IS NOT NULL)
FROM steps
"""


def bounds(after: int | None, limit: int | None) -> tuple[int, int]:
    """Returns the position before the first row, and `limit` plus one row, to see whether more follow; -1 for all."""
    return -1 if after is None else after, -1 if limit is None else limit + 1


def beside(*columns: tuple[str, str]) -> str:
    """Builds a statement that finds the values right before and after a value in (table, column) pairs."""
    return " UNION ALL ".join(
        # the names are constants
        f"SELECT {nearest}({column}) FROM {table} WHERE {column} {side} ?1"  # noqa: S608
        for table, column in columns
        for nearest, side in (("max", "<"), ("min", ">"))
    )


NEIGHBOURS = beside(("steps", "step_id"), ("sessions", "session_id"), ("messages", "message_id"))


_HEXADECIMAL = re.compile("[0-9a-f]*")
_DIGITS = 40
"""Hexadecimal digits of a hash."""
_TREES_BESIDE = """
SELECT lower(hex(max(tree))) FROM snapshots WHERE tree < ?1
UNION ALL SELECT lower(hex(min(tree))) FROM snapshots WHERE tree > ?2
UNION ALL SELECT lower(hex(min(tree))) FROM snapshots WHERE tree BETWEEN ?1 AND ?2 AND ?1 != ?2
"""


def bounds_of_trees(digits: str) -> tuple[ObjectId, ObjectId]:
    """Returns the first and the last tree whose hash begins with some digits."""
    return bytes.fromhex(digits.ljust(_DIGITS, "0")), bytes.fromhex(digits.ljust(_DIGITS, "f"))


def beginning(column: str, prefix: str) -> tuple[str, list[str]]:
    """Builds a condition that the text in a column begins with `prefix`, with its values."""
    return f"{column} >= ? AND {column} < ?", [prefix, prefix + _LAST_CHARACTER]


def search(wanted: StepQuery, limit: int | None) -> tuple[str, list[Any]]:
    """Builds the end of a statement that finds steps, newest first, with its values."""
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
    """Returns the id of a snapshot in a row; None if there is none."""
    return SnapshotId(tree, coverage) if tree is not None and coverage is not None else None


_MESSAGE = "SELECT session_id, message_id, text, started, seq FROM messages "
_OF_MESSAGE = "WHERE seq = (SELECT sent FROM messages WHERE session_id = ? AND message_id = ?)"


def session_of(row: Iterable[Any]) -> Session:
    """Builds a session from its row."""
    *others, continues = row
    return Session(*others, *([] if continues is None else [decode_derived(continues, Continuation)]))


class Queries(ABC):
    """Access to the tables."""

    @abstractmethod
    def _rows(self, statement: str, *values: Any) -> list[Any]:
        """Runs a statement and returns its rows."""

    @abstractmethod
    def _together(self) -> AbstractContextManager[object]:
        """Lets several statements see the same events."""

    def _value(self, statement: str, *values: Any) -> Any:
        rows = self._rows(statement, *values)
        return rows[0][0] if rows else None


class SessionQueries(Queries):
    """Queries for sessions and their messages."""

    def session(self, session_id: SessionId) -> Session | None:
        """Returns a session by id."""
        return next(iter(self._sessions("WHERE session_id = ?", session_id)), None)

    def sessions(self) -> tuple[Session, ...]:
        """Lists all sessions, in the order in which they first began."""
        return self._sessions("ORDER BY seq")

    def session_page(self, after: int | None, limit: int | None) -> tuple[tuple[Session, ...], int | None]:
        """Lists up to `limit` sessions in the order of `sessions`; also returns the `after` of the next page."""
        with self._together():
            sessions = self._sessions("WHERE seq > ? ORDER BY seq LIMIT ?", *bounds(after, limit))
            shown = sessions[:limit]
            if len(shown) == len(sessions):
                return shown, None
            return shown, self._value("SELECT seq FROM sessions WHERE session_id = ?", shown[-1].session_id)

    def message(self, session_id: SessionId, message_id: str) -> Message | None:
        """Returns a message of a session by id."""
        return self._message("WHERE session_id = ? AND message_id = ?", session_id, message_id)

    def transcript(self, session_id: SessionId, message_id: str) -> Transcript | None:
        """Returns the agent's own file that a message came with; None if it is unknown."""
        rows = self._rows(EVENT + _OF_MESSAGE, session_id, message_id)
        events = [decode_event(payload, commit)[0].what for payload, commit in rows]
        return next((what.transcript for what in events if isinstance(what, MessageSent)), None)

    def last_message(self, session_id: SessionId) -> Message | None:
        """Returns the last message sent in a session; messages that only steps name do not count."""
        return self._message("WHERE session_id = ? AND sent IS NOT NULL ORDER BY sent DESC LIMIT 1", session_id)

    def message_page(
        self, session_id: SessionId | None, prefix: str, after: int | None, limit: int | None
    ) -> tuple[tuple[Message, ...], int | None]:
        """Lists up to `limit` messages, and returns the `after` of the next page, None at the end.

        For a session, oldest first; otherwise newest first. `prefix` is the beginning of their ids; a whole id matches
        only that message. A message that only steps name is listed at the place of its first step.
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
        """Returns the ids of each kind and the hashes right before and after `name`, where there are any."""
        digits = _HEXADECIMAL.match(name)
        assert digits is not None
        trees = self._rows(_TREES_BESIDE, *bounds_of_trees(digits[0][:_DIGITS]))
        return tuple([result for (result,) in (*self._rows(NEIGHBOURS, name), *trees) if result])

    def _sessions(self, clause: str, *values: Any) -> tuple[Session, ...]:
        return tuple([session_of(row) for row in self._rows(SESSION + clause, *values)])

    def _message(self, clause: str, *values: Any) -> Message | None:
        return next((Message(*row[:-1]) for row in self._messages(clause, *values)), None)

    def _messages(self, clause: str, *values: Any) -> list[Any]:
        return self._rows(_MESSAGE + clause, *values)


class StepQueries(Queries):
    """Queries for steps."""

    def step(self, step_id: StepId) -> Step | None:
        """Returns a step by id."""
        return next(iter(self._steps("WHERE step_id = ?", step_id)), None)

    def summary(self, step_id: StepId) -> Summary | None:
        """Returns the summary of a step, if it is kept; it can be long: one entry for each file."""
        payload: str | None = self._value("SELECT summary FROM steps WHERE step_id = ?", step_id)
        return None if payload is None else decode_summary(payload)

    def step_of_part(self, session_id: SessionId, message_id: str | None, part_id: str) -> Step | None:
        """Returns the first step of a session begun for this message's part, or open for the part of any message."""
        which = "WHERE session_id = ? AND part_id = ? AND (message_id IS ? OR state = 'open') ORDER BY seq LIMIT 1"
        return next(iter(self._steps(which, session_id, part_id, message_id)), None)

    def steps(self, session_id: SessionId) -> tuple[Step, ...]:
        """Lists the steps of a session, in the order in which they began."""
        return self._steps("WHERE session_id = ? ORDER BY seq", session_id)

    def step_page(
        self, session_id: SessionId, after: int | None, limit: int | None
    ) -> tuple[tuple[Step, ...], int | None]:
        """Lists up to `limit` steps in the order of `steps`; also returns the `after` of the next page."""
        clause = "WHERE session_id = ? AND place > ? ORDER BY place LIMIT ?"
        steps = self._steps(clause, session_id, *bounds(after, limit))
        return steps[:limit], steps[:limit][-1].begun.index if len(steps[:limit]) < len(steps) else None

    def find_steps(self, wanted: StepQuery, limit: int | None) -> tuple[Step, ...]:
        """Finds up to `limit` steps, newest first."""
        clause, values = search(wanted, limit)
        return self._steps(clause, *values)

    def parts(self, step_id: StepId) -> tuple[Step, ...]:
        """Lists the direct parts of a step, of any session, in the order in which they began."""
        return self._steps("WHERE parent = ? ORDER BY seq", step_id)

    def began(self, step_id: StepId) -> int | None:
        """Returns the `seq` of the event with which a step began; None if there is no such step."""
        seq: int | None = self._value("SELECT seq FROM steps WHERE step_id = ?", step_id)
        return seq

    def starter_of(self, session_id: SessionId) -> StepId | None:
        """Returns the step of another session that the first part in a session is a part of."""
        step_id: StepId | None = self._value(STARTER, session_id)
        return step_id

    def at_work(self, first: int, last: int) -> tuple[StepId, ...]:
        """Returns steps that were at work in the events from `first` to before `last`, or are: one of each session.

        Of parts, it returns one for each step that they are a part of.
        """
        return tuple([step_id for (step_id,) in self._rows(AT_WORK, first, last)])

    def open_steps(self) -> tuple[Step, ...]:
        """Lists the open steps of all sessions, in the order in which they began."""
        return self._steps("WHERE state = 'open' ORDER BY seq")

    def beside(self, step_id: StepId) -> tuple[StepId, ...]:
        """Returns the other steps in the spans of a step, including the spans that have it in `Span.left`."""
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
    """Queries for events and their spans."""

    @property
    def last(self) -> int | None:
        """The `seq` of the newest event."""
        position: int | None = self._value("SELECT MAX(seq) FROM events")
        return position

    def seq_at(self, milliseconds: int) -> int:
        """Returns the `seq` of the first event at a time (milliseconds since 1970) or later; of the next one if none.

        Events are in the order of their times, but for those reported late.
        """

        def time_of(seq: int) -> int:
            at: int | None = self._value("SELECT milliseconds FROM events WHERE seq >= ? ORDER BY seq LIMIT 1", seq)
            return AFTER_ALL if at is None else at

        with self._together():
            return bisect_left(range((self.last or 0) + 1), milliseconds, key=time_of)

    @property
    def head(self) -> SnapshotId | None:
        """The snapshot of the work tree at the last event that attributes the changes before it."""
        rows = self._rows(HEAD)
        return SnapshotId(*rows[0]) if rows else None

    @property
    def git(self) -> GitStateId | None:
        """The git state at the last event that names one."""
        tree = self._value(GIT)
        return None if tree is None else GitStateId(tree)

    @property
    def first_git(self) -> int | None:
        """When the first event with a git state was recorded, in milliseconds since 1970; None if there is none."""
        result: int | None = self._value("SELECT MIN(milliseconds) FROM events WHERE git IS NOT NULL")
        return result

    def git_events_of(self, step_id: StepId) -> tuple[Event, ...]:
        """Lists those of `events_of` before which the git state changed."""
        with self._together():
            return tuple([self._event(*row) for row in self._rows(SEEN_GIT, step_id)])

    def session_of(self, what: EventPayload) -> SessionId | None:
        """Returns the session of an event; None if it has none, or if its step is unknown."""
        if isinstance(what, StepEnded):
            text: str | None = self._value("SELECT session_id FROM steps WHERE step_id = ?", what.step_id)
            return text
        return None if isinstance(what, StepsLeft | Edited | Kept | Recorded) else what.session_id

    def event(self, seq: int) -> Event | None:
        """Returns an event by `seq`."""
        return next(iter(self._events("WHERE seq = ?", seq)), None)

    def events(self, before: int | None, limit: int) -> tuple[Event, ...]:
        """Lists up to `limit` events before a `seq` (None: all), newest first, without mere records of snapshots."""
        return self._events(BELOW, AFTER_ALL if before is None else before, limit)

    def events_of(self, step_id: StepId, *, spoken_for: bool = False) -> tuple[Event, ...]:
        """Lists the events whose `seen` is one of the `spans` of a step, oldest first."""
        with self._together():
            rows = self._rows(STEP_EVENTS, step_id, spoken_for)
            return tuple([self._event(payload, commit, step_id if spoken_for else None) for payload, commit in rows])

    def events_of_session(self, session_id: SessionId) -> tuple[Event, ...]:
        """Lists the events, of any session, that concern a session or its steps, oldest first."""
        return self._events(OF_SESSION, chain_of_session(session_id), session_id)

    def spans(self, step_id: StepId, *, spoken_for: bool = False) -> tuple[Span, ...]:
        """Lists the spans that have a step among their `steps`, oldest first.

        Here and in `events`, a step of `Span.left` is also among the `steps` once a client has ended it; `spoken_for`
        answers as if that had happened.
        """
        events = self.events_of(step_id, spoken_for=spoken_for)
        return tuple([event.seen for event in events if event.seen is not None])

    def heads(self) -> dict[str, ObjectId]:
        """Returns the newest commit of each chain."""
        return dict(self._rows(HEADS))

    def chains(self) -> list[tuple[str, Event, bool]]:
        """Returns all events in order: the chain of each, the event, and whether the chain is an open session."""
        rows = self._rows(CHAINS)
        return [(chain, decode_event(payload, commit)[0], bool(is_open)) for chain, payload, commit, is_open in rows]

    def inventory(self) -> Inventory:
        """Returns the data that retention needs."""
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
            Chain(name, result[0], result[-1], is_open[name], name.startswith(SESSIONS), frozenset(named[name]))
            for name, result in places.items()
        ]
        return Inventory(times, taken, chains, self._rows(LINKS), base)

    def all_events(self) -> Iterator[Event]:
        """Yields all events, oldest first."""
        return (event for _, event, _ in self.chains())

    def blobs(self) -> Iterator[tuple[RelPath, ObjectId]]:
        """Yields the files in the effects of operations: their paths, with the blobs before and after."""
        for _, event, _ in self.chains():
            yield from effect_blobs(event)

    def roots(self) -> list[tuple[str, int, tuple[ObjectId, ObjectId]]]:
        """Returns for each event its chain, its `seq`, its commit and the tree of that."""
        return [(chain, seq, (commit, tree)) for chain, seq, commit, tree in self._rows(ROOTS)]

    def _event(self, payload: str, commit: ObjectId, speaking: StepId | None = None) -> Event:
        """Decodes an event; `seen.steps` includes left steps that a client ended later, and `speaking`."""
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
    """Queries for operations and undone changes."""

    def operation(self, operation_id: OperationId) -> Operated | None:
        """Returns an operation by id."""
        for payload, commit, _ in self._rows(OPERATION, operation_id):
            what = decode_event(payload, commit)[0].what
            assert isinstance(what, Operated)
            return what
        return None

    def operations_about(self, session_id: SessionId) -> tuple[Event, ...]:
        """Lists the events of operations about a session that changed something by themselves, oldest first.

        Operations that were undone as a whole are left out.
        """
        return self._events(SESSION_OPERATIONS, session_id)

    def unit(self, name: StepId | OperationId) -> UndoUnit | None:
        """Returns a step, or an operation that can be undone, by id."""
        with self._together():
            return self.step(name) or next((operation(row) for row in self._rows(OPERATION, name)), None)

    def in_force(self, *, git: bool = False) -> tuple[StepId | OperationId, ...]:
        """Lists steps (open ones included) and operations that may have changed something, most recent first.

        Those undone as a whole are left out. With `git`, steps count that changed the git state alone.
        """
        return tuple([name for (name,) in self._rows(IN_FORCE, git)])

    def redoable(self, session_id: SessionId | None) -> tuple[UndoneShare, ...]:
        """Lists what can be redone, of a session or of all, last undone first.

        A step that was undone in pieces has several entries.
        """
        order = "ORDER BY undone.seq DESC, undone.place DESC"
        if session_id is None:
            return self._undone(f"WHERE redoable {order}")
        return self._undone(f"JOIN steps USING (step_id) WHERE session_id = ? AND redoable {order}", session_id)

    def undone(self, name: StepId | OperationId) -> tuple[UndoneShare, ...]:
        """Lists what was undone of an item and not redone, even if it is not redoable any more, oldest first."""
        return self._undone("WHERE name = ? ORDER BY seq", name)

    def _undone(self, clause: str, *values: Any) -> tuple[UndoneShare, ...]:
        return tuple([undone(row) for row in self._rows(UNDONE + clause, *values)])


def step(row: tuple[Any, ...]) -> Step:
    """Builds the step from a row of `STEP`."""
    step_id, session_id, index, parent, message_id, part_id, tool, description = row[:8]
    started, ended, from_tree, from_coverage, to_tree, to_coverage, state = row[8:15]
    claims, detached, uncaptured, late, command, may_change_git = row[15:]
    named = (parent, message_id, part_id, tool, description)
    return Step(
        begun=StepBegun(step_id, session_id, index, *named, bool(detached), started if late else None, command),
        started=started,
        ended=ended,
        from_=SnapshotId(from_tree, from_coverage),
        to=snapshot(to_tree, to_coverage),
        state=state,
        claims=decode_claims(claims) if claims is not None else None,
        uncaptured=decode_uncaptured(uncaptured) if uncaptured is not None else (),
        may_change_git=bool(may_change_git),
    )


def operation(row: tuple[Any, ...]) -> Operation | None:
    """Builds the operation from a row of `OPERATION`; None if it cannot be undone."""
    payload, commit, state = row
    event, _ = decode_event(payload, commit)
    if state is None or event.head is None or not isinstance(event.what, Operated):
        return None
    return Operation(event.what, event.milliseconds, event.head, state)


def undone(row: tuple[Any, ...]) -> UndoneShare:
    """Builds what was undone of a step or an operation from a row of `UNDONE`."""
    name, operation_id, rest, has_git = row
    return UndoneShare(name, operation_id, decode_claims(rest) if rest is not None else None, bool(has_git))
