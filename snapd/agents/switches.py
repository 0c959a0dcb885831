"""Finds settings of an agent that keep installed hooks from running."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from snapd.model.errors import InvalidParams, SnapdError

from .jsonc import Array, Object, parse, plain
from .settings_file import read
from .styles import is_own_hook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .table import Agent

Wrong = tuple[str, str]
"""A problem and how to fix it."""

_MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
    "linux": "/etc/claude-code/managed-settings.json",
}
_CODEX_DEFAULT_SECONDS = 600
_CODEX_LONGEST = {"session_end": 3}
"""Codex limits the timeouts of these events."""


@dataclass(frozen=True)
class HookFile:
    """A file with hooks of snapd; `root` is the project."""

    agent: Agent
    file: str
    environment: Mapping[str, str]
    root: str

    @property
    def folder(self) -> str:
        """The folder of the agent's user settings."""
        return self.agent.folder.path(self.environment)

    @property
    def files(self) -> list[str]:
        """The agent's hook files of the user and the project."""
        return [*self.agent.files(self.environment), *self.agent.files(self.environment, self.root)]


def enabling_plugin(wired: HookFile) -> str | None:
    """The settings that enable snapd's plugin with the same hooks, which only Claude Code has; None if none do."""
    if wired.agent.name != "claude":
        return None
    for place in [*wired.files, _claude_local(wired)]:
        enabled = _settings(place).get("enabledPlugins")
        if isinstance(enabled, dict) and any(name.startswith("snapd@") and on is True for name, on in enabled.items()):
            return place
    return None


def find_switches_off(wired: HookFile) -> Iterator[Wrong]:
    """Finds what keeps the hooks in a file from running."""
    check = _CHECKS.get(wired.agent.name)
    if check is not None:
        yield from check(wired)


def codex_digest(event: str, matcher: str | None, hook: Mapping[str, Any]) -> str:
    """The digest that Codex 0.169.0 stores for a hook that the user trusts; `event` is in snake_case."""
    seconds = hook.get("timeout", _CODEX_DEFAULT_SECONDS)
    handler = {
        "type": "command",
        "async": hook.get("async", False),
        "command": hook["command"],
        "timeout": min(seconds, _CODEX_LONGEST.get(event, seconds)),
    }
    identity = {"event_name": event, "hooks": [handler], **({"matcher": matcher} if matcher else {})}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def codex_event(name: str) -> str:
    """Codex's name of an event in hook names."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def codex_has_hooks_off(folder: str) -> bool:
    """Whether Codex settings in a folder disable all hooks. Raises `SnapdError` if they are broken or unreadable."""
    features = _toml(os.path.join(folder, "config.toml")).get("features")
    return isinstance(features, dict) and features.get("hooks", features.get("codex_hooks")) is False


def _claude(wired: HookFile) -> Iterator[Wrong]:
    managed = _MANAGED.get(sys.platform)
    for place in [*wired.files, _claude_local(wired), *filter(None, [managed])]:
        settings = _settings(place)
        if settings.get("disableAllHooks") is True:
            yield f"{place} says disableAllHooks", "set disableAllHooks to false there"
        if place == managed and settings.get("allowManagedHooksOnly") is True:
            yield f"{place} says allowManagedHooksOnly", "ask whoever manages this machine to allow snapd's hooks"


def _claude_local(wired: HookFile) -> str:
    return os.path.join(wired.root, ".claude", "settings.local.json")


def _gemini(wired: HookFile) -> Iterator[Wrong]:
    for place in wired.files:
        config = _settings(place).get("hooksConfig")
        if not isinstance(config, dict):
            continue
        if config.get("enabled") is False:
            yield f"{place} has hooks switched off", "set hooksConfig.enabled to true there"
        disabled = config.get("disabled")
        if isinstance(disabled, list) and any("snapd hook" in str(name) for name in disabled):
            yield f"{place} has snapd's hook disabled", "take it out of hooksConfig.disabled there"


def _disable_all(*names: str) -> Callable[[HookFile], Iterator[Wrong]]:
    """Finds `disableAllHooks` in the file itself and in these files of the agent's folder."""

    def check(wired: HookFile) -> Iterator[Wrong]:
        for place in dict.fromkeys([wired.file, *(os.path.join(wired.folder, name) for name in names)]):
            if _settings(place).get("disableAllHooks") is True:
                yield f"{place} says disableAllHooks", "set disableAllHooks to false there"

    return check


def _codex(wired: HookFile) -> Iterator[Wrong]:
    place = os.path.join(wired.folder, "config.toml")
    try:
        config = _toml(place)
    except SnapdError as error:
        yield error.message, error.hint
        return
    if codex_has_hooks_off(wired.folder):
        yield f"{place} has the feature hooks switched off", "set features.hooks to true there"
    if wired.file not in wired.agent.files(wired.environment):
        projects = config.get("projects")
        project = projects.get(wired.root) if isinstance(projects, dict) else None
        if not isinstance(project, dict) or project.get("trust_level") != "trusted":
            yield "Codex does not trust this project, so it leaves out its hooks", "start codex here and trust it"
    hooks = config.get("hooks")
    state = hooks.get("state") if isinstance(hooks, dict) else None
    untrusted = off = 0
    for key, digest in codex_hooks(wired.file):
        known = state.get(key) if isinstance(state, dict) else None
        known = known if isinstance(known, dict) else {}
        untrusted += known.get("trusted_hash") != digest
        off += known.get("enabled") is False
    if untrusted:
        text = "1 hook is" if untrusted == 1 else f"{untrusted} hooks are"
        yield f"{text} not trusted, so Codex silently ignores them", "start codex, enter /hooks, trust them"
    if off:
        yield "hooks are switched off in Codex", "start codex, enter /hooks, and switch them on"


def codex_hooks(file: str) -> Iterator[tuple[str, str]]:
    """For each hook of snapd in a file: Codex's name of it, and the digest that Codex would trust.

    As in Codex 0.169.0. `codex app-server` reports both by `hooks/list`, but writes databases into its folder.
    """
    data = read(file)
    root = None if data is None else parse(data.decode("utf-8"))
    events = root.get("hooks") if isinstance(root, Object) else None
    for member in events.members if isinstance(events, Object) else ():
        event = codex_event(member.name)
        for number, group in enumerate(member.value.items if isinstance(member.value, Array) else ()):
            inner = group.get("hooks") if isinstance(group, Object) else None
            for place, hook in enumerate(inner.items if isinstance(inner, Array) else ()):
                if is_own_hook(hook):
                    yield (
                        f"{os.path.realpath(file)}:{event}:{number}:{place}",
                        codex_digest(event, plain(group).get("matcher"), plain(hook)),
                    )


_CHECKS: dict[str, Callable[[HookFile], Iterator[Wrong]]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "qwen": _disable_all("settings.json"),
    "continue": _disable_all("settings.json"),
    "droid": _disable_all("settings.json"),
    "copilot": _disable_all("config.json", "settings.json"),
}


def _settings(path: str) -> dict[str, Any]:
    """The settings in a JSON file; empty if it is missing or unreadable, which the agent itself reports."""
    try:
        data = read(path)
        result = None if data is None else plain(parse(data.decode("utf-8")))
    except (SnapdError, UnicodeDecodeError):
        return {}
    return result if isinstance(result, dict) else {}


def _toml(path: str) -> dict[str, Any]:
    import tomllib

    data = read(path)
    try:
        return {} if data is None else tomllib.loads(data.decode("utf-8"))
    except ValueError as error:
        raise InvalidParams(f"{path}: {error}", hint="correct the file and try again", field="NAME") from error
