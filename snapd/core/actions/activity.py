"""Sums up what each session did since a time: its prompts, steps and files, pending changes, and problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Literal

import attrs

from snapd.core.actions.history import newest_first
from snapd.core.actions.messages import Messages
from snapd.core.actions.review.review import Review
from snapd.core.actions.sessions import Sessions
from snapd.core.answers import MessageView, SessionView, StepView
from snapd.core.review.choice import Choice
from snapd.model.call import Call
from snapd.model.snapshot import RelPath
from snapd.model.timeline import Message, MessageSent, SessionId, Step, StepBegun, StepEnded, StepId
from snapd.store.timeline.timeline import Timeline

Trouble = Literal["conflict", "uncaptured", "interrupted"]


@attrs.frozen
class StepProblem:
    """A problem of a step that a person should look at.

    An undo left a "conflict"; "uncaptured" files, which no snapshot has, were changed; or the step was "interrupted".
    """

    step: StepView
    kind: Trouble


@attrs.frozen
class SessionActivity:
    """What one session did: its prompts and problems, latest first, its steps, and the files that these changed."""

    session: SessionView
    messages: tuple[MessageView, ...]
    steps: int
    files: int
    pending_files: int  # with pending changes of the session, however old
    problems: tuple[StepProblem, ...]


@attrs.define
class _Work:
    messages: list[Message] = attrs.field(factory=list)
    steps: list[Step] = attrs.field(factory=list)


@attrs.frozen
class Activity:
    """Sums up the sessions of a workspace."""

    _timeline: Timeline
    _sessions: Sessions
    _messages: Messages
    _review: Review

    def since(self, milliseconds: int, call: Call) -> tuple[SessionActivity, ...]:
        """Sums up the sessions with a prompt or step since a time (ms since 1970), the latest at work first."""
        work: dict[SessionId, _Work] = {}
        interrupted = {step.step_id for step in self._sessions.unattended_steps(None)}
        for event in newest_first(self._timeline):
            call.check()
            if event.milliseconds < milliseconds:
                break
            what = event.what
            if isinstance(what, StepBegun):
                step = self._timeline.step(what.step_id)
                if step is not None:
                    work.setdefault(what.session_id, _Work()).steps.append(step)
            elif isinstance(what, MessageSent):
                message = self._timeline.message(what.session_id, what.message_id)
                if message is not None:
                    work.setdefault(what.session_id, _Work()).messages.append(message)
            elif isinstance(what, StepEnded) and not what.spoken_for:
                interrupted.add(what.step_id)
        pending = self._pending(call) if work else Counter()
        return tuple(
            self._sum_up(session_id, each, pending[session_id], interrupted, call) for session_id, each in work.items()
        )

    def _pending(self, call: Call) -> Counter[SessionId]:
        page = self._review.page(Choice(), call)
        return Counter(
            session for file in page.files for session in {self._review.session_of(step) for step in file.owners}
        )

    def _sum_up(
        self, session_id: SessionId, work: _Work, pending: int, interrupted: Collection[StepId], call: Call
    ) -> SessionActivity:
        files: set[RelPath] = set()
        problems: list[StepProblem] = []
        for step in work.steps:
            call.check()
            view = self._sessions.shown(step, call)
            files.update(file.path for file in view.files or () if not file.by_git)
            if step.state == "partly":
                problems.append(StepProblem(view, "conflict"))
            if view.uncaptured:
                problems.append(StepProblem(view, "uncaptured"))
            if step.step_id in interrupted:
                problems.append(StepProblem(view, "interrupted"))
        # a prompt whose text was sent later is there twice
        messages = {message.message_id: message for message in work.messages}
        return SessionActivity(
            self._sessions.view(self._sessions.known(session_id), call),
            tuple(self._messages.view(message, call) for message in messages.values()),
            len(work.steps),
            len(files),
            pending,
            tuple(problems),
        )
