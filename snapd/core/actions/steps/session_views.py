"""Looks up sessions and steps, and describes them."""

from __future__ import annotations

from snapd.core.answers import Page, SessionView, StepView
from snapd.model.call import Call
from snapd.model.errors import UnknownSession, UnknownStep
from snapd.model.timeline import Session, SessionId, Step, StepId, StepQuery
from snapd.store.timeline.timeline import TimelineView

from .step_changes import StepChanges

IN_FORCE = ("applied", "partly")
"""The states of ended steps that were not taken back as a whole."""


class SessionViews:
    """Describes the sessions and steps of a timeline.

    Args:
        timeline: of a workspace, or of a fetched session.
        step_changes: says what steps changed.
    """

    def __init__(self, timeline: TimelineView, step_changes: StepChanges) -> None:
        self._timeline = timeline
        self._step_changes = step_changes

    # -- listing

    def all(self, call: Call, after: int | None = None, limit: int | None = None) -> Page[SessionView]:
        """Lists the sessions in the order in which they were first started.

        Args:
            call: the request.
            after: where the page before ended; None for the first page.
            limit: sessions on this page, at most; None for all.
        """
        sessions, last = self._timeline.session_page(after, limit)
        return Page(tuple(self.view(session, call) for session in sessions), last)

    def steps(
        self, session_id: SessionId, call: Call, after: int | None = None, limit: int | None = None
    ) -> Page[StepView]:
        """Lists the steps of a session, oldest first, including those that were taken back.

        Args:
            session_id: the session.
            call: the request.
            after: where the page before ended; None for the first page.
            limit: steps on this page, at most; None for all.

        Raises:
            UnknownSession: there is no such session.
        """
        session = self.known(session_id)
        steps, last = self._timeline.step_page(session_id, after, limit)
        views: list[StepView] = []
        for step in steps:
            call.check()
            views.append(self._step_changes.view(step, session.agent, call))
        return Page(tuple(views), last)

    def find(self, wanted: StepQuery, limit: int | None, call: Call, *, renames: bool = False) -> tuple[StepView, ...]:
        """Finds steps in all sessions, newest first.

        Args:
            wanted: which steps to find.
            limit: steps, at most; None for all.
            call: the request.
            renames: whether to show a moved file as one.

        Raises:
            UnknownSession, UnknownStep: the query names a session or a step that does not exist.
        """
        if wanted.session_id is not None:
            self.known(wanted.session_id)
        if wanted.parent is not None:
            self.known_step(wanted.parent)
        views: list[StepView] = []
        for step in self._timeline.find_steps(wanted, limit):
            call.check()
            view = self.shown(step, call)
            views.append(self._step_changes.joined(view, call) if renames else view)
        return tuple(views)

    # -- looking up

    def applied(self, session_id: SessionId, message_id: str | None, step_id: StepId | None) -> tuple[Step, ...]:
        """Lists the ended steps of a session that were not taken back as a whole, oldest first.

        Args:
            session_id: the session.
            message_id: only the steps of this message, and their parts.
            step_id: only this step and its parts.

        Raises:
            UnknownSession, UnknownStep: there is no such session, or the step is not one of its steps.
        """
        self.known(session_id)
        if step_id is not None:
            parts = self._step_changes.with_parts(self.step_of(session_id, step_id))
            steps = tuple(part for part in parts if message_id in (None, part.begun.message_id))
        elif message_id is not None:
            steps = self._step_changes.of_message(session_id, message_id)
        else:
            steps = self._timeline.steps(session_id)
        return tuple(step for step in steps if step.state in IN_FORCE)

    def known(self, session_id: SessionId) -> Session:
        """Looks up a session by its name; raises `UnknownSession`."""
        session = self._timeline.session(session_id)
        if session is None:
            raise UnknownSession(f"no session {session_id!r} in this workspace", sessionId=session_id)
        return session

    def known_step(self, step_id: StepId) -> Step:
        """Looks up a step by its name; raises `UnknownStep`."""
        step = self._timeline.step(step_id)
        if step is None:
            raise UnknownStep(f"no step {step_id!r} in this workspace", stepId=step_id)
        return step

    def step_of(self, session_id: SessionId, step_id: StepId) -> Step:
        """Looks up a step of a session; raises `UnknownStep`."""
        step = self.known_step(step_id)
        if step.begun.session_id != session_id:
            raise UnknownStep(f"step {step_id!r} does not belong to session {session_id!r}", stepId=step_id)
        return step

    def view(self, session: Session, call: Call) -> SessionView:
        """Describes a session, with the number of steps to undo and redo; raises as `StepChanges.summary`."""
        tally = self._timeline.tally(session.session_id)
        more = sum(not self._step_changes.summary(step, call).is_empty for step in tally.unknown)
        return SessionView(session, tally.undoable + more, tally.redoable)

    def shown(self, step: Step, call: Call) -> StepView:
        """Describes a step, with what it changed; raises as `StepChanges.view`."""
        return self._step_changes.view(step, self.known(step.begun.session_id).agent, call)
