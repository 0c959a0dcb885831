"""Scenarios as data: what an agent does, what the person does meanwhile and since, what is taken back, what must hold.

The format is in README.md. Nothing here knows a product.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

FOLDER = Path(__file__).parent / "scenarios"
_BYTE = re.compile(r"\\x([0-9a-f]{2})")
_CALLS = {"write": 3, "rewrite": 3, "edit": 4, "shell": 2, "pause": 1, "hold": 1}
_OPERATIONS = {"write": 3, "append": 3, "replace": 4, "sh": 2}
_UNDO = re.compile(r"last|(to|only):[1-9]")

Words: TypeAlias = tuple[str, ...]
"""A call of a tool, or something that the person does: what, and with what."""


class Malformed(Exception):
    """A scenario is not what the format says; says where."""


@dataclass(frozen=True)
class Turn:
    """What the agent does for one prompt.

    Attributes:
        number: among all turns of the scenario, from 1.
        session: that it is in.
        calls: of tools, one after the other.
        meanwhile: what the person does at the pause, or while a command is held.
        killed: whether the agent is killed there, and does not go on.
    """

    number: int
    session: str
    calls: tuple[Words, ...]
    meanwhile: tuple[Words, ...] = ()
    killed: bool = False

    @property
    def prompt(self) -> str:
        return f"Please do task {self.number} of session {self.session} now."

    @property
    def answer(self) -> str:
        """What the model says last."""
        return f"Finished-{self.session}-{self.number}."


@dataclass(frozen=True)
class Person:
    """What the person does between turns."""

    operations: tuple[Words, ...]


@dataclass(frozen=True)
class Undo:
    """The person takes something back.

    Attributes:
        way: of the last turn of a session, of all since a turn and itself, or of that turn alone.
        session: that is asked to.
        turn: the turn, where the way is not `last`.
    """

    way: Literal["last", "to", "only"]
    session: str
    turn: int = 0


@dataclass(frozen=True)
class Redo:
    """The person has what was taken back last done again."""

    session: str


@dataclass(frozen=True)
class Restart:
    """The agent, and what else the product runs, ends and is started again."""


@dataclass(frozen=True)
class Expect:
    """What the folder must be now: a tree that was copied before, except for some paths.

    Attributes:
        base: "start", "now" (before the last undo or redo) or "turn" and a number (after it and what the person did
            until the next act).
        paths: what is different from it, as in the file.
        instead: what may be different from it as well, instead of that.
    """

    base: str
    paths: Mapping[str, Any]
    instead: Mapping[str, Any] | None = None


Act: TypeAlias = Turn | Person | Undo | Redo | Restart | Expect


@dataclass(frozen=True)
class Scenario:
    """One scenario.

    Attributes:
        name: unique.
        title: in a sentence.
        report: address of the public report that it stands for.
        acts: one after the other.
        setup: what the person does before the first act.
        tags: what it needs of a product, by which products say what their documents exclude.
        start: the folder below the project that the agent is started in.
        has_git: whether the project is a git repository.
        moves_git: whether agent or person change `.git`; it has to be as they left it then.
        mtimes: whether files that need no change must keep their time, too.
        whole_git: whether nothing may be added to `.git`, such as refs of the product's own.
        size: of the disk that the project is on, MiB; 0 for any.
    """

    name: str
    title: str
    report: str
    acts: tuple[Act, ...]
    setup: tuple[Words, ...] = ()
    tags: frozenset[str] = frozenset()
    start: str = ""
    has_git: bool = True
    moves_git: bool = False
    mtimes: bool = False
    whole_git: bool = False
    size: int = 0

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def sessions(self) -> list[str]:
        return sorted({act.session for act in self.acts if isinstance(act, Turn)})


@dataclass
class _Counter:
    turns: int = field(default=0)


def load(folder: Path = FOLDER) -> dict[str, Scenario]:
    """All scenarios of a folder, by their names, in the order of the files.

    Raises:
        Malformed: one is not what the format says.
    """
    found: dict[str, Scenario] = {}
    for file in sorted(folder.glob("*.toml")):
        for name, table in tomllib.loads(file.read_text("utf-8")).items():
            if name in found:
                raise Malformed(f"{name}: there are two")
            try:
                found[name] = _scenario(name, table)
            except (KeyError, TypeError, ValueError) as error:
                raise Malformed(f"{name}: {error!r}") from error
    return found


def path_bytes(path: str) -> bytes:
    r"""A path of a scenario as the disk has it: `\xe9` in it is that byte."""
    return b"".join(
        bytes.fromhex(part) if at % 2 else part.encode("utf-8") for at, part in enumerate(_BYTE.split(path))
    )


def _scenario(name: str, table: dict[str, Any]) -> Scenario:
    counter = _Counter()
    acts = tuple(_act(counter, dict(each)) for each in table.pop("acts"))
    if not any(isinstance(act, Expect) for act in acts):
        raise ValueError("nothing is expected")
    setup = _words(table.pop("setup", ()), _OPERATIONS)
    tags = frozenset(table.pop("tags", ()))
    return Scenario(name=name, acts=acts, setup=setup, tags=tags, **table)


def _act(counter: _Counter, table: dict[str, Any]) -> Act:
    session = table.pop("session", "a")
    act: Act
    if "agent" in table:
        counter.turns += 1
        calls = _words(table.pop("agent"), _CALLS)
        meanwhile = _words(table.pop("meanwhile", ()), _OPERATIONS)
        act = Turn(counter.turns, session, calls, meanwhile, table.pop("killed", False))
        if sum(call[0] in ("pause", "hold") for call in calls) != bool(act.meanwhile or act.killed):
            raise ValueError("one pause, or one held command, goes with what the person does meanwhile")
    elif "person" in table:
        act = Person(_words(table.pop("person"), _OPERATIONS))
    elif "undo" in table:
        what = table.pop("undo")
        if not _UNDO.fullmatch(what):
            raise ValueError(f"no such undo: {what}")
        way, _, turn = what.partition(":")
        act = Undo(way, session, int(turn or 0))
    elif table.pop("redo", False):
        act = Redo(session)
    elif table.pop("restart", False):
        act = Restart()
    else:
        act = Expect(table.pop("from", "start"), table.pop("expect"), table.pop("or", None))
    if table:
        raise ValueError(f"unknown: {', '.join(table)}")
    return act


def _words(rows: Iterable[Iterable[str]], known: Mapping[str, int]) -> tuple[Words, ...]:
    words = tuple(tuple(row) for row in rows)
    for row in words:
        if known.get(row[0]) != len(row):
            raise ValueError(f"no such thing, or not with so many words: {row}")
    return words
