"""How each agent reports its events: the names of its events and of their fields.

From the agents' documentation, and from captured events of Claude Code 2.1, Codex 0.169, Gemini CLI 0.61, Qwen Code
0.15 and OpenCode 1.18.
"""

from __future__ import annotations

from types import MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

BEGIN, END, BATCH, READ, PROMPT, STOP = "begin", "end", "batch", "read", "prompt", "stop"
SUB_BEGIN, SUB_END, RESUME, FINISH = "sub begin", "sub end", "resume", "finish"
"""The kinds of events.

A call begins or ends; all calls of one answer have ended; the user sent a prompt; a turn ends; a subagent begins or
ends; a session continues or ends.
"""

Path = tuple[str, ...]
"""Keys that lead to a value in nested objects."""


class Dialect:
    """How one agent reports its events.

    Args:
        name: of the agent.
        events: the kind of each event by name; others are ignored.
        answer_format: the form of answers: `claude`, `plain` or nothing; see `answers.py`.
        reads_answer: the events whose answer the agent reads.
        reports_over: whether it reports that all hooks of a call have run.
        one_at_a_time: whether a writing call ends before the agent begins the next.
        tools: the tools of events that do not name one.
        tasks_are_subagents: whether the call that starts a subagent represents it, because no event does.
        process: the environment variable with the id of the agent's process.
        home: a part of its transcripts' paths that is unique to this agent.
        variable: an environment variable of its hooks, which hooks of agents that it starts inherit.
        interrupted: the note in the transcript after the user interrupted the agent, which sends no event then.
        names_subagents: whether events name the subagent of a call; else it is the only one at work.
        event, session, message, call, subagent, prompt, tool, given, answer, parent, folder: paths of fields in
            order.
    """

    def __init__(
        self,
        name: str,
        events: dict[str, str],
        *,
        answer_format: str = "",
        reads_answer: tuple[str, ...] = (),
        reports_over: bool = False,
        one_at_a_time: bool = False,
        tools: Mapping[str, str] = MappingProxyType({}),
        tasks_are_subagents: bool = False,
        names_subagents: bool = True,
        process: str = "",
        interrupted: str = "",
        home: str = "",
        variable: str = "",
        event: tuple[Path, ...] = (("hook_event_name",), ("hookEventName",)),
        session: tuple[Path, ...] = (("session_id",), ("sessionId",)),
        message: tuple[Path, ...] = (("prompt_id",), ("turn_id",)),
        call: tuple[Path, ...] = (("tool_use_id",), ("toolUseId",)),
        subagent: tuple[Path, ...] = (("agent_id",),),
        prompt: tuple[Path, ...] = (("prompt",),),
        tool: tuple[Path, ...] = (("tool_name",), ("toolName",)),
        given: tuple[Path, ...] = (("tool_input",), ("toolInput",), ("toolArgs",)),
        answer: tuple[Path, ...] = (("tool_response",),),
        parent: tuple[Path, ...] = (("parentID",),),
        folder: tuple[Path, ...] = (("cwd",),),
    ) -> None:
        self.name = name
        self.events = events
        self.answer_format = answer_format
        self.reads_answer = reads_answer
        self.reports_over = reports_over
        self.one_at_a_time = one_at_a_time
        self.tools = tools
        self.tasks_are_subagents = tasks_are_subagents
        self.names_subagents = names_subagents
        self.process = process
        self.interrupted = interrupted
        self.home = home
        self.variable = variable
        self.event = event
        self.session = session
        self.message = message
        self.call = call
        self.subagent = subagent
        self.prompt = prompt
        self.tool = tool
        self.given = given
        self.answer = answer
        self.parent = parent
        self.folder = folder


_PASCAL = {
    "SessionStart": RESUME,
    "UserPromptSubmit": PROMPT,
    "PreToolUse": BEGIN,
    "PostToolUse": END,
    "PostToolUseFailure": END,
    "PermissionDenied": BATCH,
    "PostToolBatch": BATCH,
    "Stop": STOP,
    "StopFailure": STOP,
    "Interrupt": STOP,
    "SubagentStart": SUB_BEGIN,
    "SubagentStop": SUB_END,
    "SessionEnd": FINISH,
}
_CAMEL = {
    "sessionStart": RESUME,
    "userPromptSubmitted": PROMPT,
    "beforeSubmitPrompt": PROMPT,
    "preToolUse": BEGIN,
    "postToolUse": END,
    "postToolUseFailure": END,
    "errorOccurred": STOP,
    "agentStop": STOP,
    "stop": STOP,
    "subagentStart": SUB_BEGIN,
    "subagentStop": SUB_END,
    "sessionEnd": FINISH,
}
_ANSWERED_EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure")

DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "claude",
            _PASCAL,
            answer_format="claude",
            reads_answer=_ANSWERED_EVENTS,
            reports_over=True,
            one_at_a_time=True,
            process="CLAUDE_PID",
            interrupted="[Request interrupted",
            home="/.claude/",
            variable="CLAUDECODE",
        ),
        # it runs the calls of one answer in parallel
        Dialect(
            "codex",
            _PASCAL,
            answer_format="claude",
            reads_answer=_ANSWERED_EVENTS[:-1],
            home="/.codex/",
            variable="CODEX_MANAGED_PACKAGE_ROOT",
        ),
        Dialect(
            "qwen",
            _PASCAL,
            answer_format="claude",
            reads_answer=_ANSWERED_EVENTS,
            one_at_a_time=True,
            names_subagents=False,
            home="/.qwen/",
            variable="QWEN_PROJECT_DIR",
        ),
        Dialect(
            "droid",
            _PASCAL,
            answer_format="claude",
            reads_answer=("SessionStart", "UserPromptSubmit"),
            one_at_a_time=True,
            home="/.factory/",
            variable="FACTORY_PROJECT_DIR",
        ),
        Dialect("continue", _PASCAL, answer_format="claude", reads_answer=("SessionStart", "UserPromptSubmit")),
        Dialect("vscode", _PASCAL, answer_format="claude", reads_answer=_ANSWERED_EVENTS[:-1]),
        Dialect(
            "gemini",
            {
                "SessionStart": RESUME,
                "BeforeAgent": PROMPT,
                "BeforeTool": BEGIN,
                "AfterTool": END,
                "AfterAgent": STOP,
                "SessionEnd": FINISH,
            },
            answer_format="claude",
            reads_answer=("SessionStart", "BeforeAgent", "AfterTool"),
            one_at_a_time=True,
            home="/.gemini/",
            variable="GEMINI_SESSION_ID",
        ),
        Dialect(
            "cursor",
            _CAMEL,
            answer_format="cursor",
            reads_answer=("sessionStart", "postToolUse"),
            session=(("conversation_id",), ("session_id",)),
            message=(("generation_id",),),
            subagent=(("subagent_id",), ("agent_id",)),
            answer=(("tool_output",), ("result_json",)),
            folder=(("cwd",), ("workspace_roots", "0")),
        ),
        Dialect(
            "copilot",
            {**_PASCAL, **_CAMEL},
            one_at_a_time=True,
            home="/.copilot/",
            answer=(("tool_result",), ("toolResult",)),
        ),
        Dialect(
            "windsurf",
            {
                "pre_user_prompt": PROMPT,
                "pre_write_code": BEGIN,
                "post_write_code": END,
                "pre_run_command": BEGIN,
                "post_run_command": END,
                "pre_mcp_tool_use": BEGIN,
                "post_mcp_tool_use": END,
                "post_cascade_response": STOP,
            },
            one_at_a_time=True,
            tools={
                "pre_write_code": "Write",
                "post_write_code": "Write",
                "pre_run_command": "Command",
                "post_run_command": "Command",
            },
            event=(("agent_action_name",),),
            session=(("trajectory_id",),),
            message=(("execution_id",),),
            prompt=(("tool_info", "user_prompt"),),
            tool=(("tool_info", "mcp_tool_name"),),
            given=(("tool_info",),),
            folder=(("tool_info", "cwd"), ("cwd",)),
        ),
        Dialect(
            "cline",
            {
                "TaskStart": RESUME,
                "TaskResume": RESUME,
                "UserPromptSubmit": PROMPT,
                "PreToolUse": BEGIN,
                "PostToolUse": END,
                "TaskCancel": STOP,
                "TaskComplete": STOP,
            },
            answer_format="cline",
            reads_answer=("UserPromptSubmit", "PreToolUse", "PostToolUse"),
            one_at_a_time=True,
            event=(("hookName",),),
            session=(("taskId",),),
            prompt=(("userPromptSubmit", "prompt"),),
            tool=(("preToolUse", "toolName"), ("postToolUse", "toolName")),
            given=(("preToolUse", "parameters"), ("postToolUse", "parameters")),
            folder=(("workspaceRoots", "0"), ("cwd",)),
        ),
        *(
            Dialect(
                name,
                {
                    "chat.message": PROMPT,
                    "tool.execute.before": BEGIN,
                    "tool.execute.after": END,
                    "tool.execute.error": END,
                    "session.idle": STOP,
                    "session.deleted": FINISH,
                    "dispose": FINISH,
                },
                answer_format="plain",
                reads_answer=("chat.message", "tool.execute.before", "tool.execute.after"),
                tasks_are_subagents=True,
                event=(("event",),),
                session=(("sessionID",),),
                message=(("messageID",),),
                call=(("callID",),),
                tool=(("tool",),),
                given=(("args",),),
                answer=(("output",),),
                folder=(("directory",),),
            )
            for name in ("opencode", "amp", "pi")
        ),
    )
}

_GEMINI_ONLY = frozenset({"BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool"})


def recognised(payload: Mapping[str, Any], environment: Mapping[str, str]) -> Dialect | None:
    """The dialect of an event, or None: the settings file does not identify it, as several agents may share one."""
    name = _by_shape(payload) or _by_home(payload) or _by_environment(environment)
    if name is None and isinstance(payload.get("hook_event_name"), str):
        name = "claude"
    return None if name is None else DIALECTS[name]


def _by_shape(payload: Mapping[str, Any]) -> str | None:
    """The agent whose events alone have this shape."""
    if "agent_action_name" in payload:
        return "windsurf"
    if "hookName" in payload:
        return "cline"
    if "conversation_id" in payload:
        return "cursor"
    if "event" in payload and "sessionID" in payload:
        return "opencode"
    if payload.get("hook_event_name") in _GEMINI_ONLY:
        return "gemini"
    if "turn_id" in payload:
        return "codex"
    if "hookEventName" in payload:
        return "vscode"
    if "toolArgs" in payload or ("timestamp" in payload and "hook_event_name" not in payload):
        return "copilot"
    return None


def _by_home(payload: Mapping[str, Any]) -> str | None:
    transcript = payload.get("transcript_path")
    if not isinstance(transcript, str):
        return None
    path = transcript.replace("\\", "/")
    return next((name for name, dialect in DIALECTS.items() if dialect.home and dialect.home in path), None)


def _by_environment(environment: Mapping[str, str]) -> str | None:
    # the last first: mostly, Claude Code or Codex starts another agent
    return next((name for name in reversed(DIALECTS) if DIALECTS[name].variable in environment), None)
