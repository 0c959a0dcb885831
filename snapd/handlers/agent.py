"""`agent/report`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs

from snapd.core.actions.reports import AgentProcess, Report
from snapd.model.errors import InvalidParams
from snapd.model.timeline import Transcript
from snapd.wire import agent as wire
from snapd.wire import methods
from snapd.wire.converter import wire_name

from . import convert
from .binding import handles
from .session import news_result

if TYPE_CHECKING:
    from .binding import Context

_NEEDED = {
    "callBegin": (),
    "callEnd": ("call_id",),
    "callOver": ("call_id",),
    "taskEnd": ("call_id",),
    "subagentBegin": ("subagent_id",),
    "subagentEnd": ("subagent_id",),
}
"""The required params of each event."""
_BEGINNINGS = ("prompt", "callBegin", "subagentBegin")


@handles(methods.AGENT_REPORT)
def report(context: Context, params: wire.AgentReportParams) -> wire.AgentReportResult:
    """Records what an agent does."""
    _check(params)
    if params.event in _BEGINNINGS or params.news:
        context.need_snapshots("record the work of an agent in")
    claims, outside = convert.claims(context, params.files, params.directory)
    process = params.process
    reported = context.workspace.reports.take(
        Report(
            kind=params.event,
            session_id=params.session_id,
            agent=params.agent,
            client=None if params.detached else context.client,
            process=None if process is None else AgentProcess(**attrs.asdict(process)),
            late=None if params.at is None else convert.milliseconds(params.at, "at"),
            is_elsewhere=params.elsewhere,
            wants_news=params.news,
            message_id=params.message_id,
            text=params.text or "",
            transcript=_transcript(params),
            has_step=params.turn_step,
            call_id=params.call_id,
            is_alike=params.alike,
            tool=params.tool,
            description=params.description,
            command=params.command,
            claims=None if claims is None else tuple(claims),
            over_follows=params.over_follows,
            in_background=params.background,
            is_sequential=params.sequential,
            parent=params.parent_step_id,
            subagent=params.subagent_id,
            parent_session=params.parent_session_id,
            names_subagents=not params.unnamed_subagents,
        ),
        context.call,
    )
    return wire.AgentReportResult(
        step_id=None if reported.step is None else reported.step.step_id,
        hash=None if reported.step is None else reported.step.from_.tree.hex(),
        news=None if reported.news is None else news_result(context, reported.news),
        outside=outside or None,
    )


def _transcript(params: wire.AgentReportParams) -> Transcript | None:
    if params.transcript is None:
        return None
    if not os.path.isabs(params.transcript) or "\0" in params.transcript:
        raise InvalidParams("transcript: expected an absolute path", field="transcript")
    if params.transcript_size < 0:
        raise InvalidParams("transcriptSize: expected a number of bytes", field="transcriptSize")
    return Transcript(params.transcript, params.transcript_size)


def _check(params: wire.AgentReportParams) -> None:
    needed: tuple[str, ...] = _NEEDED.get(params.event, ())
    if (
        params.event == "prompt"
        and not params.elsewhere
        and (params.text or "").strip()
        and not params.parent_session_id
    ):
        needed = ("message_id",)
    for name in needed:
        if not getattr(params, name):
            field = wire_name(name)
            raise InvalidParams(f"{field}: {params.event!r} needs it", field=field)
