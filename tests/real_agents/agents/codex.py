"""Codex CLI."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tests.real_agents.model.script import Call
from tests.real_agents.scenarios.actions import Action, Edit, Read, Shell, Write

from .agent import Agent, Start

_CONFIG = """\
# the name decides which tools it has: an unknown model has no apply_patch
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "Scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
[analytics]
enabled = false
"""


_SERVER = """\
[mcp_servers.snapd]
command = "{snapd}"
args = ["mcp"]
env_vars = ["XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "SNAPD_DATA_DIR", "SNAPD_RUNTIME_DIR"]
"""


class Codex(Agent):
    """In `exec`; it has a shell and patches, and runs all calls of one answer at once."""

    name = "codex"
    program = "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
    most_mib = 450
    tools: ClassVar[Mapping[type[Action], str]] = {
        Read: "Bash",
        Write: "apply_patch",
        Edit: "apply_patch",
        Shell: "Bash",
    }

    abilities = frozenset({"run"})

    def settings(self, home: Path, url: str) -> dict[str, str]:
        return {".codex/config.toml": _CONFIG.format(url=url)}

    def with_tools(self, settings: dict[str, str], snapd: str) -> dict[str, str]:
        return {".codex/config.toml": settings[".codex/config.toml"] + _SERVER.format(snapd=snapd)}

    def environment(self, home: Path, url: str) -> dict[str, str]:
        return {"SCRIPTED_KEY": "dummy", "CODEX_HOME": str(home / ".codex")}

    def arguments(self, start: Start) -> list[str]:
        may = ["--sandbox", "read-only"] if start.denied else ["--dangerously-bypass-approvals-and-sandbox"]
        if start.way == "hooks":
            # hooks in its settings that its user has not looked at are left out without a word
            may.append("--dangerously-bypass-hook-trust")
        return ["exec", *may, *(["resume", start.session or "--last"] if start.goes_on else []), start.prompt]

    def call(self, action: Action, project: Path) -> Call:
        if isinstance(action, Write):
            return _patch(f"*** Add File: {action.file}", *_lines("+", action.text))
        if isinstance(action, Edit):
            changed = [*_lines("-", action.old), *_lines("+", action.new)]
            return _patch(f"*** Update File: {action.file}", "@@", *changed)
        if isinstance(action, Read):
            return Call("exec_command", {"cmd": f"cat {action.file}"})
        assert isinstance(action, Shell), action
        return Call("exec_command", {"cmd": action.command})


def _patch(*lines: str) -> Call:
    return Call("apply_patch", "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""]))


def _lines(sign: str, text: str) -> list[str]:
    return [sign + line for line in text.splitlines()]
