"""What the harness has to know of an agent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import attrs

from tests.real_agents.model.script import Call
from tests.real_agents.scenarios.actions import Action
from tests.real_agents.scenarios.scenario import Way


@attrs.frozen
class Start:
    """How an agent is started.

    Attributes:
        prompt: of the user.
        goes_on: with the session before.
        denied: whatever it would ask the user for.
        way: as of the scenario.
        session: the one to go on with; None for the last one.
    """

    prompt: str
    goes_on: bool
    denied: bool
    way: Way
    session: str | None = None


class Agent(ABC):
    """One agent: its program, its settings and its tools.

    Attributes:
        name: as snapd names it; also of the folder in `packages` that says what to install.
        program: its path below the folder that it is installed in.
        most_mib: how much it may take there.
        reply: what its model calls the tool `reply` of snapd's MCP server.
        tools: for each kind of action that is a step, the tool that snapd records.
        abilities: what some agents can and others cannot; scenarios name what they need.
        asks: whether it tries what its user would have to allow; others do not offer the model such tools at all.
        stops: whether its turn is over when something is denied.
        parts_apart: whether a subagent has a session of its own, whose steps do not name the prompt.
    """

    name: ClassVar[str]
    program: ClassVar[str]
    most_mib: ClassVar[int]
    reply: ClassVar[str] = "mcp__snapd__reply"
    tools: ClassVar[Mapping[type[Action], str]]
    abilities: ClassVar[frozenset[str]] = frozenset()
    asks: ClassVar[bool] = True
    stops: ClassVar[bool] = False
    parts_apart: ClassVar[bool] = False

    def has_removed(self, home: Path, session: str) -> bool:
        """Whether it has removed a session of its user by itself."""
        del home, session
        return False

    def settings(self, home: Path, url: str) -> dict[str, str]:
        """What its user has in the home folder: the text of each file, by its path there.

        Args:
            home: of the user.
            url: of the model, without a path.
        """
        return {}

    @abstractmethod
    def with_tools(self, settings: dict[str, str], snapd: str) -> dict[str, str]:
        """Its settings, with snapd's MCP server among them; `snapd` is its program."""

    @abstractmethod
    def environment(self, home: Path, url: str) -> dict[str, str]:
        """The variables that point it at the model, and keep it from asking others."""

    def denying(self) -> dict[str, str]:
        """The variables that have it deny what it would ask the user for, where arguments do not."""
        return {}

    @abstractmethod
    def arguments(self, start: Start) -> list[str]:
        """Its arguments, without its user at a terminal."""

    @abstractmethod
    def call(self, action: Action, project: Path) -> Call:
        """The call of a tool that does something."""
