"""The format of each agent's hooks, and how to recognize those of snapd."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from snapd.model.errors import InvalidParams

from .jsonc import Array, Object, Value, parse, plain

if TYPE_CHECKING:
    from .table import Agent

SECONDS = 10
"""The time limit of a hook, for agents that have one; `snapd hook` gives up long before."""
_SCRIPT_MARK = "# snapd: 'snapd agent install' wrote this, 'snapd agent uninstall' removes it"
_PLUGIN_MARK = "// snapd: "
"""The beginning of the line that marks a plugin as snapd's."""
_PLUGIN_PROGRAM = 'const PROGRAM = "snapd"'
"""The line of a plugin that an install fills in."""
_COMMANDS = ("command", "bash")


def entries(agent: Agent, path: str) -> dict[str, list[Any]]:
    """The entries by event for the `hooks` of an agent's JSON settings; `path` is that of the snapd program."""
    command = hook_command(path, agent.called)
    return {event: [_entry(agent, event, tools, command)] for event, tools in agent.events.items()}


def _entry(agent: Agent, event: str, tools: str | None, command: str) -> dict[str, Any]:
    matcher = {} if tools is None else {"matcher": tools}
    seconds = (agent.limits or {}).get(event, SECONDS)
    limit = {"timeout": seconds * agent.per_second} if agent.per_second else {}
    if agent.style == "nested":
        return {**matcher, "hooks": [{"type": "command", "command": command, **limit}]}
    if agent.style == "copilot":
        return {**matcher, "type": "command", "bash": command, "timeoutSec": seconds}
    return {**matcher, "command": command, **limit}


def is_own_hook(value: object) -> bool:
    """Whether a value in `hooks` is a hook of snapd."""
    return isinstance(value, Value) and any(program_of(command) is not None for command in _command_lines(value))


def programs(text: str) -> set[str]:
    """The snapd programs that the hooks in some settings run."""
    matches = set()
    for _, hooks in _events(text):
        for hook in hooks.items:
            for value in (hook, *_inner(hook)):
                matches |= {path for line in _command_lines(value) if (path := program_of(line)) is not None}
    return matches


def are_complete(text: str, agent: Agent, path: str) -> bool:
    """Whether settings have exactly the hooks that an install writes."""
    ours: dict[str, list[Any]] = {}
    for event, hooks in _events(text):
        for hook in hooks.items:
            if is_own_hook(hook) or any(map(is_own_hook, _inner(hook))):
                ours.setdefault(event, []).append(plain(hook))
    root = parse(text)
    return (
        ours == entries(agent, path)
        and isinstance(root, Object)
        and all(root.get(name) is not None for name in agent.members or {})
    )


def _events(text: str) -> list[tuple[str, Array]]:
    root = parse(text)
    hooks = root.get("hooks") if isinstance(root, Object) else None
    if not isinstance(hooks, Object):
        return []
    return [(member.name, member.value) for member in hooks.members if isinstance(member.value, Array)]


def _inner(hook: Value) -> list[Value]:
    inner = hook.get("hooks") if isinstance(hook, Object) else None
    return inner.items if isinstance(inner, Array) else []


def _command_lines(hook: Value) -> list[Any]:
    return [plain(hook.get(name)) for name in _COMMANDS] if isinstance(hook, Object) else []


def text_of(data: bytes) -> str:
    """Decodes a file. Raises `InvalidParams` if it is not text."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidParams(
            f"byte {error.start + 1}: this is not UTF-8 text",
            hint="write the file anew as UTF-8 and try again; nothing was changed",
            field="NAME",
        ) from error


def whole(agent: Agent, path: str) -> str:
    """The text of a file that belongs to snapd alone: an executable or a plugin."""
    if agent.style == "plugin":
        return _plugin(agent.name).replace(_PLUGIN_PROGRAM, f"const PROGRAM = {_quoted(path)}", 1)
    # Cline always expects an answer
    return (
        f"#!/bin/sh\n{_SCRIPT_MARK}\nsaid=$({hook_command(path, agent.name)})\n"
        """if [ -n "$said" ]; then printf '%s\\n' "$said"; else echo '{"cancel": false}'; fi\n"""
    )


def is_own_file(text: str) -> bool:
    """Whether `whole` made this file, in this or another version of snapd."""
    lines = text.splitlines()[:3]
    return any(line == _SCRIPT_MARK or line.startswith(_PLUGIN_MARK) for line in lines)


def program_of_own_file(text: str) -> str | None:
    """The snapd program that such a file runs, if it names one."""
    for line in text.splitlines():
        if line.startswith("const PROGRAM = "):
            value = plain(parse(line.removeprefix("const PROGRAM = ")))
            return value if isinstance(value, str) else None
        if line.startswith("said=$("):
            return program_of(line.removeprefix("said=$(").removesuffix(")"))
    return None


def _quoted(text: str) -> str:
    import json

    return json.dumps(text)


@cache
def _plugin(name: str) -> str:
    """The plugin that snapd ships for an agent."""
    here = os.path.dirname(os.path.abspath(__file__))
    file = {"opencode": "snapd.js"}.get(name, "snapd.ts")
    # the second is its place in a checkout
    places = [os.path.join(here, "plugins", name, file), os.path.join(here, "..", "..", "clients", name, file)]
    place = next((place for place in places if os.path.exists(place)), places[0])
    with open(place, encoding="utf-8") as source:
        return source.read()


def program() -> str:
    """The absolute path of this process's `snapd`: that on the PATH if it is the same, as it survives a reinstall."""
    started = os.path.abspath(sys.argv[0])
    if os.path.basename(started) != "snapd" or not os.access(started, os.X_OK):
        # run as a module, by another program, or under another name: prefer a link to it
        started = os.path.join(os.path.dirname(sys.executable), "snapd")
        link = os.path.abspath(os.path.join(os.path.dirname(sys.executable), "..", "..", "snapd"))
        if os.path.islink(link) and os.path.realpath(link) == os.path.realpath(started):
            return link
    on_path = shutil.which("snapd")
    if on_path is not None and (os.path.realpath(on_path) == os.path.realpath(started) or not os.path.exists(started)):
        return os.path.abspath(on_path)
    return started


def hook_command(path: str, called: str) -> str:
    """The shell command line of a hook, silent if the program is gone; `called` is the agent's name, or empty."""
    quoted = shlex.quote(path)
    return f"! command -v {quoted} >/dev/null || exec {quoted} hook {called}".rstrip()


def program_of(command: object) -> str | None:
    """The program in the command line of a hook of snapd; None for other commands."""
    if not isinstance(command, str) or "hook" not in command:
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    # earlier versions wrote only the following part
    words = words[words.index("exec") + 1 :] if "exec" in words else words
    if len(words) in (2, 3) and os.path.basename(words[0]) == "snapd" and words[1] == "hook":
        return words[0]
    return None
