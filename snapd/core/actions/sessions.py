"""Begins, ends and lists the sessions of a workspace and their steps."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager

import attrs

from snapd.core.actions.step_changes import SessionViews, StepChanges
from snapd.core.answers import StepView
from snapd.core.attribution import Author
from snapd.core.feed import SessionMoved
from snapd.core.operations.writer import Writer
from snapd.core.seams import Policy
from snapd.model.call import Call
from snapd.model.errors import InvalidParams, SnapdError, UnknownSession
from snapd.model.paths import parents
from snapd.model.snapshot import RelPath, Snapshot
from snapd.model.timeline import (
    Continuation,
    Operated,
    Session,
    SessionEnded,
    SessionId,
    SessionStarted,
    Step,
    StepBegun,
    StepEnded,
    StepId,
    StepsLeft,
    Summary,
)
from snapd.store.store import Store
from snapd.store.timeline.timeline import Timeline
from snapd.watch.agents import AgentAtWork, AgentWatch

OTHER_NOTICES = 100
"""How many notifications to reserve in addition to one for each step."""

TEXT_LENGTH = 10_000
"""How many characters of a prompt or a command are kept."""

_MOST_UNCAPTURED = 100
"""How many changed files without a snapshot a step lists."""


@attrs.frozen
class StepEnding:
    """How an open step ends."""

    spoken_for: bool  # whether the client named the step; see `StepEnded`
    # the files that its agent reports to have written; None if it reports none
    claims: tuple[RelPath, ...] | None = None
    description: str | None = None  # for display, instead of the one from the beginning


WITH_OTHERS = StepEnding(spoken_for=False)
"""The step ends with its session, or because it is undone."""


@attrs.frozen
class EndedStep:
    """A step that just ended, and ended steps that were open at the same time, with the summary kept before."""

    step: Step
    beside: dict[StepId, Summary | None]


class SessionNotices(SessionViews):
    """Notifies of changes of sessions and steps."""

    def __init__(self, writer: Writer, timeline: Timeline, step_changes: StepChanges) -> None:
        super().__init__(timeline, step_changes)
        self._writer = writer

    def notify_end(self, ended: EndedStep, call: Call) -> None:
        """Notifies that a step ended where another began; a failure does not affect the other step."""
        try:
            self._notify_after_turn(ended, call)
        except SnapdError as error:
            self._writer.trouble.notify(error)

    def _notify_after_turn(self, ended: EndedStep, call: Call) -> StepView:
        """Notifies that a step ended; counts its lines first, without the write lock, since a large step takes long."""
        view = self.shown(ended.step, call)
        with self._writer.turn(call):
            self.notify_ended(ended)
        return view

    def notify(self, session_id: SessionId, *steps: StepView | None) -> None:
        """Notifies that a session changed: once for each step; None stands for the session as a whole."""
        # not cancelled with the request: the change must be announced
        session = self.view(self.known(session_id), Call())
        for step in steps:
            self._writer.event_log.publish(SessionMoved(session, step))

    def notify_steps(self, steps: Iterable[StepView]) -> None:
        """Notifies that steps changed, of one session or several."""
        by_session: dict[SessionId, list[StepView]] = {}
        for view in steps:
            by_session.setdefault(view.step.begun.session_id, []).append(view)
        for session_id, views in by_session.items():
            self.notify(session_id, *views)

    def _notify_recovered(self, operation: Operated) -> None:
        turned = dict.fromkeys(turn.step_id for turn in operation.turned if turn.step_id is not None)
        self.notify_steps([self.shown(self.known_step(step_id), Call()) for step_id in turned])

    def _notify_late(self, step_ids: Iterable[StepId]) -> None:
        self.notify_steps([self.shown(self.known_step(step_id), Call()) for step_id in step_ids])

    def notify_ended(self, ended: EndedStep) -> None:
        """Notifies that a step ended, and which other steps own different changes as a result."""
        steps = [self.known_step(ended.step.step_id)]
        for step_id, before in ended.beside.items():
            step = self.known_step(step_id)
            if self._step_changes.summary(step, Call()) != before:
                steps.append(step)
        self.notify_steps([self.shown(step, Call()) for step in steps])


@attrs.frozen(kw_only=True)
class NewStep:
    """A step that is to begin."""

    client: Hashable | None  # who works in it until it `leave`s; None for a step that does not depend on a client
    parent: StepId | None = None  # the step that contains it
    message_id: str | None = None  # the message that it belongs to; None for the latest one of the session
    part_id: str | None = None  # the part of that message
    tool: str | None = None  # the tool that the agent uses in it
    description: str | None = None  # for display
    command: str | None = None  # what it runs; `TEXT_LENGTH` characters are kept, or none if the settings say so
    # a step of the session to end, without claims, on the very snapshot on which this one begins, so that no change
    # falls between the two or into both. A step that has ended already stays as it is.
    ends: StepId | None = None
    # when it began, in milliseconds since 1970, if it is reported late. It then begins on the newest existing snapshot:
    # a new one would contain what the step did already.
    began: int | None = None


class Sessions(SessionNotices):
    """Begins and ends sessions and steps."""

    def __init__(self, writer: Writer, store: Store, step_changes: StepChanges, policy: Policy) -> None:
        super().__init__(writer, store.timeline, step_changes)
        self._store = store
        self._policy = policy
        self._timeline: Timeline = store.timeline
        self._agents = AgentWatch(self.attended_by, self._lose)
        writer.recovered.add(self._notify_recovered)
        writer.edits.on_change = self._notify_late

    # -- sessions

    def start(
        self,
        session_id: SessionId | None,
        agent: str | None,
        title: str | None,
        call: Call,
        continues: Continuation | None = None,
    ) -> SessionId:
        """Starts a session, or resumes an existing one; `session_id` None generates an id.

        An agent without a known process may have been killed: its steps in other sessions do not own the changes since
        the last event, unless it ends them by id after all. `title` is for display.
        """
        name = session_id if session_id is not None else secrets.token_hex(16)
        with self._writer.turn(call):
            self.record_start(name, agent, title, continues)
        return name

    def record_start(
        self, name: SessionId, agent: str | None, title: str | None, continues: Continuation | None = None
    ) -> None:
        """Starts or resumes a session as `start` does; the caller holds the write lock."""
        attendance = self._writer.attendance
        silent = [
            step.step_id
            for step in self._timeline.open_steps()
            if step.session_id != name
            and attendance.may_have_ended_unnoticed(step)
            and self.known(step.session_id).agent == agent
        ]
        if silent:
            self._writer.append_event(StepsLeft(tuple(silent)))
            attendance.leave(silent)
        self._writer.append_event(SessionStarted(name, agent, title, continues))
        self.notify(name, None)

    def prepare(self, name: SessionId, agent: str | None, continues: Continuation, call: Call) -> None:
        """Records a session that goes on from another one once an agent resumes it; until then, it has ended."""
        with self._writer.turn(call):
            self._writer.append_event(SessionStarted(name, agent, None, continues))
            self._writer.append_event(SessionEnded(name))
            self.notify(name, None)

    def capture(self, call: Call) -> Snapshot:
        """Captures the work tree, if it still exists; the caller holds the write lock."""
        self._writer.work_tree.check_present()
        return self._writer.capture_now(call)

    def end(self, session_id: SessionId, call: Call) -> None:
        """Ends a session and its open steps; has no effect on a session that has ended. Raises `UnknownSession`."""
        with self._writer.turn(call):
            self.record_end(session_id, call)

    def record_end(self, session_id: SessionId, call: Call) -> None:
        """Ends a session as `end` does; the caller holds the write lock."""
        if self.known(session_id).ended is not None:
            return
        for step in reversed(self._timeline.open_steps()):
            if step.begun.session_id == session_id:
                self.notify_ended(self.end_open(step, WITH_OTHERS, call))
        self._writer.check_recent_edits(call)
        self._writer.edits.drop(session_id=session_id)
        self._writer.append_event(SessionEnded(session_id))
        self.notify(session_id, None)

    # -- steps

    def begin(self, session_id: SessionId, new: NewStep, call: Call) -> Step:
        """Begins a step, with a snapshot of the current work tree.

        If the session already has a step for the same part, returns that one: two hooks may report one call. Raises
        `UnknownSession` if there is no such session or it has ended; `UnknownStep` if the parent or the step to end
        does not exist or belongs to another session; and `InvalidParams` if the new step would be a part of the step to
        end.
        """
        with self._writer.turn(call):
            step, ended = self.record_begin(session_id, new, lambda: self.capture(call), call)
        if ended is not None:
            self.notify_end(ended, call)
        return step

    def record_begin(
        self, session_id: SessionId, new: NewStep, capture: Callable[[], Snapshot], call: Call
    ) -> tuple[Step, EndedStep | None]:
        """Begins a step as `begin` does; the caller holds the write lock, and calls `notify_end` afterwards.

        `capture` is called only if needed. Returns the step, and the one that ended where it began.
        """
        session = self.going_on(session_id)
        message_id = new.message_id
        if message_id is None:
            latest = self._timeline.last_message(session_id)
            message_id = None if latest is None else latest.message_id
        known = None if new.part_id is None else self._timeline.step_of_part(session_id, message_id, new.part_id)
        if known is not None:
            return known, None
        if new.parent is not None:
            self.known_step(new.parent)
        before = None if new.ends is None else self._to_end(new.ends, session_id, new.parent)
        snapshot = capture() if new.began is None or before is not None else self.newest(call)
        step_id = secrets.token_hex(16)
        begun = StepBegun(
            step_id=step_id,
            session_id=session_id,
            index=session.step_count,
            parent=new.parent,
            message_id=message_id,
            part_id=new.part_id,
            tool=new.tool,
            description=self._kept_description(new),
            detached=new.client is None,
            began=new.began,
            command=self.kept_text(new.command),
        )
        ended = self._begin_on(snapshot, before, begun, call)
        self._writer.edits.drop(session_id=session_id)
        if new.client is not None:
            self._writer.attendance.attend(step_id, new.client)
        step = self.known_step(step_id)
        self.notify(session_id, self._step_changes.view(step, session.agent, call))
        return step, ended

    def kept_text(self, text: str | None) -> str | None:
        """Truncates a prompt or a command to the part that is kept; None if the settings keep none."""
        return text[:TEXT_LENGTH] if text and self._policy.keeps_prompts else None

    def _kept_description(self, new: NewStep) -> str | None:
        """Returns None if the description is the command, or its beginning, and that is not kept."""
        is_command = (new.description or "").strip("` …") in (new.command or "")
        return new.description if not is_command or self._policy.keeps_prompts else None

    def _begin_on(self, snapshot: Snapshot, before: Step | None, begun: StepBegun, call: Call) -> EndedStep | None:
        """Records that a step begins on a snapshot, and that the step before it ends there if it is open."""
        if before is not None and before.state == "open":
            # the beginning of the next step does not claim what happened since the agent disconnected
            is_left = before.begun.detached and bool(self._writer.attendance.unattended_steps([before]))
            return self._end_on(snapshot, before, StepEnding(spoken_for=not is_left), call, begun)
        if not self._timeline.open_steps():
            # no step owns what happened before
            self._writer.work_tree.state.uncaptured.settle()
        self._writer.track(snapshot, begun, call)
        return None

    def newest(self, call: Call) -> Snapshot:
        """Returns the newest snapshot, or takes one if there is none."""
        self._writer.work_tree.check_present()
        tree = self._store.last
        return self._writer.capture_now(call) if tree is None else self._store.find(tree)

    def going_on(self, session_id: SessionId) -> Session:
        """Returns a session that has not ended. Raises `UnknownSession`."""
        session = self.known(session_id)
        if session.ended is not None:
            raise UnknownSession(
                f"session {session_id!r} has ended", hint="resume it with `session/start`", sessionId=session_id
            )
        return session

    def _to_end(self, ends: StepId, session_id: SessionId, parent: StepId | None) -> Step:
        step = self.step_of(session_id, ends)
        above = parent
        while above is not None:
            if above == ends:
                raise InvalidParams(f"ends: the new step would be a part of step {ends!r}", field="ends")
            above = self.known_step(above).begun.parent
        return step

    def finish(
        self,
        step_id: StepId,
        claims: Iterable[RelPath] | None,
        call: Call,
        *,
        description: str | None = None,
        lingers: bool = False,
        is_left: bool = False,
    ) -> StepView:
        """Ends a step, with a snapshot of the current work tree. Ending a step again returns the same result.

        With `is_left`, no client reported the end: changes since its agent disconnected are then not its own. With
        `lingers`, it also owns what is done to these files in the next moment, see `Edits`; ending it again ends that.
        Raises `UnknownStep`.
        """
        with self._writer.turn(call):
            ending = StepEnding(not is_left, None if claims is None else tuple(claims), description)
            ended = self.record_finish(step_id, ending, lambda: self.capture(call), call, lingers=lingers)
        if ended is None:
            return self.shown(self.known_step(step_id), call)
        return self._notify_after_turn(ended, call)

    def record_finish(
        self, step_id: StepId, ending: StepEnding, capture: Callable[[], Snapshot], call: Call, *, lingers: bool = False
    ) -> EndedStep | None:
        """Ends a step as `finish` does; the caller holds the write lock. Returns None if the step had ended before."""
        step = self.known_step(step_id)
        if step.state == "open":
            ended = self._end_on(capture(), step, ending, call)
            if lingers and ending.claims:
                author = Author(step.session_id, frozenset(ending.claims), step.begun.parent)
                self._writer.edits.add(step_id, author)
            return ended
        if step_id in self._writer.edits.recent:
            capture()
            self._writer.edits.drop([step_id])
        return None

    def end_open(self, step: Step, ending: StepEnding, call: Call) -> EndedStep:
        """Ends an open step; the caller holds the write lock, and calls `notify_ended` afterwards."""
        return self._end_on(self.capture(call), step, ending, call)

    def _end_on(
        self,
        snapshot: Snapshot,
        step: Step,
        ending: StepEnding,
        call: Call,
        *begun: StepBegun,
    ) -> EndedStep:
        """Ends an open step with a snapshot that was just taken, and begins another on it; otherwise as `end_open`."""
        others = self._timeline.beside(step.step_id)
        beside = {other: self._timeline.summary(other) for other in others if self.known_step(other).ended is not None}
        self._writer.event_log.prepare(len(others) + OTHER_NOTICES)
        self._writer.track(snapshot, self._end_of(step, snapshot, ending), call, *begun)
        self._writer.work_tree.state.uncaptured.settle()
        self._writer.attendance.drop((step.step_id,))
        return EndedStep(self.known_step(step.step_id), beside)

    @contextmanager
    def simulate_ended(self, steps: Iterable[Step], call: Call) -> Iterator[None]:
        """Makes the timeline answer within the block as if `end_open` had ended some steps, but records nothing.

        The caller holds the write lock.
        """
        self._writer.work_tree.check_present()
        snapshot = self._writer.capture_now(call)
        with self._timeline.simulation():
            for step in steps:
                self._writer.simulate(snapshot, self._end_of(step, snapshot, WITH_OTHERS))
            yield

    def _end_of(self, step: Step, snapshot: Snapshot, ending: StepEnding) -> StepEnded:
        seen = self._writer.span(self._store.identify(snapshot))
        claims = ending.claims
        if claims:
            claims = tuple(dict.fromkeys((*claims, *self._other_names(step, snapshot, claims))))
        own = self._step_changes.ended_with(step, seen, claims, spoken_for=ending.spoken_for)
        uncaptured = self._writer.work_tree.state.uncaptured.changes
        if claims is not None:
            claimed = frozenset(claims)
            uncaptured = tuple(each for each in uncaptured if not claimed.isdisjoint((each.path, *parents(each.path))))
        changed = bool(own.files or own.directories)
        listed = uncaptured[:_MOST_UNCAPTURED]
        return StepEnded(step.step_id, claims, changed, ending.spoken_for, listed, ending.description)

    def _other_names(self, step: Step, snapshot: Snapshot, claims: Iterable[RelPath]) -> Iterator[RelPath]:
        """Yields the other names (hard links) of claimed files, among the files that changed during the step."""
        linked = {file for path in claims if (file := self._linked_file(path)) is not None}
        if linked:
            for change in self._step_changes.changes(step.from_.tree, snapshot.tree):
                if self._linked_file(change.path) in linked:
                    yield change.path

    def _linked_file(self, path: RelPath) -> tuple[int, int] | None:
        """Identifies a captured file that has several names; None for others."""
        tree = self._writer.work_tree
        status = None if tree.captured(path) is None else tree.occupant(path)
        return None if status is None or status.st_nlink < 2 else (status.st_dev, status.st_ino)

    def open(self, call: Call) -> tuple[StepView, ...]:
        """Returns the open steps of all sessions, in the order in which they began."""
        return tuple(self.shown(step, call) for step in self._timeline.open_steps())

    def lingering(self, call: Call) -> tuple[StepView, ...]:
        """Returns the steps that have ended but still own what is done to their files."""
        return tuple(self.shown(self.known_step(step_id), call) for step_id in self._writer.edits.recent)

    def unattended_steps(self, session_id: SessionId | None) -> tuple[Step, ...]:
        """Returns the open steps whose client is gone, of one session or of all."""
        gone = self._writer.attendance.unattended_steps(self._timeline.open_steps())
        return tuple(step for step in gone if session_id in (None, step.session_id))

    def attended(self, step: Step) -> bool:
        """Whether a client works in a step."""
        return self._writer.attendance.has_client(step.step_id)

    def attended_by(self, client: Hashable) -> bool:
        """Whether a client works in any step."""
        return bool(self._writer.attendance.of(client))

    def watch(self, step_id: StepId, agent: AgentAtWork) -> None:
        """Makes the agent the client of a step, which leaves the step when the agent exits or was interrupted."""
        self._writer.attendance.attend(step_id, agent, shows_end=agent.is_known)
        self._agents.add(agent)

    def _lose(self, agent: AgentAtWork) -> None:
        try:
            self.leave(agent, Call())
        except SnapdError as error:
            self._writer.trouble.notify(error)

    def close(self) -> None:
        """Stops watching agents."""
        self._agents.close()

    def leave(self, client: Hashable, call: Call) -> None:
        """Records that a client is gone. Its steps stay open, but do not own changes from now on.

        An agent that comes back and ends such a step by id claims these changes after all. After an error, the steps do
        not own the changes since the last event either.
        """
        attendance = self._writer.attendance
        if not attendance.of(client):
            return
        try:
            with self._writer.turn(call):
                steps = attendance.of(client)
                self._writer.work_tree.check_present()
                snapshot = self._writer.capture_now(call)
                if steps and self._writer.span(self._store.identify(snapshot)) is not None:
                    self._writer.track(snapshot, StepsLeft(steps), call)
                attendance.leave(steps)
        finally:
            attendance.leave(attendance.of(client))

    # -- notifications
