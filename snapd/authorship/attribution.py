"""Asks snapd who wrote the lines that a commit brought."""

from __future__ import annotations

import os
from base64 import b64encode
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import attrs

from snapd.core.errors import PathOutsideWorkspace
from snapd.core.paths import to_uri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .commits import Commit, CommittedFile

    Ask = Callable[[str, dict[str, Any]], Any]

_LAST_SECOND = 253_402_300_799
"""Of the year 9999: what comes later has no RFC 3339. A commit may claim any time."""

_SECOND = len("2000-01-01T00:00:00")


@attrs.frozen
class Author:
    """Who wrote some lines.

    Attributes:
        kind: an agent, the user, or nobody knows.
        session_id: the agent's session.
        step_id: the agent's step.
        agent: what the agent is called, if that is known.
    """

    kind: Literal["agent", "user", "unknown"]
    session_id: str = ""
    step_id: str = ""
    agent: str | None = None


UNKNOWN = Author("unknown")


@attrs.frozen
class LineRange:
    """Lines that follow each other, from 1.

    Attributes:
        first: the first line.
        last: the last line.
    """

    first: int
    last: int


@attrs.frozen
class AttributedFile:
    """The lines that a commit brought to a file, all of them, with their authors.

    Attributes:
        path: of the file, relative to the root of the work tree.
        lines: in their order; those of one author that follow each other are one range.
    """

    path: bytes
    lines: tuple[tuple[LineRange, Author], ...]

    def by(self, key: Callable[[Author], Any]) -> list[tuple[Author, list[LineRange]]]:
        """The lines of each author, whoever comes first in the file first.

        Args:
            key: authors with the same key count as one.
        """
        found: dict[Any, tuple[Author, list[LineRange]]] = {}
        for lines, author in self.lines:
            ranges = found.setdefault(key(author), (author, []))[1]
            if ranges and ranges[-1].last + 1 == lines.first:
                ranges[-1] = LineRange(ranges[-1].first, lines.last)
            else:
                ranges.append(lines)
        return list(found.values())


class Attribution:
    """Says who wrote the lines of commits, by what snapd knows of one folder.

    Args:
        ask: sends a request about the folder, and gives the result.
        top: the root of the work tree.
    """

    def __init__(self, ask: Ask, top: bytes) -> None:
        self._ask = ask
        self._top = top
        self._starts: dict[str, str] = {}

    def of(self, commit: Commit, file: CommittedFile) -> AttributedFile:
        """Attributes the lines that a commit brought to a file; raises `SnapdError`.

        What is outside of the folder is nobody's, and so is what git brought: a commit that is older than the step.
        """
        authors = self._authors(file, commit)
        told = ((line, authors.get(line, UNKNOWN)) for line in file.brought)
        return AttributedFile(file.path, tuple(_ranges(told)))

    def _authors(self, file: CommittedFile, commit: Commit) -> dict[int, Author]:
        content = b64encode(file.text).decode("ascii")
        name = to_uri(os.path.join(self._top, file.path))
        params = {"file": name, "content": content, "encoding": "base64", "at": moment(commit.authored)}
        try:
            runs = self._ask("snapshot/blame", params)["lines"]
        except PathOutsideWorkspace:
            return {}
        made = moment(max(commit.authored, commit.committed))
        return {
            line: UNKNOWN if run["author"] == "step" and made[:_SECOND] < self._start(run) else _author(run)
            for run in runs
            for line in range(run["start"], run["start"] + run["count"])
        }

    def _start(self, run: dict[str, Any]) -> str:
        """When the step of some lines began, to the second; empty if nobody knows."""
        step_id = run["stepId"]
        if step_id not in self._starts:
            steps = self._ask("step/find", {"prefix": step_id, "sessionId": run["sessionId"], "limit": 1})["steps"]
            self._starts[step_id] = steps[0]["startedAt"][:_SECOND] if steps else ""
        return self._starts[step_id]


def moment(seconds: int) -> str:
    """A time of a commit as RFC 3339; the nearest one that has a form."""
    when = datetime.fromtimestamp(min(max(seconds, 0), _LAST_SECOND), UTC)
    return f"{when.replace(tzinfo=None).isoformat()}Z"


def _author(run: dict[str, Any]) -> Author:
    if run["author"] == "step":
        return Author("agent", run["sessionId"], run["stepId"], run.get("agent"))
    # what was there before snapd watched may be anybody's
    return Author("user") if run["author"] == "user" else UNKNOWN


def _ranges(lines: Iterable[tuple[int, Author]]) -> Iterator[tuple[LineRange, Author]]:
    for (author, _), group in groupby(enumerate(lines), key=lambda each: (each[1][1], each[1][0] - each[0])):
        numbers = [line for _, (line, _) in group]
        yield LineRange(numbers[0], numbers[-1]), author
