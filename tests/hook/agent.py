"""An agent that reports its events to `snapd hook`, and what the daemon knows of it."""

from __future__ import annotations

import json
import os
from typing import Any

import attrs
from snapd_client import Client

from tests.cli.running import Home


def _names(files: list[dict[str, Any]]) -> list[str]:
    """A file that was moved has two names."""
    return [name for file in files for name in (file.get("renamedFrom"), file["file"]) if name]


@attrs.frozen
class Done:
    """A step of the timeline, by the agent's own names."""

    part: str | None
    parent: str | None
    message: str | None
    tool: str | None
    files: tuple[str, ...] | None
    state: str


class Agent:
    """One that works in a folder of its own; its events are Claude's where nothing else is said."""

    def __init__(self, home: Home, root: str) -> None:
        self.home = home
        self.root = root
        self.variables: dict[str, str] = {}
        self.in_process = True

    def report(self, event: dict[str, Any] | bytes, *arguments: str) -> Any:
        """Reports an event; gives what the hook prints, None for nothing."""
        data = event if isinstance(event, bytes) else json.dumps(event).encode()
        run = self.home.run if self.in_process else self.home.run_process
        found = run(self.root, "hook", *arguments, stdin=data, env=self.variables)
        assert (found.code, found.err) == (0, ""), found
        return json.loads(found.out) if found.out else None

    def on(self, name: str, **fields: Any) -> Any:
        return self.report({"hook_event_name": name, "session_id": "S", "prompt_id": "P", "cwd": self.root, **fields})

    def begin(self, call: str, tool: str, **given: Any) -> Any:
        return self.on("PreToolUse", tool_name=tool, tool_input=given, tool_use_id=call)

    def end(self, call: str, tool: str, **given: Any) -> Any:
        return self.on("PostToolUse", tool_name=tool, tool_input=given, tool_response={}, tool_use_id=call)

    def edit(self, call: str, name: str, text: str) -> Any:
        """A whole call of an edit; gives what was said at its end."""
        self.begin(call, "Edit", file_path=self.path(name))
        self.write(name, text)
        return self.end(call, "Edit", file_path=self.path(name))

    def path(self, name: str) -> str:
        return os.path.join(self.root, name)

    def write(self, name: str, text: str) -> None:
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def ask(self, *arguments: str) -> Any:
        return self.home.run(self.root, *arguments, "--json").json

    def entries(self) -> list[dict[str, Any]]:
        """The history, oldest first; `snapd log` leaves some of it out."""
        with Client.connect(self.home.at("run/daemon.sock"), timeout=60) as client:
            client.initialize([self.root])
            return list(client.session_history_all(renames=True))[::-1]

    def steps(self) -> list[Done]:
        """The steps, oldest first."""
        steps = [entry["step"] for entry in self.entries() if entry["kind"] == "step"]
        parts = {step["stepId"]: step.get("partId") for step in steps}
        return [
            Done(
                step.get("partId"),
                parts.get(step.get("parentStepId")),
                step.get("messageId"),
                step.get("tool"),
                tuple(_names(step["files"])) if "files" in step else None,
                step["state"],
            )
            for step in steps
        ]

    def of_the_user(self) -> set[str]:
        return {file["file"] for entry in self.entries() if entry["kind"] == "user" for file in entry["files"]}

    def waiting(self) -> list[str]:
        """The events that could not be recorded yet."""
        spool = self.home.at("data/snapd/agents/spool")
        return sorted(os.listdir(spool)) if os.path.isdir(spool) else []

    def log(self) -> str:
        """What hooks passed over."""
        try:
            with open(self.home.at("run/hook.log"), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""
