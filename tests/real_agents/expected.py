"""What the timeline of a scenario has to be, by what the oracle did."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from .oracle import Change
from .scenarios.actions import Action
from .scenarios.scenario import Prompt


@attrs.define(eq=False)
class Step:
    """A step that has to be there.

    Attributes:
        who: agent and tool.
        action: that it records; None for that of a whole turn.
        commit: of the oracle, which did the same.
        changes: what it changed, and its parts.
        parts: steps below it, of a subagent.
        git: whether it changed the project's own git.
        undone: whether the user took it back.
        found: its id, once it was seen.
    """

    who: str
    action: Action | None
    commit: str
    changes: list[Change]
    parts: list[Step] = attrs.field(factory=list)
    git: bool = False
    undone: bool = False
    found: str | None = None

    def all(self) -> list[Step]:
        """This one and its parts, as they happened."""
        return [self, *(step for part in self.parts for step in part.all())]

    def lines(self, indent: str = "") -> list[tuple[str, Step]]:
        state = " (undone)" if self.undone else ""
        own = f"{indent}{self.who}: {said(self.changes)}{state}"
        return [(own, self), *(line for part in self.parts for line in part.lines(indent + "  "))]


@attrs.define(eq=False)
class Turn:
    """A prompt that has to be there, and the steps of its turn.

    Attributes:
        parts_apart: whether the parts of its steps do not name it.
        found: the id of the message, once it was seen.
    """

    prompt: Prompt
    parts_apart: bool = False
    steps: list[Step] = attrs.field(factory=list)
    found: str | None = None

    def all(self) -> list[Step]:
        """Its steps and their parts, as they happened."""
        return [each for step in self.steps for each in step.all()]

    def line(self) -> str:
        steps = self.all()
        # those of a step with parts are what its parts changed
        changes = [change for step in self.steps for change in step.changes]
        naming = self.steps if self.parts_apart else steps
        counts = f"{len(naming)} steps, {len({change.file for change in changes})} files"
        lines = f"+{sum(change.additions for change in changes)} -{sum(change.deletions for change in changes)}"
        left = {step.undone for step in steps if step.changes}
        state = {frozenset([True]): " (undone)", frozenset([True, False]): " (partly)"}.get(frozenset(left), "")
        return f"prompt {self.prompt.text!r}: {counts} {lines}{state}"


@attrs.frozen
class Other:
    """What the user did: wrote, took back, did again."""

    who: str
    changes: list[Change]

    def line(self) -> str:
        return f"{self.who}: {said(self.changes)}"


def said(changes: Iterable[Change]) -> str:
    return ", ".join(map(str, changes)) or "nothing"
