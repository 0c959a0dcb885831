"""What agents do, whatever their tools are called."""

from __future__ import annotations

from typing import TypeAlias

import attrs

GO = "go"
"""The file that a command in the background waits for, in the folder for temporary files."""


@attrs.frozen
class Read:
    """Reads a file."""

    file: str


@attrs.frozen
class Write:
    """Writes a new file."""

    file: str
    text: str


@attrs.frozen
class Edit:
    """Replaces a piece of text, which is in the file once and is whole lines."""

    file: str
    old: str
    new: str


@attrs.frozen
class Shell:
    """Runs a command, to its end or in the background; with `git`, it changes the project's own git, and no file."""

    command: str
    background: bool = False
    git: bool = False


@attrs.frozen
class Delegate:
    """Has a subagent do something.

    Attributes:
        task: that the subagent is given.
        turns: what it does at once, one turn after the other.
    """

    task: str
    turns: tuple[Together, ...]


@attrs.frozen
class Reply:
    """Replies to the comment with a text, by snapd's own tool, and resolves it."""

    comment: str
    text: str


@attrs.frozen
class Awaits:
    """Nothing: the model makes the file `GO`, for which a command waits, and thinks until another file is there."""

    file: str


Action: TypeAlias = Read | Write | Edit | Shell | Delegate | Reply
Together: TypeAlias = tuple[Action | Awaits, ...]
"""What an agent does by one answer of the model."""
