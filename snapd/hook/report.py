"""Translates an event into the params of `agent/report`, which the daemon interprets."""

from __future__ import annotations

from .dialects import BATCH, BEGIN, END, FINISH, PROMPT, READ, RESUME, STOP, SUB_BEGIN, SUB_END
from .tools import command_of, named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .event import Event, ToolCall

_EVENTS = {
    RESUME: "sessionStart",
    PROMPT: "prompt",
    BEGIN: "callBegin",
    END: "callEnd",
    BATCH: "callOver",
    READ: "read",
    STOP: "turnEnd",
    SUB_BEGIN: "subagentBegin",
    SUB_END: "subagentEnd",
    FINISH: "sessionEnd",
}
ELSEWHERE = frozenset({PROMPT, END, BATCH, STOP, SUB_END, FINISH})
"""Kinds of events that may end something in a folder that the agent has left."""


def reports(event: Event) -> list[dict[str, Any]]:
    """The params of an event's reports, one for each call, without the folder."""
    calls = event.calls if event.kind in (BEGIN, END, BATCH, READ) else [None]
    return [_report(event, call) for call in calls]


def _report(event: Event, call: ToolCall | None) -> dict[str, Any]:
    assert event.kind is not None
    params: dict[str, Any] = {
        "sessionId": event.session_id,
        "event": _EVENTS[event.kind],
        "agent": event.dialect.name,
        "detached": True,
        "news": event.reads_answer and not event.is_late,
        "messageId": event.message_id,
        "parentSessionId": event.parent_session,
    }
    if event.is_late:
        params["at"] = moment(event.at)
    elif event.kind in (BEGIN, SUB_BEGIN) or event.in_background:
        params["process"] = _process(event)
    if event.ended_task is not None:
        # not written by a user
        params |= {"event": "taskEnd", "callId": event.ended_task}
    elif event.kind == PROMPT:
        params["text"] = event.prompt
        if event.transcript_size >= 0:
            params |= {"transcript": event.transcript, "transcriptSize": event.transcript_size}
    elif event.kind in (SUB_BEGIN, SUB_END):
        params |= {"subagentId": event.subagent, "tool": "Agent", "description": event.about}
        params["unnamedSubagents"] = not event.dialect.names_subagents
    elif call is not None:
        params |= _call(event, call)
    return {name: value for name, value in params.items() if value is not None and value is not False}


def _call(event: Event, call: ToolCall) -> dict[str, Any]:
    if event.kind == READ:
        return {"files": named(call.given), "directory": event.directory(call)}
    is_alike = call.call_id is None
    name = event.unnamed(call) if call.call_id is None else call.call_id
    params: dict[str, Any] = {"callId": name, "alike": is_alike and event.kind != BEGIN}
    if event.kind == BATCH:
        return params
    params |= {"tool": call.tool, "subagentId": event.subagent, "command": command_of(call.tool, call.given)}
    if event.kind == BEGIN or event.in_background:
        params["description"] = event.words(call)
    if event.kind == BEGIN:
        params["callId"] = f"{name}{event.at}" if is_alike else name
        params["sequential"] = event.dialect.one_at_a_time
        params["unnamedSubagents"] = not event.dialect.names_subagents
        if event.reads_answer and call.files:
            params |= {"files": call.files, "directory": event.directory(call)}
    elif event.in_background:
        params["background"] = True
    else:
        params |= {"files": call.files, "directory": event.directory(call), "overFollows": event.dialect.reports_over}
    return params


def _process(event: Event) -> dict[str, Any] | None:
    """How the daemon detects that the agent is gone, or that its user interrupted the call."""
    process: dict[str, Any] = {"processId": int(event.process)} if event.process.isdecimal() else {}
    if event.dialect.interrupted and isinstance(event.transcript, str):
        process |= {"transcript": event.transcript, "interrupted": [event.dialect.interrupted]}
    return process or None


def moment(at: int) -> str:
    """Formats nanoseconds since 1970 as RFC 3339, in the daemon's format."""
    # imported late: few events need it
    import time

    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at // 10**9))}.{at // 10**6 % 1000:03d}Z"
