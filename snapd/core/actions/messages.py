"""Records the messages that people send to agents, and says what an agent has to be told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import attrs

from snapd.core.actions.step_changes import StepChanges
from snapd.core.answers import FormerHistory, MessageView, News, Page, StepView
from snapd.core.operations.writer import Writer
from snapd.core.seams import Policy
from snapd.model.call import Call
from snapd.model.snapshot import ObjectId, RelPath, Snapshot
from snapd.model.timeline import (
    Edited,
    Event,
    FileSummary,
    Message,
    MessageSent,
    Operated,
    SessionId,
    SessionStarted,
    Span,
    StepBegun,
    StepId,
    StepState,
)
from snapd.model.trees import lookup
from snapd.store.store import Store
from snapd.store.timeline.timeline import Timeline

from .history import newest_first
from .sessions import Sessions


@attrs.frozen
class Messages:
    """Records the messages of sessions, and lists them."""

    _writer: Writer
    _timeline: Timeline
    _sessions: Sessions
    _step_changes: StepChanges

    def send(self, session_id: SessionId, message_id: str, text: str | None, call: Call, *, late: bool = False) -> None:
        """Records that somebody sent a message, with a snapshot of the work tree as it is now.

        Sending it again changes nothing, except that a new text takes the place of the old one.

        Args:
            session_id: the session.
            message_id: the message, by the agent's own id.
            text: the prompt; see `Sessions.kept_text`.
            call: the request.
            late: whether it was sent a while ago: then the newest snapshot that there is counts, so that steps which
                began meanwhile can be reported, too.

        Raises:
            UnknownSession: there is no such session, or it has ended.
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, Cancelled: it was not recorded.
        """
        with self._writer.turn(call):
            capture = self._sessions.newest if late else self._sessions.capture
            self.record(session_id, message_id, text, lambda: capture(call), call)

    def record(
        self, session_id: SessionId, message_id: str, text: str | None, capture: Callable[[], Snapshot], call: Call
    ) -> None:
        """Records a message as `send` does, on what `capture` gives; the caller has the right to write."""
        kept = self._sessions.kept_text(text)
        self._sessions.going_on(session_id)
        latest = self._timeline.last_message(session_id)
        known = self._timeline.message(session_id, message_id)
        if known is not None and known == latest and kept in (None, known.text):
            return
        self._writer.track(capture(), MessageSent(session_id, message_id, kept), call)
        self._writer.edits.drop(session_id=session_id)
        self._sessions.notify(session_id, None)

    def page(
        self, session_id: SessionId | None, prefix: str, call: Call, after: int | None, limit: int | None
    ) -> Page[MessageView]:
        """Lists messages, with those that only steps name.

        Args:
            session_id: only those of this session, oldest first; None for those of all sessions, newest first.
            prefix: the beginning of their ids; a whole id means that message alone.
            call: the request.
            after: where the page before ended; None for the first page.
            limit: messages on this page, at most; None for all.

        Raises:
            UnknownSession: there is no such session.
            StoreCorrupt, IoError, Cancelled: as `StepChanges.view`.
        """
        if session_id is not None:
            self._sessions.known(session_id)
        messages, last = self._timeline.message_page(session_id, prefix, after, limit)
        return Page(tuple(self.view(message, call) for message in messages), last)

    def view(self, message: Message, call: Call) -> MessageView:
        """Describes a message for clients, with what its steps changed; raises as `StepChanges.view`."""
        steps = self._step_changes.of_message(message.session_id, message.message_id)
        files: set[RelPath] = set()
        states: set[StepState] = set()
        additions = deletions = 0
        for step in steps:
            call.check()
            changed = () if step.state == "open" else self._step_changes.summary(step, call).files
            for file in changed:
                files.add(file.path)
                additions += file.additions
                deletions += file.deletions
            if changed:
                states.add(step.state)
        named = sum(step.begun.message_id == message.message_id for step in steps)
        return MessageView(message, named, len(files), additions, deletions, _state(states))


def _state(states: set[StepState]) -> Literal["applied", "partly", "undone"]:
    if states == {"undone"}:
        return "undone"
    return "partly" if states & {"undone", "partly"} else "applied"


@attrs.frozen
class _LastNotice:
    """When an agent was last told: the `seq` of the last event, and the work tree as it was."""

    seq: int
    tree: ObjectId


@attrs.frozen
class NewsLook:
    """What the work tree was like when the news of a session was asked for.

    Attributes:
        told: when the agent was last told; None if never.
        events: those since then, oldest first.
        latest: what changed since the last of them.
        now: what the agent is told until.
    """

    session_id: SessionId
    told: _LastNotice | None
    events: Sequence[Event]
    latest: Span | None
    now: _LastNotice


@attrs.frozen
class SessionNews:
    """Says what others did to the work of a session, if the policy has agents told.

    What an agent was told until is kept in memory only: after a restart of the daemon, it counts as told when it last
    began a step or got a message. `former` lists the histories that the folder may take.
    """

    _writer: Writer
    _store: Store
    _sessions: Sessions
    _step_changes: StepChanges
    _policy: Policy
    _former: Callable[[], Iterable[FormerHistory]]
    _told: dict[SessionId, _LastNotice] = attrs.field(factory=dict, init=False)

    def tell(self, session_id: SessionId, call: Call) -> News:
        """Says what others did since the last time, and notes that the agent knows it now.

        Raises:
            UnknownSession: there is no such session.
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, Cancelled: the next call tells it.
        """
        with self._writer.turn(call):
            self._sessions.known(session_id)
            look = self.look(session_id, self._writer.record_look(self._sessions.capture(call)))
        return self.since(look, call)

    def look(self, session_id: SessionId, snapshot: Snapshot) -> NewsLook:
        """Notes what `since` compares; the caller has the right to write.

        Args:
            session_id: the session, which is known.
            snapshot: the work tree as it is now, which is recorded, or about to be.
        """
        told, events = self._since(session_id)
        latest = self._writer.span(self._store.identify(snapshot))
        return NewsLook(session_id, told, events, latest, _LastNotice(self._store.timeline.next_seq - 1, snapshot.tree))

    def since(self, look: NewsLook, call: Call) -> News:
        """Says what others did until a look, and notes that the agent knows it now; raises as `tell`."""
        session_id, told = look.session_id, look.told
        news = News()
        if told is not None and self._policy.tells_agents:
            touched = self._touched_by_others(session_id, told, look.events, look.latest, call)
            undone, redone = self._turned(session_id, look.events, call)
            news = News(undone, redone, self._changed(session_id, told.tree, look.now.tree, touched, call))
        if session_id not in self._told and self._policy.tells_agents:
            news = attrs.evolve(news, former=tuple(self._former()))
        self._told[session_id] = look.now
        return news

    def _since(self, session_id: SessionId) -> tuple[_LastNotice | None, list[Event]]:
        """When the agent was last told, None if never; and the events since then, oldest first."""
        told = self._told.get(session_id)
        if told is not None and not self._store.knows(told.tree):
            # a cleanup removed that snapshot
            told = None
        events: list[Event] = []
        for event in newest_first(self._store.timeline):
            if event.seq <= told.seq if told is not None else _is_own(event, session_id):
                tree = event.head.tree if event.head is not None else None
                return told or (_LastNotice(event.seq, tree) if tree is not None else None), events[::-1]
            events.append(event)
        return None, []

    def _touched_by_others(
        self, session_id: SessionId, told: _LastNotice, events: Iterable[Event], latest: Span | None, call: Call
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
                found.update(change.path for change in self._store.changes(old, new))
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
        read = self._store.entry_in
        differing = {path for path in touched if lookup(read, before, path) != lookup(read, now, path)}
        own: set[RelPath] = set()
        for step in self._store.timeline.steps(session_id) if differing else ():
            if step.state != "open":
                own.update(file.path for file in self._step_changes.summary(step, call).files)
        if differing.isdisjoint(own):
            return ()
        found = self._step_changes.between(before, now, call)
        return tuple(file for file in found if file.path in differing & own)

    def _session_of(self, step_id: StepId) -> SessionId | None:
        step = self._store.timeline.step(step_id)
        return None if step is None else step.session_id


def _is_own(event: Event, session_id: SessionId) -> bool:
    """Whether an agent hears of what happened before an event: its hooks can answer it there."""
    return isinstance(event.what, SessionStarted | MessageSent | StepBegun) and event.what.session_id == session_id
