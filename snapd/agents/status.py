"""Reports which agents are on this machine, which have snapd's hooks, and whether these work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from snapd.model.errors import SnapdError

from . import styles
from .jsonc import parse
from .settings_file import read
from .styles import hook_command
from .switches import HookFile, Wrong, enabling_plugin, find_switches_off

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .table import Agent

_SECONDS = 10.0
_HARMLESS = {"hook_event_name": "SnapdStatus", "session_id": "snapd-agent-status"}
"""An event that no agent has, so that it has no effect."""


@dataclass(frozen=True)
class State:
    """The state of one agent's hooks.

    `found` is whether it is on this machine; `scopes` are `user`, `project` and `plugin`; `settings` is the file with
    the hooks, or that of an install; `problem` is None if none is known.
    """

    agent: Agent
    found: bool
    scopes: list[str] = field(default_factory=list)
    settings: str = ""
    problem: str | None = None
    hint: str | None = None

    @property
    def working(self) -> bool:
        """Whether it has hooks without a known problem."""
        return bool(self.scopes) and self.problem is None


class HookInspector:
    """Inspects agents; `path` is that of the snapd program, `root` the project."""

    def __init__(self, path: str, environment: Mapping[str, str], root: str) -> None:
        self._path = path
        self._environment = environment
        self._root = root
        self._tried: dict[str, str | None] = {}

    def at(self, agent: Agent) -> State:
        """Inspects one agent."""
        files = {"user": agent.files(self._environment), "project": agent.files(self._environment, self._root)}
        scopes: list[str] = []
        places: list[str] = []
        problems: list[Wrong] = []
        for scope, each in files.items():
            having = []
            for file in each:
                try:
                    if self._has_hooks(agent, file):
                        having.append(file)
                except SnapdError as error:
                    problems.append((_format_state(file, error), error.hint))
            if having:
                scopes.append(scope)
                places += having
                problems += self._problems(agent, each)
        plugin = HookFile(agent, files["user"][0], self._environment, self._root)
        enabling = enabling_plugin(plugin)
        if enabling is not None:
            scopes.append("plugin")
            places.append(enabling)
            problems += self._plugin_problem(plugin)
        return State(
            agent=agent,
            found=agent.is_present(self._environment),
            scopes=scopes,
            settings=(places or files["user"])[0],
            problem="; ".join(dict.fromkeys(text for text, _ in problems)) or None,
            hint="; ".join(dict.fromkeys(hint for _, hint in problems)) or None,
        )

    def failure(self, agent: Agent) -> str | None:
        """What an agent's hook does wrong with an event that it should ignore; None if nothing."""
        return self._failure(hook_command(self._path, agent.called))

    def _has_hooks(self, agent: Agent, file: str) -> bool:
        text = _text(file)
        if text is None:
            return False
        if agent.style in ("executables", "plugin"):
            return styles.is_own_file(text)
        parse(text)
        return bool(styles.programs(text))

    def _problems(self, agent: Agent, files: list[str]) -> Iterator[Wrong]:
        """The problems of the hooks in the files of one scope, some of which may have none."""
        anew = f"run 'snapd agent install {agent.name}'"
        for file in files:
            try:
                text = _text(file)
                wanted = self._is_installed(agent, text)
                used = self._programs(agent, text)
            except SnapdError as error:
                yield _format_state(file, error), error.hint
                continue
            for path in sorted(used):
                if not os.access(path, os.X_OK):
                    yield f"{file} names {path}, which is not there", anew
                elif os.path.realpath(path) != os.path.realpath(self._path):
                    yield f"{file} names {path}, which is another snapd than this one", anew
            if not wanted and used <= {self._path}:
                yield f"{file} does not have all of the hooks of this version", anew
            yield from find_switches_off(HookFile(agent, file, self._environment, self._root))
            for path in sorted(used):
                failure = self._failure(hook_command(path, agent.called)) if os.access(path, os.X_OK) else None
                if failure is not None:
                    yield failure, "'snapd doctor' checks this installation"

    def _plugin_problem(self, plugin: HookFile) -> Iterator[Wrong]:
        if shutil.which("snapd", path=self._environment.get("PATH")) is None:
            yield "the plugin runs 'snapd', which is not on the PATH", "put the directory of snapd on the PATH"
        else:
            failure = self._failure("snapd hook")
            if failure is not None:
                yield failure, "'snapd doctor' checks this installation"
        yield from find_switches_off(plugin)

    def _is_installed(self, agent: Agent, text: str | None) -> bool:
        if text is None:
            return False
        if agent.style in ("executables", "plugin"):
            return text == styles.whole(agent, self._path)
        return styles.are_complete(text, agent, self._path)

    def _programs(self, agent: Agent, text: str | None) -> set[str]:
        if text is None:
            return set()
        if agent.style in ("executables", "plugin"):
            path = styles.program_of_own_file(text) if styles.is_own_file(text) else None
            return set() if path is None else {path}
        return styles.programs(text)

    def _failure(self, command: str) -> str | None:
        if command not in self._tried:
            self._tried[command] = _failure(command, self._root)
        return self._tried[command]


def _failure(command: str, root: str) -> str | None:
    event = json.dumps({**_HARMLESS, "cwd": root})
    try:
        # by a shell, as agents do
        done = subprocess.run(
            ["/bin/sh", "-c", command], input=event, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"'{command}' did not end within {_SECONDS:g} seconds"
    except OSError as error:
        return f"'{command}' cannot be run: {error.strerror}"
    if done.returncode != 0:
        parts = done.stderr.strip().splitlines()
        return f"'{command}' ends with exit code {done.returncode}" + (f": {parts[-1]}" if parts else "")
    return f"'{command}' prints something where nothing happened" if done.stdout.strip() else None


def _text(file: str) -> str | None:
    data = read(file)
    return None if data is None else styles.text_of(data)


def _format_state(file: str, error: SnapdError) -> str:
    return error.message if file in error.message else f"{file}: {error.message}"
