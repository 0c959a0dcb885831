"""The supported agents: how to detect each, its settings files, and the events to hook.

Places and formats are from the agents' documentation and from runs of the real programs; `tested` has their versions.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from snapd.model.errors import InvalidParams

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    Style = Literal["nested", "flat", "copilot", "executables", "plugin"]


@dataclass(frozen=True)
class Folder:
    """A settings folder: `below` under the environment variable's directory, else under `usual` in the home."""

    usual: str
    variable: str | None = None
    below: str = ""

    def path(self, environment: Mapping[str, str]) -> str:
        """The absolute path for this user."""
        home = environment.get("HOME") or os.path.expanduser("~")
        named = environment.get(self.variable, "") if self.variable else ""
        if self.variable == "XDG_CONFIG_HOME" and not os.path.isabs(named):
            # as the XDG specification requires
            named = ""
        return os.path.abspath(os.path.join(named or os.path.join(home, self.usual), self.below))


@dataclass(frozen=True)
class Agent:
    """A supported agent.

    Attributes:
        name: its id in snapd.
        title: its official name.
        colour: a name in the palette of `snapd/wire/words.py`.
        folder: its user settings.
        project: the hook files below the root of a project.
        events: the hooked events, each with a pattern of tools; None for all.
        user: the hook files below `folder`.
        style: the format of these files.
        programs: it is detected if one of these is on the PATH, or one of `traces` exists; by default its name.
        traces: folders that it creates.
        per_second: the units of its timeouts in a second; 0 if it has no timeouts.
        limits: timeouts in seconds for events that do not allow the usual one.
        called: its name as an argument of `snapd hook`; empty if its events identify it.
        members: what its settings need beside `hooks`.
        still: what the user must do after an install.
        tested: the version whose real program has run the hooks; empty if only its documentation was used.
    """

    name: str
    title: str
    colour: str
    folder: Folder
    project: tuple[str, ...]
    events: Mapping[str, str | None] = field(default_factory=dict)
    user: tuple[str, ...] = ("settings.json",)
    style: Style = "nested"
    programs: tuple[str, ...] = ()
    traces: tuple[Folder, ...] = ()
    per_second: int = 1
    limits: Mapping[str, int] | None = None
    called: str = ""
    members: Mapping[str, int] | None = None
    still: str = ""
    tested: str = ""

    def files(self, environment: Mapping[str, str], root: str | None = None) -> list[str]:
        """The absolute paths of the hook files, in the project at `root` or the user's if it is None."""
        if root is not None:
            return [os.path.join(root, name) for name in self.project]
        return [os.path.join(self.folder.path(environment), name) for name in self.user]

    def is_present(self, environment: Mapping[str, str]) -> bool:
        """Whether it is on this machine."""
        if any(shutil.which(program, path=environment.get("PATH")) for program in self.programs or (self.name,)):
            return True
        return any(os.path.isdir(trace.path(environment)) for trace in self.traces or (self.folder,))


def _wired(tool: str | None, tool_events: str, other_events: str) -> dict[str, str | None]:
    """Events that are hooked for some tools, and events that are hooked for all."""
    return {**dict.fromkeys(tool_events.split(), tool), **dict.fromkeys(other_events.split())}


_CLAUDE_TOOLS = "Edit|Write|MultiEdit|NotebookEdit|Bash|PowerShell|mcp__.*"
_COPILOT_EVENTS = _wired(
    None,
    "PreToolUse PostToolUse PostToolUseFailure",
    "UserPromptSubmit Stop SubagentStart SubagentStop SessionStart SessionEnd",
)
_COPILOT = Folder(".copilot", "COPILOT_HOME")

_CLINE_TASKS = ("TaskStart", "TaskResume", "TaskCancel", "TaskComplete")
_CLINE_HOOKS = ("PreToolUse", "PostToolUse", "UserPromptSubmit", *_CLINE_TASKS)

_ALL = (
    Agent(
        name="claude",
        title="Claude Code",
        colour="orange",
        folder=Folder(".claude", "CLAUDE_CONFIG_DIR"),
        project=(".claude/settings.json",),
        events=_wired(
            _CLAUDE_TOOLS,
            "PreToolUse PostToolUse PostToolUseFailure",
            "PostToolBatch PermissionDenied UserPromptSubmit Stop StopFailure SubagentStart SubagentStop SessionStart "
            "SessionEnd",
        ),
        tested="2.1.330",
    ),
    Agent(
        name="codex",
        title="Codex",
        colour="teal",
        folder=Folder(".codex", "CODEX_HOME"),
        user=("hooks.json",),
        project=(".codex/hooks.json",),
        events=_wired(
            "Bash|apply_patch|Edit|Write|mcp__.*",
            "PreToolUse PostToolUse",
            "UserPromptSubmit Stop SubagentStart SubagentStop SessionStart SessionEnd",
        ),
        limits={"SessionEnd": 3},
        still="Codex leaves out hooks that you have not trusted: start codex, enter /hooks, and trust those of snapd",
        tested="0.169.0",
    ),
    Agent(
        name="gemini",
        title="Gemini CLI",
        colour="blue",
        folder=Folder("", "GEMINI_CLI_HOME", ".gemini"),
        project=(".gemini/settings.json",),
        events=_wired(
            "write_file|replace|run_shell_command|mcp_.*",
            "BeforeTool AfterTool",
            "BeforeAgent AfterAgent SessionStart SessionEnd",
        ),
        per_second=1000,
        tested="0.61.0",
    ),
    Agent(
        name="cursor",
        title="Cursor",
        colour="slate",
        programs=("cursor", "cursor-agent"),
        folder=Folder(".cursor"),
        user=("hooks.json",),
        project=(".cursor/hooks.json",),
        style="flat",
        events=_wired(
            "Write|StrReplace|Delete|ApplyPatch|EditNotebook|Shell|MCP.*",
            "preToolUse postToolUse postToolUseFailure",
            "beforeSubmitPrompt stop subagentStart subagentStop sessionStart sessionEnd",
        ),
        members={"version": 1},
    ),
    Agent(
        name="copilot",
        title="GitHub Copilot CLI",
        colour="indigo",
        folder=_COPILOT,
        user=("hooks/snapd.json",),
        project=(".github/hooks/snapd.json",),
        style="copilot",
        events=_COPILOT_EVENTS,
        members={"version": 1},
    ),
    Agent(
        name="vscode",
        title="VS Code's agent",
        colour="blue",
        programs=("code", "code-insiders"),
        folder=_COPILOT,
        user=("hooks/snapd.json",),
        project=(".github/hooks/snapd.json",),
        style="copilot",
        events=_COPILOT_EVENTS,
        traces=(Folder(".vscode"), Folder(".config", "XDG_CONFIG_HOME", "Code")),
        members={"version": 1},
    ),
    Agent(
        name="droid",
        title="Factory Droid",
        colour="olive",
        folder=Folder(".factory"),
        project=(".factory/settings.json",),
        events=_wired(
            "Edit|MultiEdit|Create|Write|ApplyPatch|Execute|mcp__.*",
            "PreToolUse PostToolUse",
            "UserPromptSubmit Stop SubagentStop SessionStart SessionEnd",
        ),
        called="droid",
    ),
    Agent(
        name="windsurf",
        title="Windsurf",
        colour="teal",
        folder=Folder(".codeium"),
        user=("windsurf/hooks.json", "hooks.json"),
        project=(".windsurf/hooks.json",),
        style="flat",
        events=_wired(
            None,
            "pre_write_code post_write_code pre_run_command post_run_command pre_mcp_tool_use post_mcp_tool_use",
            "pre_user_prompt post_cascade_response",
        ),
        per_second=0,
    ),
    Agent(
        name="cline",
        title="Cline",
        colour="magenta",
        folder=Folder("Documents/Cline"),
        user=tuple(f"Hooks/{name}" for name in _CLINE_HOOKS),
        project=tuple(f".clinerules/hooks/{name}" for name in _CLINE_HOOKS),
        style="executables",
        traces=(
            Folder("Documents/Cline"),
            Folder(".config", "XDG_CONFIG_HOME", "Code/User/globalStorage/saoudrizwan.claude-dev"),
        ),
        still="Cline runs hooks where they are enabled: see Hooks in its settings",
    ),
    Agent(
        name="qwen",
        title="Qwen Code",
        colour="violet",
        folder=Folder(".qwen", "QWEN_HOME"),
        project=(".qwen/settings.json",),
        events=_wired(
            "edit|write_file|notebook_edit|run_shell_command|mcp__.*",
            "PreToolUse PostToolUse PostToolUseFailure",
            "UserPromptSubmit Stop SubagentStart SubagentStop SessionStart SessionEnd",
        ),
        per_second=1000,
        called="qwen",
        tested="0.15.10",
    ),
    Agent(
        name="continue",
        title="Continue CLI",
        colour="slate",
        programs=("cn",),
        folder=Folder(".continue", "CONTINUE_GLOBAL_DIR"),
        project=(".continue/settings.json",),
        events=_wired(
            None, "PreToolUse PostToolUse PostToolUseFailure", "UserPromptSubmit Stop SessionStart SessionEnd"
        ),
        called="continue",
        still="Continue CLI 1.5.47 was seen to load such hooks and to run none at a tool call: try 'snapd run -- cn'",
    ),
    Agent(
        name="opencode",
        title="OpenCode",
        colour="violet",
        folder=Folder(".config", "XDG_CONFIG_HOME", "opencode"),
        user=("plugins/snapd.js",),
        project=(".opencode/plugins/snapd.js",),
        style="plugin",
        tested="1.18.33",
    ),
    Agent(
        name="amp",
        title="Amp",
        colour="magenta",
        folder=Folder(".config", "XDG_CONFIG_HOME", "amp"),
        user=("plugins/snapd.ts",),
        project=(".amp/plugins/snapd.ts",),
        style="plugin",
    ),
    Agent(
        name="pi",
        title="Pi",
        colour="indigo",
        folder=Folder(".pi/agent", "PI_CODING_AGENT_DIR"),
        user=("extensions/snapd.ts",),
        project=(".pi/extensions/snapd.ts",),
        style="plugin",
        tested="0.73.1",
    ),
)

AGENTS: dict[str, Agent] = {agent.name: agent for agent in _ALL}
"""All agents by name, in the order of lists."""


def named(names: list[str]) -> list[Agent]:
    """The agents with these names, each once. Raises `InvalidParams` for an unknown name."""
    from snapd.model.errors import did_you_mean

    for name in names:
        if name not in AGENTS:
            hint = did_you_mean(name, AGENTS) + f"the agents are {', '.join(AGENTS)}; others run under 'snapd run'"
            raise InvalidParams(f"there is no agent {name!r}", hint=hint, field="NAME")
    return [AGENTS[name] for name in dict.fromkeys(names)]
