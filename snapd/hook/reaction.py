"""Which requests an event leads to.

A call of a tool is a step whose part id is the agent's id of the call. A subagent, and what a call started in the
background, is a step of its own with another kind of part id: it may go on when the turn is over.
"""

from __future__ import annotations

from .dialects import BATCH, BEGIN, END, FINISH, PROMPT, RESUME, STOP, SUB_BEGIN, SUB_END
from .tools import command_of, is_edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .event import Event, ToolCall

    Request = tuple[str, dict[str, Any]]
    """A method and its params."""
    Step = dict[str, Any]
    """An open step, as `step/find` answers, with the folder that it is of as `workspaceUri`."""

_SUBAGENT = "subagent:"
_BACKGROUND = "background:"


def reaction(event: Event, open_steps: list[Step], uris: list[str], *, hears: bool) -> list[Request]:
    """The requests that an event leads to, in their order.

    Args:
        event: the event.
        open_steps: the open steps of all sessions, the latest first, and those that have ended and linger; those of the
            first folder before others.
        uris: the folders that the event may be about: what ends may be in any of them, what begins is in the first.
        hears: whether the agent reads the answer to the event: then `session/news` is among the requests.
    """
    here = uris[0]
    if event.is_late:
        # what began since is none of its business
        open_steps = [step for step in open_steps if step["startedAt"] <= moment(event.at)]
    own = [step for step in open_steps if step["sessionId"] == event.session_id]
    lingering = [step for step in own if "endedAt" in step]
    own, open_steps = ([step for step in steps if "endedAt" not in step] for steps in (own, open_steps))
    news: list[Request] = [("session/news", {"sessionId": event.session_id, "workspaceUri": here})] if hears else []
    if event.kind == BEGIN:
        return [*news, *_begin(event, own, open_steps, here)]
    if event.kind == END:
        return [*_end(event, own), *news]
    if event.kind == BATCH:
        # all hooks of these calls have run, a formatter among them
        return [*_batch(event, own), *_batch(event, lingering)]
    if event.kind == PROMPT:
        return [*news, *_prompt(event, own, here)]
    if event.kind == STOP:
        return [*_end_turn(own), *(_ended(step, None) for step in lingering)]
    if event.kind == SUB_BEGIN:
        return _begin_subagent(event, own, here)
    if event.kind == SUB_END:
        return _end_subagent(event, own)
    if event.kind == RESUME:
        return news
    if event.kind == FINISH:
        return [("session/end", {"sessionId": event.session_id, "workspaceUri": uri}) for uri in uris]
    return []


def _begin(event: Event, own: list[Step], open_steps: list[Step], here: str) -> list[Request]:
    (call,) = event.calls
    if call.call_id is not None and _of_part(own, call.call_id) is not None:
        # another hook reported it already
        return []
    parent = _parent(event, own, open_steps)
    requests: list[Request] = []
    ends: str | None = None
    if event.dialect.one_at_a_time and not event.is_late:
        # nobody said that these have ended: calls that were denied, for example
        for step in own:
            if step.get("parentStepId") != parent or _goes_on(step):
                continue
            if ends is None and not is_edit(step.get("tool") or ""):
                ends = step["stepId"]
            else:
                requests.append(_abandoned(step))
    part = call.call_id or event.unnamed(call) + str(event.at)
    begun = _step(event, part, call.tool, event.words(call), parent, ends, here, command_of(call.tool, call.given))
    return [*requests, begun]


def _end(event: Event, own: list[Step]) -> list[Request]:
    (call,) = event.calls
    step = _of_call(event, call, own)
    if step is None:
        return []
    if event.in_background:
        # what it writes from now on is not the user's
        part = _BACKGROUND + (call.call_id or step["stepId"])
        parent = step.get("parentStepId")
        command = command_of(call.tool, call.given)
        ends, uri = step["stepId"], step["workspaceUri"]
        return [_step(event, part, call.tool, event.words(call), parent, ends, uri, command)]
    method, params = _ended(step, call.files, event.directory(call))
    # a formatter may be another hook of the same event
    return [(method, params | {"lingers": True} if call.files else params)]


def _batch(event: Event, own: list[Step]) -> list[Request]:
    """Ends the calls of one answer that are still open: they were denied, or failed before they began."""
    left = (_of_call(event, call, own) for call in event.calls)
    return [_ended(step, []) for step in left if step is not None]


def _prompt(event: Event, own: list[Step], here: str) -> list[Request]:
    if event.ended_task is not None:
        task = _of_part(own, _BACKGROUND + event.ended_task)
        return [] if task is None else [_ended(task, None)]
    if not event.prompt.strip():
        return []
    if event.parent_session is not None:
        # what a subagent is given to do is nobody's prompt
        return _end_turn(own)
    message: dict[str, Any] = {"sessionId": event.session_id, "messageId": event.message_id, "text": event.prompt}
    message["workspaceUri"] = here
    if event.is_late:
        # the ends of the turn before are told later; see `spool.replay`
        return [("session/message", {**message, "late": True})]
    return [*_end_turn(own), ("session/message", message)]


def _end_turn(own: list[Step]) -> list[Request]:
    """Ends everything but subagents: they may go on."""
    subagents = {step["stepId"] for step in own if _is(step, _SUBAGENT)}
    return [
        _abandoned(step)
        for step in own
        if step["stepId"] not in subagents and step.get("parentStepId") not in subagents
    ]


def _begin_subagent(event: Event, own: list[Step], here: str) -> list[Request]:
    if event.subagent is None or _of_part(own, _SUBAGENT + event.subagent) is not None:
        return []
    return [_step(event, _SUBAGENT + event.subagent, "Agent", event.about, None, None, here)]


def _end_subagent(event: Event, own: list[Step]) -> list[Request]:
    step = None if event.subagent is None else _of_part(own, _SUBAGENT + event.subagent)
    if step is None:
        return []
    # where nobody says whose a call is, one of these may be the caller's own
    theirs = [each for each in own if each.get("parentStepId") == step["stepId"] and event.dialect.names_subagents]
    calls = [_abandoned(each) for each in theirs]
    # its calls own what they wrote; it writes nothing beside them
    return [*calls, _ended(step, [])]


def _step(
    event: Event,
    part: str,
    tool: str,
    words: str | None,
    parent: str | None,
    ends: str | None,
    uri: str,
    command: str | None = None,
) -> Request:
    params = {
        "workspaceUri": uri,
        "sessionId": event.session_id,
        "messageId": event.message_id,
        "partId": part,
        "parentStepId": parent,
        "tool": tool,
        "description": words,
        "command": command,
        "ends": ends,
        "detached": True,
        "began": moment(event.at) if event.is_late else None,
        "agent": None if event.is_late else _agent(event, part),
    }
    return "step/begin", {name: value for name, value in params.items() if value is not None}


def _agent(event: Event, part: str) -> dict[str, Any] | None:
    """How the daemon notices that the agent is gone, or that its user has interrupted the call."""
    found: dict[str, Any] = {"processId": int(event.process)} if event.process.isdecimal() else {}
    # what goes on in the background is not interrupted with the turn
    in_turn = event.subagent is None and not part.startswith((_SUBAGENT, _BACKGROUND))
    if isinstance(event.transcript, str) and in_turn:
        found |= {"transcript": event.transcript, "interrupted": [event.dialect.interrupted]}
    return found or None


def moment(at: int) -> str:
    """A time in nanoseconds since 1970 as RFC 3339, as the daemon writes it."""
    # imported late: few events need it
    import time

    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at // 10**9))}.{at // 10**6 % 1000:03d}Z"


def _ended(step: Step, files: list[str] | None, directory: str | None = None) -> Request:
    params = {"workspaceUri": step["workspaceUri"], "stepId": step["stepId"], "files": files, "directory": directory}
    return "step/end", {name: value for name, value in params.items() if value is not None}


def _abandoned(step: Step) -> Request:
    """Ends a step of which nobody said that it has ended."""
    # an edit names its files when it ends; it did not, so it was denied or interrupted
    method, params = _ended(step, [] if is_edit(step.get("tool") or "") else None)
    return method, params | {"left": True}


def _parent(event: Event, own: list[Step], open_steps: list[Step]) -> str | None:
    """The step that a call is a part of: that of its subagent."""
    if event.subagent is not None:
        step = _of_part(own, _SUBAGENT + event.subagent)
        return None if step is None else str(step["stepId"])
    if event.parent_session is not None:
        return _only_subagent(event.parent_session, open_steps)
    return None if event.dialect.names_subagents else _only_subagent(event.session_id, own)


def _only_subagent(session: str, steps: list[Step]) -> str | None:
    """The step of the subagent that is at work for a session, if there is exactly one."""
    theirs = [each for each in steps if each["sessionId"] == session and _is(each, _SUBAGENT)]
    return str(theirs[0]["stepId"]) if len(theirs) == 1 else None


def _of_call(event: Event, call: ToolCall, own: list[Step]) -> Step | None:
    if call.call_id is not None:
        return _of_part(own, call.call_id)
    # of several that are alike, the first to begin is the first to end
    alike = [step for step in own if _is(step, event.unnamed(call))]
    here = [step for step in alike if step["workspaceUri"] == alike[0]["workspaceUri"]]
    return here[-1] if here else None


def _of_part(own: list[Step], part: str) -> Step | None:
    return next((step for step in own if step.get("partId") == part), None)


def _goes_on(step: Step) -> bool:
    return _is(step, _SUBAGENT) or _is(step, _BACKGROUND)


def _is(step: Step, kind: str) -> bool:
    part: str = step.get("partId") or ""
    return part.startswith(kind)
