"""snapd, under each of the agents: its hooks are installed, and `snapd undo` takes back.

The runner needs snapd for this module alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

from tests.real_agents.agents.agent import Start
from tests.real_agents.agents.claude import Claude
from tests.real_agents.agents.codex import Codex
from tests.real_agents.agents.gemini import Gemini
from tests.real_agents.agents.opencode import OpenCode
from tests.real_agents.agents.qwen import Qwen
from tests.yardstick.place import LIMIT, end_group
from tests.yardstick.scenario import Redo, Turn, Undo

from .agent import AgentProduct
from .gemini import beside
from .product import Gate, Refused

_SNAPD = str(Path(sys.executable).with_name("snapd"))


class Snapd(AgentProduct):
    """The agent runs without a terminal, once for each turn."""

    undo_with = "`snapd undo --message`, `snapd redo --all`"
    stores = ("data",)
    excluded: ClassVar[dict[str, str]] = {
        "ignored": "docs/undo.md",
        "during-command": "docs/several-agents.md",
    }

    @classmethod
    def install(cls, cache: Path) -> str:
        from importlib.metadata import version

        return f"{version('snapd')} with {cls.agent.name} {super().install(cache)}"

    def open(self) -> None:
        self.place.environment |= {
            "SNAPD_DATA_DIR": str(self.place.above / "data"),
            "SNAPD_RUNTIME_DIR": str(self.place.above / "run"),
            "SNAPD_HOOK_SECONDS": "30",  # so that a busy machine does not change a result
        }
        super().open()
        self._messages: dict[int, str] = {}
        self._sessions: dict[str, str] = {}
        self._run("agent", "install", self.agent.name)

    def turn(self, turn: Turn, gate: Gate) -> None:
        self.prepare(turn, gate)
        session = self._sessions.get(turn.session)
        start = Start(turn.prompt, session is not None, False, "hooks", session)
        self._agent = subprocess.Popen(
            [self.agent.name, *self.arguments(start)],
            cwd=self.place.start,
            env=self.place.environment,
            stdin=subprocess.DEVNULL,
            stdout=(self.place.above / "run" / f"turn-{turn.number}").open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        )
        try:
            self._agent.wait(LIMIT)
        finally:
            end_group(self._agent)
        for entry in json.loads(self._run("log", "--json", "-n", "0"))["entries"]:
            if entry.get("text") == turn.prompt:
                self._messages[turn.number] = entry["messageId"]
                self._sessions[turn.session] = entry["sessionId"]

    def arguments(self, start: Start) -> list[str]:
        """The agent's, so that it asks for nothing."""
        return self.agent.arguments(start)

    def kill(self) -> None:
        end_group(self._agent)

    def _run(self, *arguments: str) -> str:
        done = self.place.run([_SNAPD, *arguments])
        if done.returncode:
            raise Refused(done.stderr + done.stdout)
        return done.stdout

    def restart(self) -> None:
        self._run("stop")

    def undo(self, undo: Undo) -> None:
        words = []
        for turn in reversed(self.chosen(undo)):
            if turn.number not in self._messages:
                raise Refused("the turn is not in its log")
            try:
                told = self._run("undo", "--message", self._messages[turn.number], "--yes")
                words += [line for line in told.splitlines() if line.startswith("not in snapshots")]
            except Refused as refused:
                words.append(str(refused))
        if words:
            raise Refused(" ".join(words))

    def redo(self, redo: Redo) -> None:
        self._run("redo", "--all", "--session", self._sessions[redo.session], "--yes")

    def close(self) -> None:
        if (self.place.above / "run" / "daemon.sock").exists():
            self.place.run([_SNAPD, "stop"])
        super().close()


class SnapdClaude(Snapd):
    """Under Claude Code."""

    name = "snapd-claude"
    title = "snapd, Claude Code"
    agent = Claude()

    def open(self) -> None:
        self.place.environment["IS_SANDBOX"] = "1"
        super().open()

    def arguments(self, start: Start) -> list[str]:
        # some commands are asked for even where all are allowed
        may = ["--permission-mode", "bypassPermissions"]
        return ["--print", start.prompt, *(["--resume", start.session] if start.session else []), *may]


class SnapdCodex(Snapd):
    """Under Codex."""

    name = "snapd-codex"
    title = "snapd, Codex"
    agent = Codex()


class SnapdOpenCode(Snapd):
    """Under OpenCode."""

    name = "snapd-opencode"
    title = "snapd, OpenCode"
    agent = OpenCode()


class SnapdGemini(Snapd):
    """Under Gemini CLI."""

    name = "snapd-gemini"
    title = "snapd, Gemini CLI"
    agent = Gemini()

    def arguments(self, start: Start) -> list[str]:
        return [*super().arguments(start), *beside(self.place)]


class SnapdQwen(SnapdGemini):
    """Under Qwen Code."""

    name = "snapd-qwen"
    title = "snapd, Qwen Code"
    agent = Qwen()
