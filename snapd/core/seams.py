"""Interfaces through which the core uses the rest of snapd: settings, other machines, and git notes of the project."""

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
    """A setting in force for a workspace; patterns are a tuple of strings.

    `source` is the default, the user's file, the environment of the answering process, the client that asks, another
    client, or the folder itself.
    """

    name: str
    value: bool | float | str | tuple[str, ...] | None
    source: SettingSource


class Policy(Protocol):
    """The current settings of a workspace."""

    @property
    def capture(self) -> CaptureSettings:
        """What to capture."""

    @property
    def kept(self) -> Retention:
        """What to keep, and for how long."""

    @property
    def keeps_prompts(self) -> bool:
        """Whether to keep the text of messages."""

    @property
    def notifies_agents(self) -> bool:
        """Whether agents are notified of what others did to their work."""

    def enabled(self, client: Hashable) -> bool:
        """Whether a client of the workspace wants snapshots at all."""

    def in_use(self, client: Hashable) -> tuple[SettingInUse, ...]:
        """Returns all settings as a client sees them, without the additions of the folder's own file."""

    @property
    def problem(self) -> str | None:
        """What is wrong with the user's file, while its last valid values stay in force; None if it is valid."""


@attrs.frozen
class Claim:
    """The author of some lines according to a note: an agent, or a person whose typing an editor reported."""

    agent: str | None = None  # None for a person
    session_id: str | None = None  # as the agent names it
    model: str | None = None
    person: str | None = None  # name and address; None for an agent


@attrs.frozen
class GitCommit:
    """A commit that introduced lines, as `git blame` shows it; `seconds` is the author date, since 1970."""

    id: str
    author: str
    email: str
    seconds: int
    summary: str


@attrs.frozen
class NotedCommit:
    """A commit that introduced lines, its author date in seconds since 1970, and who wrote the lines."""

    commit: str
    seconds: int
    by: Claim


@attrs.frozen
class NoteProblem:
    """Why (part of a sentence) something from a note is missing; `commit` is None if that concerns more than one."""

    commit: str | None
    reason: str


@attrs.frozen
class NotedLines:
    """What the project's git says about the lines of a file in the newest commit, by numbers from 0.

    `lines` are those that a note covers; `commits` has the commit that introduced each line.
    """

    lines: Mapping[int, NotedCommit]
    commits: Mapping[int, GitCommit] = attrs.field(factory=dict)
    problems: tuple[NoteProblem, ...] = ()


class CommittedFile(Protocol):
    """A file in the newest commit of the project, under one of the names that it had."""

    def texts(self, call: Call) -> Mapping[RelPath, bytes]:
        """Returns the text of each name that the commit has."""

    def noted(self, name: RelPath, call: Call) -> NotedLines:
        """Returns what git says about the lines of one name; what it cannot answer is listed in the problems."""


class Notes(Protocol):
    """A project's history in git, and its notes."""

    def of(self, names: Sequence[RelPath], call: Call) -> CommittedFile | None:
        """Returns a file by its current and former names, newest first; None if there is no repository or commit."""


@attrs.frozen
class SessionListing:
    """A fetched session as it appears in a list, before any of it is read."""

    place: int  # its stable position among all fetched sessions; later ones have greater numbers
    session: Session
    remote: str  # the address that it came from, without a password
    host: str  # the machine that added to it last


@attrs.frozen
class OtherSessions:
    """Sessions from elsewhere: a fetched one, or those of another folder of this machine."""

    remote: str  # the address that it came from, without a password; or the other folder
    host: str  # the machine that added to it last; or the other folder
    objects: ObjectStore
    timeline: TimelineView

    @property
    def directory(self) -> bytes:
        """The git `objects` directory."""
        return os.fsencode(self.objects.repository.objects)


class OtherMachines(Protocol):
    """What was fetched from and sent to other machines."""

    def with_steps(self, wanted: StepQuery, after: int, limit: int) -> Sequence[SessionListing]:
        """Returns at most `limit` fetched sessions with places above `after` that may have a step matching a query."""

    def read(self, listed: SessionListing) -> OtherSessions:
        """Reads a session."""

    def clean(self, before: int, call: Call) -> int:
        """Drops fetched sessions without additions since `before` (ms since 1970); returns their number."""

    def clean_while_idle(self, before: int, call: Call) -> int:
        """Does a part of `clean`, as long as no fetch runs."""

    def purge(
        self,
        paths: Collection[RelPath],
        contents: Collection[ObjectId],
        messages: Collection[str],
        call: Call,
        *,
        dry_run: bool,
    ) -> tuple[int, Collection[str]]:
        """Drops fetched data with any of these; returns how many items, and the addresses that have any of it."""

    def sent(self, what: Iterable[bytes] | None) -> set[str]:
        """Returns the addresses that any of some blobs and messages were sent to; None stands for anything."""

    def close(self) -> None:
        """Releases what was read."""
