"""OpenCode."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tests.real_agents.model.script import Call
from tests.real_agents.scenarios.actions import Action, Delegate, Edit, Read, Shell, Write

from .agent import Agent, Start


class OpenCode(Agent):
    """In `run`; it runs all calls of one answer at once, and each subagent has a session of its own."""

    name = "opencode"
    program = "node_modules/opencode-linux-x64/bin/opencode"
    most_mib = 250
    reply = "snapd_reply"
    tools: ClassVar[Mapping[type[Action], str]] = {Write: "write", Edit: "edit", Shell: "bash", Delegate: "Agent"}
    abilities = frozenset({"delegate", "run"})
    stops = True
    parts_apart = True

    def settings(self, home: Path, url: str) -> dict[str, str]:
        model = {"name": "Scripted", "tool_call": True, "limit": {"context": 200000, "output": 8000}}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
            "models": {"scripted": model},
        }
        config = {
            "autoupdate": False,
            "share": "disabled",
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "permission": {"*": "allow"},
            "enabled_providers": ["scripted"],
            "provider": {"scripted": provider},
        }
        return {".config/opencode/opencode.json": json.dumps(config, indent=2)}

    def with_tools(self, settings: dict[str, str], snapd: str) -> dict[str, str]:
        ((name, text),) = settings.items()
        server = {"type": "local", "command": [snapd, "mcp"], "enabled": True}
        return {name: json.dumps({**json.loads(text), "mcp": {"snapd": server}}, indent=2)}

    def environment(self, home: Path, url: str) -> dict[str, str]:
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            # it installs the library for plugins, which none here needs; it has to fail at once
            "npm_config_registry": "http://127.0.0.1:9",
            "npm_config_fetch_retries": "0",
        }

    def denying(self) -> dict[str, str]:
        return {"OPENCODE_PERMISSION": '{"bash": "ask", "edit": "ask"}'}

    def arguments(self, start: Start) -> list[str]:
        # a word with spaces in it would be put in quotes
        session = ["--continue"] if start.session is None else ["-s", start.session]
        return ["run", *(session if start.goes_on else []), *start.prompt.split()]

    def call(self, action: Action, project: Path) -> Call:
        if isinstance(action, Read):
            return Call("read", {"filePath": str(project / action.file)})
        if isinstance(action, Write):
            return Call("write", {"filePath": str(project / action.file), "content": action.text})
        if isinstance(action, Edit):
            changed = {"oldString": action.old, "newString": action.new}
            return Call("edit", {"filePath": str(project / action.file), **changed})
        if isinstance(action, Shell):
            return Call("bash", {"command": action.command, "description": "run it"})
        return Call("task", {"description": "a part", "prompt": action.task, "subagent_type": "general"})
