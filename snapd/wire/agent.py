"""The params and result of `agent/report`: what agents do, for clients that pass it on."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from .message import SessionNewsResult
from .session import AgentProcess
from .values import RequestParams, TreeHash

AgentEvent = Literal[
    "sessionStart",
    "prompt",
    "callBegin",
    "callEnd",
    "callOver",
    "read",
    "taskEnd",
    "turnEnd",
    "subagentBegin",
    "subagentEnd",
    "sessionEnd",
]


@attrs.frozen(kw_only=True)
class AgentReportParams(RequestParams):
    """Records what an agent does. What follows from an event is decided here, from the open steps of the session.

    - `"callBegin"` begins a step for a call of a tool, and `"callEnd"` ends it. A call that only reads is no step:
      `"read"` says that it has read `files`, so that the agent knows what others changed there.
    - `"callOver"` means that a call has ended altogether. If its step is still open, the call was denied or failed
      before it began, and its step owns nothing.
    - `"taskEnd"` ends what `"callEnd"` left with `background`.
    - `"prompt"` ends the turn before and records a message.
    - `"turnEnd"` ends what is open but subagents.
    - `"subagentBegin"` and `"subagentEnd"` begin and end the step whose parts are the calls of a subagent.
    - `"sessionEnd"` ends the session, and `"sessionStart"` only asks for `news`.

    A prompt, and whatever begins a step, starts the session or resumes it. An event that is reported again changes
    nothing. What an event ends may be in another folder than where the agent is now: report it to each folder where the
    session has worked, with `elsewhere`.
    """

    session_id: Annotated[str, "The session, by the agent's own id."]
    event: Annotated[AgentEvent, "What happened."]
    agent: Annotated[str | None, "The agent, for a session that starts."] = None
    at: Annotated[
        str | None,
        "When it happened, as RFC 3339, if that is reported late: see `began` in `step/begin`. A command then owns the "
        "files that changed on disk between its beginning and its end.",
    ] = None
    elsewhere: Annotated[bool, "The agent is in another folder now: what it reports may end something here."] = False
    news: Annotated[bool, "Whether to answer with `news`."] = False
    message_id: Annotated[str | None, "The prompt, by the agent's own id. A prompt with a text needs one."] = None
    text: Annotated[str | None, "With `prompt`, what the person wrote. If it is blank, the turn goes on."] = None
    transcript: Annotated[
        str | None, "With `prompt`, the absolute path of the agent's own file of the conversation, on this machine."
    ] = None
    transcript_size: Annotated[int, "The size of that file when the prompt was sent, in bytes."] = 0
    turn_step: Annotated[
        bool,
        "With `prompt`, begins a step for the whole turn, and with `turnEnd` ends it. The client then ends each call.",
    ] = False
    call_id: Annotated[str | None, "The call, by the agent's own id. A step's `partId`."] = None
    alike: Annotated[
        bool,
        "`callId` is the beginning of the ids of calls that are alike: the first to begin is the first to end.",
    ] = False
    tool: Annotated[str | None, "The tool that is called."] = None
    description: Annotated[str | None, "A description of the call, or of the subagent, for people."] = None
    command: Annotated[str | None, "The command that the call runs; see `step/begin`."] = None
    files: Annotated[
        list[str] | None,
        "With `callEnd`, the files that it wrote; see `step/end`. With `callBegin`, those that it is about to write, "
        "for `news`. With `read`, those that it has read.",
    ] = None
    directory: Annotated[str | None, "What relative paths in `files` are relative to; see `step/end`."] = None
    over_follows: Annotated[
        bool, "With `callEnd`, whether `callOver` follows. If not, later changes of other lines are not the step's."
    ] = False
    background: Annotated[bool, "With `callEnd`, whether what the call started goes on."] = False
    sequential: Annotated[
        bool, "With `callBegin`, whether the agent begins a call that may write only when the last such call is over."
    ] = False
    parent_step_id: Annotated[str | None, "With `callBegin`, the step that it is a part of."] = None
    subagent_id: Annotated[str | None, "The subagent that begins or ends, or that makes the call."] = None
    parent_session_id: Annotated[
        str | None, "The session that started this one: a call is a part of the only subagent at work there."
    ] = None
    unnamed_subagents: Annotated[
        bool, "The agent does not say whose a call is: it is a part of the only subagent at work, if there is one."
    ] = False
    detached: Annotated[bool, "The steps do not depend on this connection; see `step/begin`."] = False
    process: Annotated[AgentProcess | None, "With `detached`, who works in a step; see `step/begin`."] = None


@attrs.frozen(kw_only=True)
class AgentReportResult:
    """The result of `agent/report`."""

    step_id: Annotated[str | None, "The step that began, or else that ended. Absent if none did."] = None
    hash: Annotated[TreeHash | None, "The snapshot on which that step began."] = None
    news: Annotated[
        SessionNewsResult | None,
        "With `news`, what `session/news` would answer. Absent if the session is unknown.",
    ] = None
    outside: Annotated[list[str] | None, "Those of `files` that are not in the workspace."] = None
