"""Gives an agent hooks for a single run, without an install, if it supports that.

Every way was tested with the real program. Gemini CLI 0.61.0 has none for unprivileged users: it reads settings beside
the user's own only from files of root.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from snapd.model.errors import SnapdError

from . import styles
from .status import HookInspector
from .switches import HookFile, codex_digest, codex_event, codex_has_hooks_off, find_switches_off
from .table import AGENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .table import Agent

_WITHOUT_HOOKS = {"claude": {"--safe-mode", "--bare"}, "codex": {"features.hooks=false", "features.codex_hooks=false"}}
"""Arguments that switch hooks off."""
_CODEX_KEY = "/<session-flags>/config.toml"
"""Codex's name for settings from the command line."""
_QWEN_VARIABLE = "QWEN_CODE_SYSTEM_DEFAULTS_PATH"
_QWEN_DEFAULTS = ("/etc/qwen-code/system-defaults.json", "/Library/Application Support/QwenCode/system-defaults.json")
_PI_PACKAGE = "/pi-coding-agent/"
_OPENCODE_VARIABLE = "OPENCODE_CONFIG_CONTENT"


@dataclass(frozen=True)
class OneRun:
    """A command whose agent reports what it does.

    `words` and `variables` add the hooks, unless they are `installed`; `scratch` is a directory with files until
    `close`.
    """

    agent: Agent
    words: list[str]
    variables: dict[str, str] = field(default_factory=dict)
    installed: bool = False
    scratch: str | None = None

    def close(self) -> None:
        """Removes the directory of the command's files."""
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)


def agent_of(words: list[str]) -> Agent | None:
    """The agent that a command starts, if it is a known one."""
    name = os.path.basename(words[0])
    return next((agent for agent in AGENTS.values() if name in (agent.programs or (agent.name,))), None)


def with_hooks(words: list[str], path: str, environment: Mapping[str, str], root: str) -> OneRun | None:
    """Gives the agent of a command hooks for this run; None if that is unknown or not supported. Raises `OSError`."""
    agent = agent_of(words)
    if agent is None or _WITHOUT_HOOKS.get(agent.name, set()).intersection(words):
        return None
    looking = HookInspector(path, environment, root)
    if looking.at(agent).working:
        return OneRun(agent, words, installed=True)
    way = _WAYS.get(agent.name)
    # a failing hook would record nothing
    if way is None or looking.failure(agent) is not None:
        return None
    return way(HookFile(agent, agent.files(environment)[0], environment, root), words, path)


def _claude(wired: HookFile, words: list[str], path: str) -> OneRun | None:
    # of several --settings, the last one counts
    if any(word.split("=")[0] == "--settings" for word in words) or any(True for _ in find_switches_off(wired)):
        return None
    settings = json.dumps({"hooks": styles.entries(wired.agent, path)}, ensure_ascii=False)
    return OneRun(wired.agent, [words[0], "--settings", settings, *words[1:]])


def _codex(wired: HookFile, words: list[str], path: str) -> OneRun | None:
    """Uses settings on the command line, which mark only snapd's own hooks as trusted."""
    try:
        if codex_has_hooks_off(wired.folder):
            return None
    except SnapdError:
        return None
    options: list[str] = []
    trusted = {}
    for event, groups in styles.entries(wired.agent, path).items():
        options += ["-c", f"hooks.{event}={_toml(groups)}"]
        for number, group in enumerate(groups):
            known = codex_event(event)
            digest = codex_digest(known, group.get("matcher"), group["hooks"][0])
            trusted[f"{_CODEX_KEY}:{known}:{number}:0"] = {"trusted_hash": digest}
    return OneRun(wired.agent, [words[0], *options, "-c", f"hooks.state={_toml(trusted)}", *words[1:]])


def _opencode(wired: HookFile, words: list[str], path: str) -> OneRun | None:
    try:
        config = json.loads(wired.environment.get(_OPENCODE_VARIABLE) or "{}")
        plugins = config.setdefault("plugin", [])
    except (ValueError, AttributeError):
        return None
    if not isinstance(plugins, list):
        return None
    scratch, plugin = _scratch("snapd.js", styles.whole(wired.agent, path))
    plugins.append(f"file://{plugin}")
    return OneRun(wired.agent, words, {_OPENCODE_VARIABLE: json.dumps(config)}, scratch=scratch)


def _pi(wired: HookFile, words: list[str], path: str) -> OneRun | None:
    program = shutil.which(words[0], path=wired.environment.get("PATH"))
    # another program of this short name may not support the option
    if program is None or _PI_PACKAGE not in os.path.realpath(program):
        return None
    scratch, extension = _scratch("snapd.ts", styles.whole(wired.agent, path))
    return OneRun(wired.agent, [words[0], "--extension", extension, *words[1:]], scratch=scratch)


def _qwen(wired: HookFile, words: list[str], path: str) -> OneRun | None:
    if wired.environment.get(_QWEN_VARIABLE) or any(map(os.path.exists, _QWEN_DEFAULTS)):
        return None
    if any(True for _ in find_switches_off(wired)):
        return None
    scratch, defaults = _scratch("settings.json", json.dumps({"hooks": styles.entries(wired.agent, path)}))
    return OneRun(wired.agent, words, {_QWEN_VARIABLE: defaults}, scratch=scratch)


_WAYS: dict[str, Callable[[HookFile, list[str], str], OneRun | None]] = {
    "claude": _claude,
    "codex": _codex,
    "opencode": _opencode,
    "pi": _pi,
    "qwen": _qwen,
}


def _scratch(name: str, text: str) -> tuple[str, str]:
    """Writes a file into a new directory; returns the paths of both."""
    directory = tempfile.mkdtemp(prefix="snapd-run-")
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return directory, path


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {_toml(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    # a JSON string is a TOML string once DEL is escaped
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
