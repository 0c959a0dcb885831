"""Codex, whose undo was removed: `codex features list` says so, and there is nothing else to drive."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.real_agents.agents.codex import Codex
from tests.yardstick.scenario import Turn, Undo

from .agent import AgentProduct
from .product import Gate, NotOffered


class CodexCli(AgentProduct):
    """It is asked for what it has, and does not work at all."""

    name = "codex"
    title = "Codex"
    undo_with = "nothing: its undo was removed"
    agent = Codex()
    _says = ""

    @classmethod
    def install(cls, cache: Path) -> str:
        version = super().install(cache)
        command = [str(cls.program), "features", "list"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        cls._says = " ".join(next(line for line in done.stdout.splitlines() if line.startswith("undo ")).split())
        return version

    def turn(self, turn: Turn, gate: Gate) -> None:
        raise NotOffered(f"an undo; `codex features list`: {self._says}")

    def undo(self, undo: Undo) -> None:
        raise NotOffered("an undo")
