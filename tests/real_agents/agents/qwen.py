"""Qwen Code, which began as a copy of Gemini CLI: it has that one's settings and tools, and Claude Code's events."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tests.real_agents.model.script import Call
from tests.real_agents.scenarios.actions import Action, Delegate, Edit, Reply, Shell, Write

from . import gemini
from .agent import Agent, Start


class Qwen(Agent):
    """With its prompt on the command line; its calls of one answer run one after the other."""

    name = "qwen"
    program = "node_modules/@qwen-code/qwen-code/cli.js"
    most_mib = 100
    tools: ClassVar[Mapping[type[Action], str]] = {
        Write: "write_file",
        Edit: "edit",
        Shell: "run_shell_command",
        Delegate: "Agent",
    }
    abilities = frozenset({"background", "delegate", "run"})
    asks = False

    def settings(self, home: Path, url: str) -> dict[str, str]:
        return {".qwen/settings.json": gemini.settings("openai")}

    def with_tools(self, settings: dict[str, str], snapd: str) -> dict[str, str]:
        return {name: gemini.with_server(text, snapd) for name, text in settings.items()}

    def environment(self, home: Path, url: str) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "dummy", "OPENAI_MODEL": "scripted"}

    def arguments(self, start: Start) -> list[str]:
        session = ["--continue"] if start.session is None else ["--resume", start.session]
        return [
            "--prompt",
            start.prompt,
            *([] if start.denied else ["--yolo"]),
            *(session if start.goes_on else []),
        ]

    def call(self, action: Action, project: Path) -> Call:
        if isinstance(action, Edit):
            changed = {"old_string": action.old, "new_string": action.new}
            return Call("edit", {"file_path": str(project / action.file), **changed})
        if isinstance(action, Delegate):
            task = {"description": "a part", "prompt": action.task, "subagent_type": "general-purpose"}
            return Call("agent", task)
        assert not isinstance(action, Reply), action
        return gemini.call(action, project)
