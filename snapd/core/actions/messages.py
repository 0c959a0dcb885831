"""Records the messages that people send to agents, and says what became of each turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from snapd.core.answers import MessageView, Page
from snapd.core.timeline.model import MessageSent

if TYPE_CHECKING:
    from snapd.core.call import Call
    from snapd.core.model import RelPath
    from snapd.core.operations.writer import Writer
    from snapd.core.ports.policy import Policy
    from snapd.core.ports.timeline import Timeline
    from snapd.core.timeline.model import Message, SessionId, StepState

    from .sessions import Sessions
    from .steps.step_changes import StepChanges

TEXT_LENGTH = 10_000
"""How many characters of a prompt are kept."""


class Messages:
    """Records the messages of sessions, and lists them.

    Args:
        writer: captures the work tree and records events.
        timeline: of the workspace.
        sessions: knows the sessions.
        step_changes: says what steps changed.
        policy: says whether to keep the texts.
    """

    def __init__(
        self, writer: Writer, timeline: Timeline, sessions: Sessions, step_changes: StepChanges, policy: Policy
    ) -> None:
        self._writer = writer
        self._timeline = timeline
        self._sessions = sessions
        self._step_changes = step_changes
        self._policy = policy

    def send(self, session_id: SessionId, message_id: str, text: str | None, call: Call, *, late: bool = False) -> None:
        """Records that somebody sent a message, with a snapshot of the work tree as it is now.

        Sending it again changes nothing, except that a new text takes the place of the old one.

        Args:
            session_id: the session.
            message_id: the message, by the agent's own id.
            text: the prompt, of which `TEXT_LENGTH` characters are kept, or none if the settings say so.
            call: the request.
            late: whether it was sent a while ago: then the newest snapshot that there is counts, so that steps which
                began meanwhile can be reported, too.

        Raises:
            UnknownSession: there is no such session, or it has ended.
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, Cancelled: it was not recorded.
        """
        kept = text[:TEXT_LENGTH] if text and self._policy.keeps_prompts else None
        with self._writer.turn(call):
            self._sessions.going_on(session_id)
            latest = self._timeline.last_message(session_id)
            known = self._timeline.message(session_id, message_id)
            if known is not None and known == latest and kept in (None, known.text):
                return
            self._writer.work_tree.check_present()
            snapshot = self._sessions.newest(call) if late else self._writer.seen(call)
            self._writer.track(snapshot, MessageSent(session_id, message_id, kept), call)
            self._writer.recent_edits.drop(session_id=session_id)
            self._sessions.notify(session_id, None)

    def page(self, session_id: SessionId, call: Call, after: int | None, limit: int | None) -> Page[MessageView]:
        """Lists the messages of a session, oldest first, with those that only steps name.

        Args:
            session_id: the session.
            call: the request.
            after: where the page before ended; None for the first page.
            limit: messages on this page, at most; None for all.

        Raises:
            UnknownSession: there is no such session.
            StoreCorrupt, IoError, Cancelled: as `StepChanges.view`.
        """
        self._sessions.known(session_id)
        messages, last = self._timeline.message_page(session_id, after, limit)
        return Page(tuple(self._view(message, call) for message in messages), last)

    def _view(self, message: Message, call: Call) -> MessageView:
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
