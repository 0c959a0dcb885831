"""Records the messages that people send to agents, and what others did that an agent should know of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal

import attrs

from snapd.core.actions.step_changes import StepChanges
from snapd.core.answers import FormerHistory, MessageView, News, Page, StepView
from snapd.core.operations.writer import Writer
from snapd.core.seams import Policy
from snapd.model.call import Call
from snapd.model.errors import InvalidParams, UnknownStep
from snapd.model.git import net as net_of_git
from snapd.model.snapshot import ObjectId, RelPath, Snapshot
from snapd.model.timeline import (
    Edited,
    Event,
    FileSummary,
    Informed,
    Message,
    MessageSent,
    Operated,
    SessionId,
    SessionStarted,
    Span,
    StepBegun,
    StepId,
    StepState,
    Transcript,
)
from snapd.model.trees import file_at, lookup
from snapd.store.files.durable import NewerFormat
from snapd.store.store import Store
from snapd.store.timeline.codec import decode_informed, encode_informed
from snapd.store.timeline.timeline import Timeline

from .history import newest_first
from .review.comments import Comments
from .review.overlap_views import OverlapViews
from .sessions import Sessions

_NEWS_ID = "send the newsId of session/news"


@attrs.frozen
class Messages:
    """Records the messages of sessions, and lists them."""

    _writer: Writer
    _timeline: Timeline
    _sessions: Sessions
    _step_changes: StepChanges

    def send(self, session_id: SessionId, message_id: str, text: str | None, call: Call, *, late: bool = False) -> None:
        """Records a message to an agent, with a snapshot of the current work tree.

        Sending it again changes nothing, except that a new text replaces the old one. `message_id` is the agent's own
        id. With `late`, the message was sent a while ago: then the newest existing snapshot counts, so that steps which
        began meanwhile can be reported, too. Raises `UnknownSession` if there is no such session or it has ended.
        """
        with self._writer.turn(call):
            capture = self._sessions.newest if late else self._sessions.capture
            self.record(session_id, message_id, text, lambda: capture(call), call)

    def record(
        self,
        session_id: SessionId,
        message_id: str,
        text: str | None,
        capture: Callable[[], Snapshot],
        call: Call,
        transcript: Transcript | None = None,
    ) -> None:
        """Records a message as `send` does, on the snapshot from `capture`; the caller holds the write lock."""
        kept = self._sessions.kept_text(text)
        self._sessions.going_on(session_id)
        latest = self._timeline.last_message(session_id)
        known = self._timeline.message(session_id, message_id)
        if known is not None and known == latest and kept in (None, known.text):
            return
        transcript = self._timeline.transcript(session_id, message_id) or transcript
        self._writer.track(capture(), MessageSent(session_id, message_id, kept, transcript), call)
        self._writer.edits.drop(session_id=session_id)
        self._sessions.notify(session_id, None)

    def known(self, session_id: SessionId, message_id: str) -> Message:
        """Returns a message by its id. Raises `UnknownStep`."""
        message = self._timeline.message(session_id, message_id)
        if message is None:
            raise UnknownStep("the session has no such message", messageId=message_id)
        return message

    def page(
        self, session_id: SessionId | None, prefix: str, call: Call, after: int | None, limit: int | None
    ) -> Page[MessageView]:
        """Lists messages, including those that only steps name.

        Those of one session are listed oldest first, those of all sessions newest first. `prefix` is the beginning of
        their ids; a whole id matches only that message. `after` is where the previous page ended. Raises
        `UnknownSession`.
        """
        if session_id is not None:
            self._sessions.known(session_id)
        messages, last = self._timeline.message_page(session_id, prefix, after, limit)
        return Page(tuple(self.view(message, call) for message in messages), last)

    def view(self, message: Message, call: Call) -> MessageView:
        """Describes a message for clients, with what its steps changed."""
        steps = self._step_changes.of_message(message.session_id, message.message_id)
        files: set[RelPath] = set()
        states: set[StepState] = set()
        additions = deletions = 0
        for step in steps:
            call.check()
            summary = () if step.state == "open" else self._step_changes.summary(step, call).files
            changed = [file for file in summary if not file.by_git]
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
    """When an agent was last notified: the `seq` of the last event, and the work tree then."""

    seq: int
    tree: ObjectId


@attrs.frozen
class NewsLook:
    """The state of the work tree when the news of a session was requested."""

    session_id: SessionId
    last_notice: _LastNotice | None  # when the agent was last notified; None if never
    events: Sequence[Event]  # those since then, oldest first
    latest: Span | None  # what changed since the last of them
    now: _LastNotice  # the end of this notification


@attrs.frozen
class SessionNews:
    """Reports what others did to the work of a session, if the policy wants agents to be notified.

    The last notification is kept in memory only: after a restart of the daemon, the agent counts as notified when it
    last began a step or got a message. `former` returns the histories that the folder may adopt. Comments and overlaps
    come again until it is recorded that the agent heard of them.
    """

    _writer: Writer
    _store: Store
    _sessions: Sessions
    _step_changes: StepChanges
    _policy: Policy
    _former: Callable[[], Iterable[FormerHistory]]
    _comments: Comments
    _overlaps: OverlapViews
    _last_notices: dict[SessionId, _LastNotice] = attrs.field(factory=dict, init=False)

    def take_news(self, session_id: SessionId, call: Call, *, files: Collection[RelPath] = ()) -> News:
        """Returns what others did since the last call, and records that the agent knows it now.

        `files` are those that it is about to change. Raises `UnknownSession`. After any error, the next call reports
        it.
        """
        with self._writer.turn(call):
            self._sessions.known(session_id)
            look = self.look(session_id, self._writer.record_look(self._sessions.capture(call)))
        return self.since(look, call, files=files)

    def look(self, session_id: SessionId, snapshot: Snapshot) -> NewsLook:
        """Returns what `since` compares. The caller holds the write lock; the session exists.

        `snapshot` is the current work tree, recorded already or about to be.
        """
        last, events = self._since(session_id)
        latest = self._writer.span(self._store.identify(snapshot))
        return NewsLook(session_id, last, events, latest, _LastNotice(self._store.timeline.next_seq - 1, snapshot.tree))

    def since(self, look: NewsLook, call: Call, *, files: Collection[RelPath] = (), missed: bool = False) -> News:
        """Returns what others did until a look, and records that the agent knows it now.

        With `missed`, overlaps include what the agent could not hear before it wrote the file itself.
        """
        session_id, last_notice = look.session_id, look.last_notice
        news = News()
        if last_notice is not None and self._policy.notifies_agents:
            touched = self._touched_by_others(session_id, last_notice, look.events, look.latest, call)
            undone, redone = self._turned(session_id, look.events, call)
            changed = self._changed(session_id, last_notice.tree, look.now.tree, touched, call)
            operated = (event.what for event in look.events if isinstance(event.what, Operated))
            git = net_of_git(filter(None, map(self._step_changes.git_change_of, operated)))
            news = News(undone, redone, changed, git)
        if session_id not in self._last_notices and self._policy.notifies_agents:
            news = attrs.evolve(news, former=tuple(self._former()))
        informs = Informed(session_id)
        if self._policy.notifies_agents:
            comments = self._comments.due(session_id, call)
            overlaps = self._overlaps.of_session(session_id, files, call, missed=missed)
            informs = Informed(
                session_id,
                max((view.comment.due or 0 for view in comments), default=0),
                look.now.seq,
                tuple(
                    (path, file_at(self._store.entry_in, look.now.tree, path))
                    for path in dict.fromkeys(view.path for view in overlaps)
                ),
            )
            news = attrs.evolve(news, comments=comments, overlaps=overlaps)
        self._last_notices[session_id] = look.now
        return attrs.evolve(news, news_id=encode_informed(informs))

    def acknowledge(self, session_id: SessionId, news_id: str, call: Call) -> None:
        """Records that the agent of a session heard of some news; nothing if that is recorded.

        Raises `UnknownSession`, and `InvalidParams` if it had no such news.
        """
        self._sessions.known(session_id)
        try:
            informs = decode_informed(news_id)
        except (ValueError, NewerFormat) as error:
            raise InvalidParams(f"newsId: no news has the id {news_id!r}", hint=_NEWS_ID, field="newsId") from error
        if informs.session_id != session_id:
            raise InvalidParams("newsId: this was news of another session", hint=_NEWS_ID, field="newsId")
        self._record(informs, call)

    def _record(self, informs: Informed, call: Call) -> None:
        timeline = self._store.timeline
        with self._writer.turn(call):
            if max(informs.comments, informs.until) >= timeline.next_seq:
                raise InvalidParams("newsId: there was no such news", hint=_NEWS_ID, field="newsId")
            due = (comment.due for comment in timeline.due_comments(informs.session_id))
            known = {
                (look.path, look.until, look.entry)
                for look in timeline.looks_between(informs.until + 1, timeline.next_seq)
                if look.session_id == informs.session_id
            }
            files = tuple(file for file in informs.files if (file[0], informs.until, file[1]) not in known)
            if files or any(seq is not None and seq <= informs.comments for seq in due):
                call.commit()
                self._writer.append_event(attrs.evolve(informs, files=files))
        if informs.comments:
            self._comments.on_change()

    def read(self, session_id: SessionId, files: Collection[RelPath], call: Call) -> None:
        """Records that an agent read some files, if others changed them without it knowing."""
        if not self._overlaps.of_session(session_id, files, call, only=True, with_lines=False):
            return
        with self._writer.turn(call):
            tree = self._writer.record_look(self._sessions.capture(call)).tree
            until = self._store.timeline.next_seq - 1
        entries = tuple((path, file_at(self._store.entry_in, tree, path)) for path in files)
        self._record(Informed(session_id, 0, until, entries), call)

    def _since(self, session_id: SessionId) -> tuple[_LastNotice | None, list[Event]]:
        """Returns the last notification, None if never; and the events since then, oldest first."""
        last_notice = self._last_notices.get(session_id)
        if last_notice is not None and not self._store.knows(last_notice.tree):
            # a cleanup removed that snapshot
            last_notice = None
        events: list[Event] = []
        for event in newest_first(self._store.timeline):
            if event.seq <= last_notice.seq if last_notice is not None else _is_own(event, session_id):
                tree = event.head.tree if event.head is not None else None
                return last_notice or (_LastNotice(event.seq, tree) if tree is not None else None), events[::-1]
            events.append(event)
        return None, []

    def _touched_by_others(
        self, session_id: SessionId, last_notice: _LastNotice, events: Iterable[Event], latest: Span | None, call: Call
    ) -> set[RelPath]:
        pairs = []
        tree = last_notice.tree
        for event in events:
            if event.seen is not None:
                # the agent does not see what a formatter did after its step
                is_late = isinstance(event.what, Edited) and not event.what.steps
                # the first span began before the last notification
                pairs.append((tree, event.seen.after.tree, () if is_late else event.seen.steps))
            if isinstance(event.what, Operated) and event.head is not None:
                pairs.append((event.what.before.tree, event.head.tree, ()))
            tree = event.head.tree if event.head is not None else tree
        if latest is not None:
            pairs.append((tree, latest.after.tree, latest.steps))
        paths: set[RelPath] = set()
        for old, new, steps in pairs:
            call.check()
            if all(self._session_of(step) != session_id for step in steps):
                paths.update(change.path for change in self._store.changes(old, new))
        return paths

    def _turned(
        self, session_id: SessionId, events: Iterable[Event], call: Call
    ) -> tuple[tuple[StepView, ...], tuple[StepView, ...]]:
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
        """Returns those of the touched files that the session had changed and that are not as they were."""
        read = self._store.entry_in
        differing = {path for path in touched if lookup(read, before, path) != lookup(read, now, path)}
        own: set[RelPath] = set()
        for step in self._store.timeline.steps(session_id) if differing else ():
            if step.state != "open":
                own.update(file.path for file in self._step_changes.summary(step, call).files if not file.by_git)
        if differing.isdisjoint(own):
            return ()
        result = self._step_changes.between(before, now, call)
        return tuple(file for file in result if file.path in differing & own)

    def _session_of(self, step_id: StepId) -> SessionId | None:
        step = self._store.timeline.step(step_id)
        return None if step is None else step.session_id


def _is_own(event: Event, session_id: SessionId) -> bool:
    """Whether the agent gets the report of what happened before an event: its hooks can read the answer there."""
    return isinstance(event.what, SessionStarted | MessageSent | StepBegun) and event.what.session_id == session_id
