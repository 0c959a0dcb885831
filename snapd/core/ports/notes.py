"""What other tools noted in the project's git: who wrote the lines that its commits brought."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from snapd.core.call import Call
    from snapd.core.model import RelPath


@attrs.frozen
class Claim:
    """Who wrote some lines, as a note claims: an agent, or a person whom an editor saw typing.

    Attributes:
        agent: what the agent is called; None for a person.
        session_id: the session, as the agent names it.
        model: the model that the agent used; None if that is not known.
        person: the name and the address of the person; None for an agent.
    """

    agent: str | None = None
    session_id: str | None = None
    model: str | None = None
    person: str | None = None


@attrs.frozen
class NotedCommit:
    """A commit that brought lines, and who wrote them.

    Attributes:
        commit: its hash.
        seconds: when its author made it, since 1970.
        by: who wrote them.
    """

    commit: str
    seconds: int
    by: Claim


@attrs.frozen
class NoteProblem:
    """Why something that was noted is not in an answer.

    Attributes:
        commit: the commit whose note it is; None if it is about more than one.
        reason: what is wrong, as a part of a sentence.
    """

    commit: str | None
    reason: str


@attrs.frozen
class NotedLines:
    """What is noted about the lines of a file as the newest commit has it.

    Attributes:
        lines: the lines, from 0, about which a note says something.
        problems: what could not be read.
    """

    lines: Mapping[int, NotedCommit]
    problems: tuple[NoteProblem, ...] = ()


class CommittedFile(Protocol):
    """A file as the newest commit of the project has it, under one of the names that it had."""

    def texts(self, call: Call) -> Mapping[RelPath, bytes]:
        """The text of each name that the commit has; raises `IoError`, `StorageFull`, `Cancelled`."""

    def noted(self, name: RelPath, call: Call) -> NotedLines:
        """What is noted about the lines of one of them; raises `IoError`, `StorageFull`, `Cancelled`.

        What git cannot say is among the problems.
        """


class Notes(Protocol):
    """The notes of a project."""

    def of(self, names: Sequence[RelPath], call: Call) -> CommittedFile | None:
        """A file of the project.

        Args:
            names: its name and those that it had before, newest first.
            call: the request.

        Returns:
            None if the project has no notes: to find that out costs no process.

        Raises:
            IoError, Cancelled: git did not say.
        """
