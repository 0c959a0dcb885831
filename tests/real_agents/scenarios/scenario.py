"""What happens in a scenario: prompts that an agent works on, and what its user does in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs

from .actions import Action, Together


@attrs.frozen
class Prompt:
    """The agent is started with a prompt, in the session before if there is one, and ends when it is done.

    Attributes:
        text: that the user types; no other text of the scenario has it in it.
        turns: what the model has the agent do at once, one answer after the other.
        denied: the user allows nothing that the agent would have to ask for; it does nothing then.
        told: the files that the agent is told of, at once: the user changed what it did to them.
        told_of_git: whether it is told that git was moved, too.
        comment: a text of a comment that it is told of.
        overlaps: whether it is told that another agent changed its files.
    """

    text: str
    turns: tuple[Together, ...]
    denied: bool = False
    told: frozenset[str] = frozenset()
    told_of_git: bool = False
    comment: str = ""
    overlaps: bool = False


@attrs.frozen
class Saves:
    """The user writes files: their texts by their names."""

    files: Mapping[str, str]


@attrs.frozen
class Prepares:
    """The user runs a script of the shell that leaves the files as they are, before snapd has seen the folder."""

    script: str


@attrs.frozen
class Comments:
    """The user comments on a line that the agent wrote."""

    file: str
    line: int
    text: str


@attrs.frozen
class Restarts:
    """The daemon ends; the next one that needs it starts another."""


@attrs.frozen
class AnotherAgent:
    """Another agent writes a file, in a step of a session of its own."""

    file: str
    text: str


@attrs.frozen
class Undoes:
    """The user takes back the step of an action, wherever it is; what it did to git, too, if that is what it did."""

    action: Action


@attrs.frozen
class UndoesPrompt:
    """The user takes back all steps of a prompt."""

    prompt: Prompt


@attrs.frozen
class Rewinds:
    """The user takes files and conversation back to before a prompt, and goes on with the command that is printed."""

    prompt: Prompt


@attrs.frozen
class Resumes:
    """The user goes on with the session that a prompt was in."""

    prompt: Prompt


@attrs.frozen
class Redoes:
    """The user has what was taken back last done again."""


Act: TypeAlias = (
    Prompt | Saves | Prepares | Comments | Restarts | AnotherAgent | Undoes | UndoesPrompt | Rewinds | Resumes | Redoes
)


Way: TypeAlias = Literal["hooks", "run", "acp"]


@attrs.frozen
class Scenario:
    """A scenario.

    Attributes:
        name: for `ONLY`.
        acts: one after the other; after each of them, files and timeline are checked.
        needs: abilities that an agent has to have.
        has_tools: whether the agent has snapd's MCP server.
        way: how snapd learns of what the agent does: from hooks in its settings, from those that `snapd run` gives it,
            or from `snapd acp` between it and an editor.
    """

    name: str
    acts: tuple[Act, ...]
    needs: frozenset[str] = frozenset()
    way: Way = "hooks"
    has_tools: bool = False
