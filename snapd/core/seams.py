"""What the core needs of the rest of snapd: settings, other machines, and notes in the project's git."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Literal, Protocol

import attrs

from snapd.model.call import Call
from snapd.model.retention import Retention
from snapd.model.snapshot import CaptureSettings, ObjectId, RelPath
from snapd.model.timeline import Session, StepQuery
from snapd.store.object_store import ObjectStore
from snapd.store.timeline.timeline import TimelineView

SettingSource = Literal["default", "file", "environment", "client", "otherClient", "folder"]


@attrs.frozen
class SettingInUse:
    """A setting in force for a workspace.

    Attributes:
        name: of the setting.
        value: its value; patterns are a tuple of strings.
        source: where the value comes from: the default, the user's file, the environment of the process that answers,
            the client that asks, another client, or the folder itself.
    """

    name: str
    value: bool | float | str | tuple[str, ...] | None
    source: SettingSource


class Policy(Protocol):
    """The settings of a workspace at the moment."""

    @property
    def capture(self) -> CaptureSettings:
        """What to capture."""

    @property
    def kept(self) -> Retention:
        """What to keep for how long."""

    @property
    def keeps_prompts(self) -> bool:
        """Whether to keep the texts of messages."""

    @property
    def tells_agents(self) -> bool:
        """Whether agents learn what others did to their work."""

    def enabled(self, client: Hashable) -> bool:
        """Whether a client of the workspace wants snapshots at all."""

    def in_use(self, client: Hashable) -> tuple[SettingInUse, ...]:
        """Lists all settings as a client sees them, without what the folder's own file adds."""

    @property
    def problem(self) -> str | None:
        """What is wrong with the user's file, whose last good values stay in force; None if it is all right."""


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
class GitCommit:
    """A commit that brought lines, as `git blame` shows it.

    Attributes:
        id: its hash.
        author: the name of its author.
        email: of its author; empty if the commit has none.
        seconds: when its author made it, since 1970.
        summary: the first line of its message.
    """

    id: str
    author: str
    email: str
    seconds: int
    summary: str


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
    """What the project's git says about the lines of a file as the newest commit has it.

    Attributes:
        lines: the lines, from 0, about which a note says something.
        commits: the commit that brought each line, from 0.
        problems: what could not be read.
    """

    lines: Mapping[int, NotedCommit]
    commits: Mapping[int, GitCommit] = attrs.field(factory=dict)
    problems: tuple[NoteProblem, ...] = ()


class CommittedFile(Protocol):
    """A file as the newest commit of the project has it, under one of the names that it had."""

    def texts(self, call: Call) -> Mapping[RelPath, bytes]:
        """The text of each name that the commit has; raises `IoError`, `StorageFull`, `Cancelled`."""

    def noted(self, name: RelPath, call: Call) -> NotedLines:
        """What git says about the lines of one of them; raises `IoError`, `StorageFull`, `Cancelled`.

        What git cannot say is among the problems.
        """


class Notes(Protocol):
    """The history of a project in git, and its notes."""

    def of(self, names: Sequence[RelPath], call: Call) -> CommittedFile | None:
        """A file of the project.

        Args:
            names: its name and those that it had before, newest first.
            call: the request.

        Returns:
            None if the file belongs to no repository, or that has no commit.

        Raises:
            IoError, Cancelled: git did not say.
        """


@attrs.frozen
class SessionListing:
    """A session that was fetched, as a list has it: nothing of it was read.

    Attributes:
        place: its place among all of them, which stays: those that are fetched later have greater ones.
        session: what its events say of it.
        remote: the address that it came from, without a password.
        host: the machine that added to it last.
    """

    place: int
    session: Session
    remote: str
    host: str


@attrs.frozen
class OtherSessions:
    """Sessions from elsewhere: a fetched one, or those of another folder of this machine.

    Attributes:
        remote: the address that it came from, without a password; or the other folder.
        host: the machine that added to it last; or the other folder.
        objects: the objects of the snapshots.
        timeline: the events.
    """

    remote: str
    host: str
    objects: ObjectStore
    timeline: TimelineView

    @property
    def directory(self) -> bytes:
        """The git `objects` directory that holds the objects."""
        return os.fsencode(self.objects.repository.objects)


class OtherMachines(Protocol):
    """What was fetched from other machines, and what was sent to them."""

    def with_steps(self, wanted: StepQuery, after: int, limit: int) -> Sequence[SessionListing]:
        """The fetched sessions with a step that a query may mean, at most `limit`, with places above `after`."""

    def read(self, listed: SessionListing) -> OtherSessions:
        """Reads a session."""

    def clean(self, before: int, call: Call) -> int:
        """Drops fetched sessions that nobody added to since a time, in milliseconds since 1970; says how many."""

    def clean_in_background(self, before: int, call: Call) -> int:
        """Does some of the same, as long as nobody fetches."""

    def purge(
        self,
        paths: Collection[RelPath],
        contents: Collection[ObjectId],
        messages: Collection[str],
        call: Call,
        *,
        dry_run: bool,
    ) -> tuple[int, Collection[str]]:
        """Drops what was fetched with any of these; gives how many that is, and the addresses that have any of it."""

    def sent(self, what: Iterable[bytes] | None) -> set[str]:
        """The addresses that any of some blobs and messages were sent to, or anything."""

    def close(self) -> None:
        """Lets go of what was read."""
