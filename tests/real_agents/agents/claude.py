"""Claude Code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tests.real_agents.model.script import Call
from tests.real_agents.scenarios.actions import Action, Delegate, Edit, Read, Shell, Write

from .agent import Agent, Start


class Claude(Agent):
    """In print mode; its calls of one answer run one after the other, if they write."""

    name = "claude"
    program = "node_modules/@anthropic-ai/claude-code-linux-x64/claude"
    most_mib = 450
    tools: ClassVar[Mapping[type[Action], str]] = {Write: "Write", Edit: "Edit", Shell: "Bash", Delegate: "Agent"}
    abilities = frozenset({"background", "delegate", "run"})

    def with_tools(self, settings: dict[str, str], snapd: str) -> dict[str, str]:
        return {".claude.json": json.dumps({"mcpServers": {"snapd": {"command": snapd, "args": ["mcp"]}}})}

    def environment(self, home: Path, url: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_TMPDIR": str(home),
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
        }

    def arguments(self, start: Start) -> list[str]:
        # what it would ask for is denied where nobody is asked
        may = [] if start.denied else ["--permission-mode", "acceptEdits", "--allowedTools", "Bash", self.reply]
        session = ["--continue"] if start.session is None else ["--resume", start.session]
        return ["--print", start.prompt, *(session if start.goes_on else []), *may]

    def call(self, action: Action, project: Path) -> Call:
        if isinstance(action, Read):
            return Call("Read", {"file_path": str(project / action.file)})
        if isinstance(action, Write):
            return Call("Write", {"file_path": str(project / action.file), "content": action.text})
        if isinstance(action, Edit):
            changed = {"old_string": action.old, "new_string": action.new}
            return Call("Edit", {"file_path": str(project / action.file), **changed})
        if isinstance(action, Shell):
            background = {"run_in_background": True} if action.background else {}
            return Call("Bash", {"command": action.command, "description": "run it", **background})
        task = {"description": "a part", "prompt": action.task, "subagent_type": "general-purpose"}
        return Call("Agent", {**task, "run_in_background": False})
