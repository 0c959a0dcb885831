"""Decides what an agent's event means, from the open steps of its session, and records it under one write lock.

A tool call is a step whose part id is the agent's id of the call. A subagent, or what a call started in the background,
is a separate step with another kind of part id: it may continue after the turn.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Sequence

import attrs

from snapd.core.actions.messages import Messages, NewsLook, SessionNews
from snapd.core.actions.sessions import EndedStep, NewStep, Sessions, StepEnding
from snapd.core.answers import News
from snapd.core.operations.writer import Writer
from snapd.model.call import Call
from snapd.model.paths import parents
from snapd.model.snapshot import RelPath, Snapshot
from snapd.model.timeline import SessionId, Step, StepId, Transcript
from snapd.model.tools import is_edit
from snapd.store.store import Store
from snapd.watch.agents import AgentAtWork
from snapd.wire.agent import AgentEvent


@attrs.frozen
class AgentProcess:
    """How to notice that an agent is gone: see `AgentAtWork`."""

    process_id: int | None = None
    transcript: str | None = None
    interrupted: Sequence[str] = ()


TURN = "prompt"
"""The tool of the step of a whole turn."""

_SUBAGENT = "subagent:"
_BACKGROUND = "background:"


@attrs.frozen(kw_only=True)
class Report:
    """An event of an agent. `snapd.wire.agent` defines each kind."""

    kind: AgentEvent
    session_id: SessionId
    agent: str | None = None
    # who works in the steps that begin until it leaves; None for steps that do not depend on a client
    client: Hashable | None = None
    process: AgentProcess | None = None  # for a step without a client, how to notice that its agent is gone
    late: int | None = None  # when it happened, in milliseconds since 1970, if it is reported late
    is_elsewhere: bool = False  # whether the agent left this folder: something may end here, and nothing begins
    wants_news: bool = False  # whether the agent reads the answer
    message_id: str | None = None
    text: str = ""
    transcript: Transcript | None = None  # the agent's own file of the conversation, with a prompt
    has_step: bool = False  # whether the whole turn is a step, and its calls are ended by id
    call_id: str | None = None
    is_alike: bool = False  # whether `call_id` is the common prefix of the ids of similar calls
    tool: str | None = None
    description: str | None = None
    command: str | None = None
    # the files that the call wrote, is about to write, or read; None if the agent does not report them
    claims: tuple[RelPath, ...] | None = None
    over_follows: bool = False  # whether the agent will report that all hooks of the call have run
    in_background: bool = False  # whether what the call started continues
    is_sequential: bool = False  # whether the agent waits for a call that writes before it begins the next one
    parent: StepId | None = None
    subagent: str | None = None
    parent_session: SessionId | None = None
    names_subagents: bool = True  # whether the agent reports which calls are those of a subagent


@attrs.frozen
class EndStep:
    """Ends a step. `claims` are as in `StepEnding`; with `is_left`, the agent did not report the end."""

    step: Step
    claims: tuple[RelPath, ...] | None = None
    is_left: bool = False
    lingers: bool = False
    description: str | None = None


@attrs.frozen
class BeginStep:
    """Begins a step; `existing` is the step if it has begun already."""

    new: NewStep
    existing: Step | None = None


@attrs.frozen
class SendMessage:
    """Records the prompt of a report."""


@attrs.frozen
class EndSession:
    """Ends the session of a report."""


Action = EndStep | BeginStep | SendMessage | EndSession


def decide(report: Report, open_steps: Sequence[Step], lingering: Iterable[Step] = ()) -> list[Action]:
    """Returns the actions that an event leads to.

    `open_steps` are those of all sessions, the latest first. `lingering` are the steps that have ended and still own
    what is done to their files.
    """
    if report.late is not None:
        # a late report does not concern what began since
        open_steps = [step for step in open_steps if step.started <= report.late]
    own = [step for step in open_steps if step.session_id == report.session_id]
    resting = [step for step in lingering if step.session_id == report.session_id]
    match report.kind:
        case "callBegin":
            return _begin_call(report, own, open_steps)
        case "callEnd":
            return _end_call(report, own)
        case "callOver":
            # all hooks of the call have run, a formatter among them
            return [
                EndStep(step, ()) for step in (_of_call(report, own), _of_call(report, resting)) if step is not None
            ]
        case "taskEnd":
            task = _of_part(own, f"{_BACKGROUND}{report.call_id}")
            return [] if task is None else [EndStep(task)]
        case "prompt":
            return _take_prompt(report, own)
        case "turnEnd" if report.has_step:
            return [EndStep(step) for step in own if _is_turn(step)]
        case "turnEnd":
            return [*_end_turn(own), *map(EndStep, resting)]
        case "subagentBegin":
            return [_begin(report, _SUBAGENT + report.subagent, own)] if report.subagent else []
        case "subagentEnd":
            return _end_subagent(report, own)
        case "sessionEnd":
            return [EndSession()]
        case "sessionStart" | "read":
            return []


def _begin_call(report: Report, own: list[Step], open_steps: Sequence[Step]) -> list[Action]:
    begun = _begin(report, report.call_id, own, parent=_parent(report, own, open_steps))
    if begun.existing is not None or not report.is_sequential or report.late is not None:
        return [begun]
    actions: list[Action] = []
    # the end of these was not reported: calls that were denied, for example
    for step in own:
        if step.begun.parent != begun.new.parent or _is(step, _SUBAGENT, _BACKGROUND):
            continue
        if begun.new.ends is None and not is_edit(step.begun.tool):
            begun = attrs.evolve(begun, new=attrs.evolve(begun.new, ends=step.step_id))
        else:
            actions.append(_abandon(step))
    return [*actions, begun]


def _end_call(report: Report, own: list[Step]) -> list[Action]:
    step = _of_call(report, own)
    if step is None:
        return []
    if report.in_background:
        # what it writes from now on is not the user's
        name = step.step_id if report.is_alike or report.call_id is None else report.call_id
        return [_begin(report, _BACKGROUND + name, own, parent=step.begun.parent, ends=step.step_id)]
    # a formatter may be another hook of the same event
    lingers = report.client is None and bool(report.claims)
    return [EndStep(step, report.claims, lingers=lingers, description=report.description)]


def _take_prompt(report: Report, own: list[Step]) -> list[Action]:
    message: list[Action] = [SendMessage()] if report.text.strip() else []
    if report.has_step:
        turn = next((step.step_id for step in own if _is_turn(step)), None)
        return [*message, _begin(attrs.evolve(report, tool=TURN), None, own, ends=turn)]
    if not message:
        # some agents report an empty prompt with the results of calls: the turn goes on
        return []
    if report.parent_session is not None:
        # the task of a subagent is not a person's prompt
        return _end_turn(own)
    # where a prompt is reported late, the ends of the turn before it are reported after it
    ends = [] if report.late is not None else _end_turn(own)
    return ends if report.is_elsewhere else [*ends, *message]


def _end_turn(own: Sequence[Step]) -> list[Action]:
    """Ends everything but subagents, which may continue."""
    subagents = {step.step_id for step in own if _is(step, _SUBAGENT)}
    return [_abandon(step) for step in own if not subagents & {step.step_id, step.begun.parent}]


def _end_subagent(report: Report, own: list[Step]) -> list[Action]:
    step = _of_part(own, f"{_SUBAGENT}{report.subagent}")
    if step is None:
        return []
    # if the caller is not reported, one of these may be the caller's own step
    parts = [each for each in own if each.begun.parent == step.step_id and report.names_subagents]
    # its calls own what they wrote; it writes nothing beside them
    return [*map(_abandon, parts), EndStep(step, ())]


def _begin(
    report: Report, part: str | None, own: list[Step], *, parent: StepId | None = None, ends: StepId | None = None
) -> BeginStep:
    new = NewStep(
        client=report.client,
        parent=parent,
        message_id=report.message_id,
        part_id=part,
        tool=report.tool,
        description=report.description,
        command=report.command,
        ends=ends,
        began=report.late,
    )
    # another hook may have reported it already
    return BeginStep(new, None if part is None else _of_part(own, part))


def _abandon(step: Step) -> EndStep:
    # an edit names its files when it ends; it did not, so it was denied or interrupted
    return EndStep(step, () if is_edit(step.begun.tool) else None, is_left=True)


def _parent(report: Report, own: list[Step], open_steps: Iterable[Step]) -> StepId | None:
    """Returns the step that contains a call: that of its subagent, or of its turn."""
    if report.parent is not None:
        return report.parent
    if report.subagent is not None:
        step = _of_part(own, _SUBAGENT + report.subagent)
    elif report.parent_session is not None:
        step = _only_subagent(report.parent_session, open_steps)
    else:
        step = None if report.names_subagents else _only_subagent(report.session_id, own)
    return None if step is None else step.step_id


def _only_subagent(session: SessionId, steps: Iterable[Step]) -> Step | None:
    """Returns the step of the only subagent that is at work for a session; None if there are several."""
    theirs = [each for each in steps if each.session_id == session and _is(each, _SUBAGENT)]
    return theirs[0] if len(theirs) == 1 else None


def _of_call(report: Report, steps: Sequence[Step]) -> Step | None:
    if report.call_id is None:
        return None
    if report.is_alike:
        # of several that are alike, the first to begin is the first to end
        return next((step for step in reversed(steps) if _is(step, report.call_id)), None)
    return _of_part(steps, report.call_id)


def _of_part(steps: Iterable[Step], part: str) -> Step | None:
    return next((step for step in steps if step.begun.part_id == part), None)


def _is(step: Step, *kinds: str) -> bool:
    return (step.begun.part_id or "").startswith(kinds)


def _is_turn(step: Step) -> bool:
    return step.begun.part_id is None and step.begun.tool == TURN


@attrs.frozen
class Reported:
    """The step that began or ended, if any; and news for the agent, None if it reads none or its session is unknown."""

    step: Step | None
    news: News | None


@attrs.frozen
class AgentReports:
    """Records the events of agents."""

    _writer: Writer
    _store: Store
    _sessions: Sessions
    _messages: Messages
    _news: SessionNews

    def take(self, report: Report, call: Call) -> Reported:
        """Records an event with all its consequences, with a single capture of the work tree.

        A session that is unknown or has ended is started if something begins in it. Raises `UnknownStep` if the
        report's parent does not exist. After another error, part of it may be recorded; reporting it again records the
        rest.
        """
        files = report.claims or ()
        recording = _Recording(report, self._writer, self._store, self._sessions, call)
        look: NewsLook | None = None
        with self._writer.turn(call):
            timeline = self._store.timeline
            edited = (timeline.step(step_id) for step_id in self._writer.edits.recent)
            lingering = [step for step in edited if step is not None]
            actions = decide(report, timeline.open_steps()[::-1], lingering)
            if any(isinstance(action, BeginStep | SendMessage) for action in actions):
                self._start(report)
            is_known = timeline.session(report.session_id) is not None
            wants_news = report.wants_news and is_known
            if wants_news and report.kind != "callEnd":
                snapshot = recording.capture()
                # what begins records it
                look = self._news.look(report.session_id, snapshot if actions else self._writer.record_look(snapshot))
            for action in actions if is_known else ():
                if isinstance(action, SendMessage):
                    self._send(report, recording, call)
                else:
                    recording.carry_out(action)
            about_to = files if report.kind == "callBegin" else ()
            self._writer.edits.give_up(about_to, report.session_id)
            if wants_news and look is None:
                look = self._news.look(report.session_id, self._writer.record_look(recording.capture()))
        for ended in recording.ended:
            self._sessions.notify_end(ended, call)
        if report.kind == "read" and is_known:
            self._news.read(report.session_id, files, call)
        news = None if look is None else self._news.since(look, call, files=about_to, missed=True)
        return Reported(recording.step, news)

    def _start(self, report: Report) -> None:
        session = self._store.timeline.session(report.session_id)
        if session is None or session.ended is not None:
            self._sessions.record_start(report.session_id, report.agent, None)

    def _send(self, report: Report, recording: _Recording, call: Call) -> None:
        capture = recording.capture if report.late is None else lambda: self._sessions.newest(call)
        message_id = report.message_id or ""
        self._messages.record(report.session_id, message_id, report.text, capture, call, report.transcript)


@attrs.define(eq=False)
class _Recording:
    """Carries out the actions of one report; the caller holds the write lock. `step` began or ended last."""

    _report: Report
    _writer: Writer
    _store: Store
    _sessions: Sessions
    _call: Call
    step: Step | None = attrs.field(default=None, init=False)
    ended: list[EndedStep] = attrs.field(factory=list, init=False)
    _snapshot: Snapshot | None = attrs.field(default=None, init=False)

    def capture(self) -> Snapshot:
        """Captures the work tree, once for the report."""
        if self._snapshot is None:
            self._snapshot = self._sessions.capture(self._call)
        return self._snapshot

    def carry_out(self, action: EndStep | BeginStep | EndSession) -> None:
        """Records the consequences of one action."""
        if isinstance(action, EndSession):
            self._sessions.record_end(self._report.session_id, self._call)
        elif isinstance(action, BeginStep):
            self._begin(action)
        else:
            self.step = action.step
            ending = StepEnding(not action.is_left, self._claims(action), action.description)
            ended = self._sessions.record_finish(
                action.step.step_id, ending, self.capture, self._call, lingers=action.lingers
            )
            self.ended += () if ended is None else (ended,)
            if ended is not None and action.lingers and not self._report.over_follows:
                self._writer.edits.keep_to_lines(action.step)

    def _begin(self, action: BeginStep) -> None:
        self.step = action.existing
        if action.existing is not None:
            return
        step, ended = self._sessions.record_begin(self._report.session_id, action.new, self.capture, self._call)
        self.step = step
        self.ended += () if ended is None else (ended,)
        process = self._report.process
        if process is not None and step.state == "open" and not self._sessions.attended(step):
            # a subagent, and what goes on in the background, is not interrupted with the turn
            is_in_turn = self._report.subagent is None and not _is(step, _SUBAGENT, _BACKGROUND)
            transcript, interrupted = (process.transcript, process.interrupted) if is_in_turn else (None, ())
            self._sessions.watch(step.step_id, AgentAtWork(process.process_id, transcript, interrupted))

    def _claims(self, action: EndStep) -> tuple[RelPath, ...] | None:
        """Returns what an ending step claims: for a command reported late, what changed on disk meanwhile."""
        step, until = action.step, self._report.late
        if action.claims is not None or (until is None and step.begun.began is None):
            return action.claims
        until = time.time_ns() // 10**6 if until is None else until
        changes = self._store.changes(step.from_.tree, self.capture().tree)
        return tuple(each.path for each in changes if step.started <= self._changed(each.path) <= until)

    def _changed(self, path: RelPath) -> int:
        """Returns when a file last changed or vanished, in milliseconds since 1970."""
        at = map(self._writer.work_tree.occupant, (path, *parents(path), b"."))
        return next(status.st_ctime_ns // 10**6 for status in at if status is not None)
