"""What real agents have in common here: they are installed once, and work for a scripted model (tests/real_agents)."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

from tests.real_agents import install
from tests.real_agents.agents.agent import Agent
from tests.real_agents.agents.codex import Codex
from tests.real_agents.model import script
from tests.real_agents.model.server import Model, running
from tests.real_agents.scenarios.actions import Action, Edit, Read, Shell, Write
from tests.yardstick.place import Place
from tests.yardstick.scenario import Scenario, Turn, Words, path_bytes

from .product import Gate, Product

PACKAGES = Path(__file__).parents[1] / "packages"
"""What npm installs of agents that `tests/real_agents` does not have: versions and hashes."""


class AgentProduct(Product):
    """A product whose undo belongs to an agent, or works beside one.

    Attributes:
        agent: as `tests/real_agents` knows it.
    """

    agent: ClassVar[Agent]
    program: ClassVar[Path]
    model: Model

    def __init__(self, place: Place, scenario: Scenario) -> None:
        super().__init__(place, scenario)
        self.until = ExitStack()

    @classmethod
    def install(cls, cache: Path) -> str:
        ours = PACKAGES if (PACKAGES / cls.agent.name).is_dir() else None
        cls.program = install.install(cls.agent, cache, ours) / cls.agent.program
        return install.version(cls.agent, ours)

    def open(self) -> None:
        self.model = self.until.enter_context(running())
        (self.place.above / "bin" / self.agent.name).symlink_to(self.program)
        for name, text in self.settings().items():
            path = self.place.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.place.environment.update(self.agent.environment(self.place.home, self.model.url))

    def settings(self) -> dict[str, str]:
        """What its user has in the home folder: the text of each file, by its path there."""
        return self.agent.settings(self.place.home, self.model.url)

    def close(self) -> None:
        self.until.close()

    def prepare(self, turn: Turn, gate: Gate) -> None:
        """Has the model know what to say in a turn."""
        answers: list[script.Turn] = []
        waits = False
        for call in turn.calls:
            if call[0] == "pause":
                waits = True
                continue
            for action in self.actions(call, gate):
                files = ((gate.reached,), (gate.passed,)) if waits else ((), ())
                answers.append(script.Turn("Well.", (self.agent.call(action, self.place.project),), *files))
                waits = False
        files = ((gate.reached,), (gate.passed,)) if waits else ((), ())
        answers.append(script.Turn(turn.answer, (), *files))
        self.model.script = (*self.model.script, script.Conversation(turn.prompt, tuple(answers)))

    def actions(self, call: Words, gate: Gate) -> list[Action]:
        """A call of a scenario, as the agent's tools do it: most of them want to have read what they change."""
        what, *words = call
        if what == "hold":
            return [Shell(gate.command)]
        if what == "shell":
            return [Shell(words[0])]
        file = os.fsdecode(path_bytes(words[0]))
        # Codex names files from where it was started
        is_codex = isinstance(self.agent, Codex)
        named = os.path.relpath(self.place.project / file, self.place.start) if is_codex else file
        if what == "write":
            return [Write(named, words[1])]
        change = Edit(named, words[1], words[2]) if what == "edit" else Write(named, words[1])
        return [change] if is_codex else [Read(named), change]

    def has_finished(self, turn: Turn) -> bool:
        """Whether the model has said its last in a turn."""
        said = [each.said for each in self.model.asked if each.said is not None]
        return any(each.opening == turn.prompt and each.turn.text == turn.answer for each in said)
