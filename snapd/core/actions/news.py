"""Finds out what an agent has to be told: what others did to its work since it was last told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.answers import News
from snapd.core.model import RecordKind
from snapd.core.timeline.model import Edited, MessageSent, Operated, SessionStarted, StepBegun
from snapd.core.trees import changes, lookup

from .events import newest_first

if TYPE_CHECKING:
    from collections.abc import Iterable

    from snapd.core.answers import StepView
    from snapd.core.call import Call
    from snapd.core.model import ObjectId, RelPath
    from snapd.core.operations.writer import Writer
    from snapd.core.ports.log import SnapshotLog
    from snapd.core.ports.objects import Objects
    from snapd.core.ports.policy import Policy
    from snapd.core.timeline.model import Event, FileSummary, SessionId, Span, StepId

    from .sessions import Sessions
    from .steps.step_changes import StepChanges


@attrs.frozen
class _Told:
    """When an agent was last told: the `seq` of the last event, and the work tree as it was."""

    seq: int
    tree: ObjectId


class SessionNews:
    """Says what others did to the work of a session.

    What an agent was told until is kept in memory only: after a restart of the daemon, it counts as told when it last
    began a step or got a message.

    Args:
        writer: captures the work tree.
        objects: holds the snapshots.
        log: of the workspace.
        sessions: knows the sessions.
        step_changes: says what steps changed.
        policy: says whether agents are told.
    """

    def __init__(
        self,
        writer: Writer,
        objects: Objects,
        log: SnapshotLog,
        sessions: Sessions,
        step_changes: StepChanges,
        policy: Policy,
    ) -> None:
        self._writer = writer
        self._objects = objects
        self._log = log
        self._timeline = log.timeline
        self._sessions = sessions
        self._step_changes = step_changes
        self._policy = policy
        self._told: dict[SessionId, _Told] = {}

    def tell(self, session_id: SessionId, call: Call) -> News:
        """Says what others did since the last time, and notes that the agent is told now.

        Args:
            session_id: the session.
            call: the request.

        Raises:
            UnknownSession: there is no such session.
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, Cancelled: the next call tells it.
        """
        with self._writer.turn(call):
            self._sessions.known(session_id)
            self._writer.work_tree.check_present()
            snapshot = self._writer.seen(call)
            self._writer.record(snapshot, RecordKind.LOOK)
            told, events = self._since(session_id)
            latest = self._writer.span(self._log.identify(snapshot))
            last = self._timeline.next_seq - 1
        news = News()
        if told is not None and self._policy.tells_agents:
            touched = self._touched_by_others(session_id, told, events, latest, call)
            undone, redone = self._turned(session_id, events, call)
            news = News(undone, redone, self._changed(session_id, told.tree, snapshot.tree, touched, call))
        self._told[session_id] = _Told(last, snapshot.tree)
        return news

    def _since(self, session_id: SessionId) -> tuple[_Told | None, list[Event]]:
        """When the agent was last told, None if never; and the events since then, oldest first."""
        told = self._told.get(session_id)
        events: list[Event] = []
        for event in newest_first(self._timeline):
            if event.seq <= told.seq if told is not None else _is_own(event, session_id):
                tree = event.head.tree if event.head is not None else None
                return told or (_Told(event.seq, tree) if tree is not None else None), events[::-1]
            events.append(event)
        return None, []

    def _touched_by_others(
        self, session_id: SessionId, told: _Told, events: Iterable[Event], latest: Span | None, call: Call
    ) -> set[RelPath]:
        """The files that operations, the user and other sessions changed."""
        pairs = []
        tree = told.tree
        for event in events:
            if event.seen is not None:
                # the agent does not know what a formatter did after its step
                is_late = isinstance(event.what, Edited) and not event.what.steps
                # the first span began before the agent was told
                pairs.append((tree, event.seen.after.tree, () if is_late else event.seen.steps))
            if isinstance(event.what, Operated) and event.head is not None:
                pairs.append((event.what.before.tree, event.head.tree, ()))
            tree = event.head.tree if event.head is not None else tree
        if latest is not None:
            pairs.append((tree, latest.after.tree, latest.steps))
        found: set[RelPath] = set()
        for old, new, steps in pairs:
            call.check()
            if all(self._session_of(step) != session_id for step in steps):
                found.update(change.path for change in changes(self._objects.read_tree, old, new))
        return found

    def _turned(
        self, session_id: SessionId, events: Iterable[Event], call: Call
    ) -> tuple[tuple[StepView, ...], tuple[StepView, ...]]:
        """The steps of the session that were taken back, and those that were done again."""
        was_undone: dict[StepId, bool] = {}
        for event in events:
            for turn in event.what.turned if isinstance(event.what, Operated) else ():
                if turn.step_id is not None and self._session_of(turn.step_id) == session_id:
                    was_undone.setdefault(turn.step_id, turn.again is not None)
        undone: list[StepView] = []
        redone: list[StepView] = []
        for step_id, before in was_undone.items():
            view = self._sessions.shown(self._sessions.known_step(step_id), call)
            is_undone = view.step.state in ("undone", "partly")
            if is_undone != before:
                (undone if is_undone else redone).append(view)
        return tuple(undone), tuple(redone)

    def _changed(
        self, session_id: SessionId, before: ObjectId, now: ObjectId, touched: set[RelPath], call: Call
    ) -> tuple[FileSummary, ...]:
        """Those of the touched files that the session had changed and that are not as they were."""
        read = self._objects.entry_in
        differing = {path for path in touched if lookup(read, before, path) != lookup(read, now, path)}
        own: set[RelPath] = set()
        for step in self._timeline.steps(session_id) if differing else ():
            if step.state != "open":
                own.update(file.path for file in self._step_changes.summary(step, call).files)
        if differing.isdisjoint(own):
            return ()
        found = self._step_changes.between(before, now, call)
        return tuple(file for file in found if file.path in differing & own)

    def _session_of(self, step_id: StepId) -> SessionId | None:
        step = self._timeline.step(step_id)
        return None if step is None else step.session_id


def _is_own(event: Event, session_id: SessionId) -> bool:
    """Whether an agent hears of what happened before an event: its hooks can answer it there."""
    return isinstance(event.what, SessionStarted | MessageSent | StepBegun) and event.what.session_id == session_id
