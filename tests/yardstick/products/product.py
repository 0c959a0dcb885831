"""What a product has to do to be measured. See README.md for how to write one."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

from tests.yardstick.place import LIMIT, Place
from tests.yardstick.scenario import Redo, Scenario, Turn, Undo


class NotOffered(Exception):
    """The product has nothing that does this; says what."""


class Refused(Exception):
    """The product says that it does not do this, or not all of it; has its words."""


class Hung(Exception):
    """The product did not come to an end in time; says with what."""


class Gate:
    """Where a turn waits for the person: `reached` appears first, then the agent waits for `passed`.

    Attributes:
        reached: made by the agent or by its model.
        passed: made by the runner.
    """

    def __init__(self, folder: Path, turn: Turn) -> None:
        self.reached = folder / f"reached-{turn.number}"
        self.passed = folder / f"passed-{turn.number}"

    @property
    def command(self) -> str:
        """Waits here, in a shell."""
        return f"touch {self.reached}; until [ -e {self.passed} ]; do sleep 0.05; done"


class Product(ABC):
    """One product, in one place.

    Attributes:
        name: for `PRODUCT`.
        title: for the table.
        undo_with: what the person does to take something back.
        own: names at the top of the project that the product itself makes.
        stores: where it keeps what it needs for the undo, as patterns below the place.
        excluded: tags of scenarios that its documents exclude, with the address of the page that says so.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    undo_with: ClassVar[str]
    own: ClassVar[tuple[str, ...]] = ()
    stores: ClassVar[tuple[str, ...]] = ()
    excluded: ClassVar[Mapping[str, str]] = {}

    def __init__(self, place: Place, scenario: Scenario) -> None:
        self.place = place
        self.scenario = scenario
        # turns that are done and not taken back, oldest first; the runner keeps it
        self.done: list[Turn] = []
        self._size_before = place.size_of(*self.stores)

    @classmethod
    def install(cls, cache: Path) -> str:  # noqa: ARG003 - some have nothing to install
        """Installs it into a cache, where it is not there; gives its version."""
        return ""

    @abstractmethod
    def open(self) -> None:
        """Starts it in the place, before the first act."""

    @abstractmethod
    def turn(self, turn: Turn, gate: Gate) -> None:
        """Has the agent do one turn, to its end, or to that of the agent if it is killed."""

    def kill(self) -> None:
        """Kills the agent in the middle of a turn, from another thread."""
        raise NotOffered("a kill")

    def restart(self) -> None:  # noqa: B027 - some have nothing to start again
        """Ends it, and starts it again with the same sessions."""

    @abstractmethod
    def undo(self, undo: Undo) -> None:
        """Takes something back.

        Raises:
            NotOffered: it has no such undo.
            Refused: it says that it does not.
        """

    def redo(self, redo: Redo) -> None:
        """Has what was taken back last done again; raises as `undo` does."""
        raise NotOffered("a redo")

    def chosen(self, undo: Undo) -> list[Turn]:
        """The turns that an undo is about, oldest first."""
        turns = [turn for turn in self.done if turn.session == undo.session]
        if undo.way == "last":
            turns = turns[-1:]
        else:
            last = turns[-1].number if undo.way == "to" else undo.turn
            turns = [turn for turn in turns if undo.turn <= turn.number <= last]
        assert turns, undo
        return turns

    def disk(self) -> int:
        """Bytes that it keeps for the undo; some keep them beside the objects of the project's own git."""
        return self.place.size_of(*self.stores) - self._size_before

    def close(self) -> None:  # noqa: B027 - some have started nothing
        """Ends all that it has started."""


def wait_until(holds: Callable[[], object], what: str, limit: float = LIMIT) -> None:
    """Waits for something that can be seen.

    Raises:
        Hung: it did not come in time.
    """
    deadline = time.monotonic() + limit
    while not holds():
        if time.monotonic() > deadline:
            raise Hung(what)
        time.sleep(0.02)
