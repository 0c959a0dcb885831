"""The sessions of a workspace and their steps: begun, ended, shown."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from .answers import SessionMoved, SessionView, StepView
from .errors import UnknownSession, UnknownStep
from .history import SessionEnded, SessionStarted, StepBegun, StepEnded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .call import Call
    from .deeds import Deeds
    from .history import Session, SessionId, Step, StepId
    from .model import RelPath
    from .ports import Timeline
    from .writer import Writer


class Sessions:
    """Begins and ends sessions and steps.

    Args:
        writer: of the workspace.
        deeds: tells what steps changed.
    """

    def __init__(self, writer: Writer, deeds: Deeds) -> None:
        self._writer = writer
        self._deeds = deeds

    @property
    def _timeline(self) -> Timeline:
        return self._writer.store.timeline

    # -- sessions

    def start(self, session_id: SessionId | None, agent: str | None, title: str | None, call: Call) -> SessionId:
        """Begins a session, or takes up one that was begun before.

        Args:
            session_id: its name; None to have one made.
            agent: who works in it.
            title: for people.
            call: the request.

        Raises:
            StorageFull, IoError: it was not begun.
        """
        name = session_id if session_id is not None else secrets.token_hex(8)
        with self._writer.turn(call):
            self._writer.note(SessionStarted(name, agent, title))
            self.tell(name, None, call)
        return name

    def end(self, session_id: SessionId, call: Call) -> None:
        """Ends a session and the steps that are open in it; harmless where it has ended.

        Raises:
            UnknownSession: see there.
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, Cancelled: it goes on.
        """
        with self._writer.turn(call):
            if self.known(session_id).ended is not None:
                return
            for step in reversed(self._timeline.steps(session_id)):
                if step.state == "open":
                    self.end_open(step, None, call)
            self._writer.note(SessionEnded(session_id))
            self.tell(session_id, None, call)

    def all(self, call: Call) -> tuple[SessionView, ...]:
        """All sessions, in the order in which they were first begun."""
        return tuple(self.view(session, call) for session in self._timeline.sessions())

    def steps(self, session_id: SessionId, call: Call) -> tuple[StepView, ...]:
        """The steps of a session, oldest first; those taken back are among them.

        Raises:
            UnknownSession: see there.
        """
        session = self.known(session_id)
        return tuple(self._deeds.view(step, session.agent, call) for step in self._timeline.steps(session_id))

    # -- steps

    def begin(
        self,
        session_id: SessionId,
        parent: StepId | None,
        message_id: str | None,
        part_id: str | None,
        tool: str | None,
        description: str | None,
        call: Call,
    ) -> Step:
        """Begins a step, on a snapshot of the work tree as it is.

        Args:
            session_id: its session.
            parent: the step that it is a part of.
            message_id: the message that it belongs to.
            part_id: the part of it.
            tool: what is used in it.
            description: for people.
            call: the request.

        Raises:
            UnknownSession: there is none, or it has ended.
            UnknownStep: the parent.
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, Cancelled: it was not begun.
        """
        with self._writer.turn(call):
            session = self.known(session_id)
            if session.ended is not None:
                raise UnknownSession(
                    f"session {session_id!r} has ended; session/start takes it up again", sessionId=session_id
                )
            if parent is not None:
                self.known_step(parent)
            step_id = secrets.token_hex(8)
            begun = StepBegun(step_id, session_id, session.step_count, parent, message_id, part_id, tool, description)
            self._writer.work_tree.check_present()
            self._writer.track(self._writer.look((), call), begun)
            step = self.known_step(step_id)
            self.tell(session_id, step, call)
        return step

    def finish(self, step_id: StepId, claims: Iterable[RelPath] | None, call: Call) -> StepView:
        """Ends a step, with a snapshot of the work tree as it is; one that has ended is told as it is.

        Args:
            step_id: the step.
            claims: the files that its agent knows that it wrote; None where it says nothing of that.
            call: the request.

        Raises:
            UnknownStep: see there.
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, Cancelled: it is open.
        """
        with self._writer.turn(call):
            step = self.known_step(step_id)
            if step.state == "open":
                step = self.end_open(step, None if claims is None else tuple(claims), call)
        return self._deeds.view(step, self.known(step.begun.session_id).agent, call)

    def end_open(self, step: Step, claims: tuple[RelPath, ...] | None, call: Call) -> Step:
        """Ends an open step; for who has the right to write."""
        self._writer.work_tree.check_present()
        snapshot = self._writer.look((), call)
        changed = self._deeds.will_have_changed(step, self._writer.store.identify(snapshot), claims)
        self._writer.track(snapshot, StepEnded(step.step_id, claims, changed))
        for other in (step.step_id, *self._timeline.beside(step.step_id)):
            # who wrote what may look different now
            self._timeline.keep_summary(other, None)
        ended = self.known_step(step.step_id)
        self.tell(step.begun.session_id, ended, call)
        return ended

    # -- showing

    def applied(self, session_id: SessionId, message_id: str | None, step_id: StepId | None) -> tuple[Step, ...]:
        """The applied steps of a session, oldest first.

        Args:
            session_id: the session.
            message_id: only the steps of this message.
            step_id: only this step and its parts.

        Raises:
            UnknownSession, UnknownStep: see there.
        """
        self.known(session_id)
        steps = self._timeline.steps(session_id)
        if step_id is not None:
            named = self.known_step(step_id)
            if named.begun.session_id != session_id:
                raise UnknownStep(f"step {step_id!r} is not one of session {session_id!r}", stepId=step_id)
            steps = self._deeds.with_parts(named)
        return tuple(step for step in steps if step.state == "applied" and message_id in (None, step.begun.message_id))

    def known(self, session_id: SessionId) -> Session:
        """A session by its name; raises `UnknownSession`."""
        session = self._timeline.session(session_id)
        if session is None:
            raise UnknownSession(f"no session {session_id!r} in this workspace", sessionId=session_id)
        return session

    def known_step(self, step_id: StepId) -> Step:
        """A step by its name; raises `UnknownStep`."""
        step = self._timeline.step(step_id)
        if step is None:
            raise UnknownStep(f"no step {step_id!r} in this workspace", stepId=step_id)
        return step

    def view(self, session: Session, call: Call) -> SessionView:
        """A session, with what can be done in it."""
        steps = self._timeline.steps(session.session_id)
        undoable = sum(step.state == "applied" and not self._deeds.summary(step, call).is_empty for step in steps)
        return SessionView(session, undoable, len(self._timeline.redoable(session.session_id)))

    def tell(self, session_id: SessionId, step: Step | None, call: Call) -> None:
        """Tells that a session changed, by a step or as a whole."""
        session = self.known(session_id)
        shown = self._deeds.view(step, session.agent, call) if step is not None else None
        self._writer.tell(SessionMoved(self.view(session, call), shown))
