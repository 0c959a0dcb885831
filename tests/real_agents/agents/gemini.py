"""Gemini CLI."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tests.real_agents.model.script import Call
from tests.real_agents.scenarios.actions import Action, Delegate, Edit, Read, Reply, Shell, Write

from .agent import Agent, Start


class Gemini(Agent):
    """With its prompt on the command line; its calls of one answer run one after the other."""

    name = "gemini"
    program = "node_modules/@google/gemini-cli/bundle/gemini.js"
    most_mib = 150
    reply = "mcp_snapd_reply"
    tools: ClassVar[Mapping[type[Action], str]] = {Write: "write_file", Edit: "replace", Shell: "run_shell_command"}
    # it has subagents too, but nothing tells which calls are theirs
    abilities = frozenset({"acp", "background"})
    asks = False

    def has_removed(self, home: Path, session: str) -> bool:
        # its clean-up removes a session that was resumed in another minute than it began in
        return not any(home.glob(f".gemini/tmp/*/chats/*-{session[:8]}*.jsonl"))

    def settings(self, home: Path, url: str) -> dict[str, str]:
        # a model that is named keeps the router out, which would ask one first
        return {".gemini/settings.json": settings("gemini-api-key", model={"name": "gemini-2.5-flash"})}

    def with_tools(self, settings: dict[str, str], snapd: str) -> dict[str, str]:
        return {name: with_server(text, snapd) for name, text in settings.items()}

    def environment(self, home: Path, url: str) -> dict[str, str]:
        return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "dummy"}

    def arguments(self, start: Start) -> list[str]:
        if start.way == "acp":
            return ["--experimental-acp"]
        return [
            "--prompt",
            start.prompt,
            *([] if start.denied else ["--yolo"]),
            *(["--resume", start.session or "latest"] if start.goes_on else []),
        ]

    def call(self, action: Action, project: Path) -> Call:
        if isinstance(action, Edit):
            changed = {"instruction": "change it", "old_string": action.old, "new_string": action.new}
            return Call("replace", {"file_path": str(project / action.file), **changed})
        assert not isinstance(action, Delegate | Reply), action
        return call(action, project)


def settings(authentication: str, **more: object) -> str:
    """Settings that keep it from asking its user or anybody else."""
    known = {
        "security": {"auth": {"selectedType": authentication}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "hooksConfig": {"enabled": True},
    }
    return json.dumps({**known, **more}, indent=2)


def with_server(settings: str, snapd: str) -> str:
    """Settings with snapd's MCP server."""
    server = {"command": snapd, "args": ["mcp"], "trust": True}
    return json.dumps({**json.loads(settings), "mcpServers": {"snapd": server}}, indent=2)


def call(action: Read | Write | Shell, project: Path) -> Call:
    """The call of a tool that Qwen Code has too."""
    if isinstance(action, Shell):
        background = {"is_background": True} if action.background else {}
        return Call("run_shell_command", {"command": action.command, "description": "run it", **background})
    file = str(project / action.file)
    if isinstance(action, Read):
        return Call("read_file", {"file_path": file})
    return Call("write_file", {"file_path": file, "content": action.text})
