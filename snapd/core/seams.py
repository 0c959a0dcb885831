"""What the core needs of the rest of snapd: settings, other machines, and notes in the project's git."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

import attrs

from snapd.model.call import Call
from snapd.model.handover import HandedOver, Handover, Signature
from snapd.model.retention import Retention
from snapd.model.snapshot import CaptureSettings, Coverage, ObjectId, RelPath, TreeEntry
from snapd.model.timeline import Event, Session, SessionId, SnapshotId, StepQuery
from snapd.model.trees import ReadTree
from snapd.store.object_store import ObjectStore
from snapd.store.sharing.mirror import FetchedHandover
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


class Signer(Protocol):
    """Who signs what leaves this machine."""

    @property
    def fingerprint(self) -> str | None:
        """Of the key; None if it is not known before it signs."""

    def sign(self, payload: bytes, call: Call) -> bytes:
        """A signature; raises `SigningFailed`."""


class Outgoing(Protocol):
    """Copies of sessions for a remote, with what the workspace's own store does not have."""

    def tree(self, data: bytes) -> ObjectId:
        """Adds a directory, given as the bytes of its tree object."""

    def read_tree(self, oid: ObjectId) -> tuple[TreeEntry, ...] | None:
        """The entries of a directory that was added; None for any other."""

    def snapshot(self, tree: ObjectId, coverage: Coverage) -> SnapshotId:
        """Adds the coverage of a snapshot, and gives the id by which an event names the snapshot."""

    def add_session(self, session_id: SessionId, events: Iterable[Event]) -> None:
        """Adds a session, given as all of its events that travel, oldest first."""

    def add_handover(self, handover: Handover, events: Iterable[Event], replaced: Collection[str]) -> None:
        """Adds a handover.

        Args:
            handover: its record.
            events: what its sessions did, oldest first.
            replaced: the ids of the handovers of the same name that it may take the place of.
        """

    def sign(self, signer: Signer, call: Call) -> None:
        """Signs each session, and a handover; to be asked for once all of them were added.

        Raises:
            SigningFailed, RemoteFailed, StorageFull, IoError, Cancelled: they are not signed.
        """

    def finish(self) -> None:
        """Completes the copies: nothing can be added any more, and the methods below can be called."""

    def new_files(self, read_tree: ReadTree, call: Call) -> Sequence[tuple[RelPath, ObjectId, int]]:
        """The files in the copies that no commit known to whoever gets them has: path, blob and size, by path.

        A remote knows the commits of its branches and tags, and those before them; whoever gets a file those of the
        branches of the project's remotes, as last seen, and the commits that the file builds on.
        To be asked before `weigh`, which has git forget the older commits.

        Args:
            read_tree: reads the trees that were not added.
            call: the request.

        Raises:
            RemoteFailed, IoError, StoreCorrupt, Cancelled: the files cannot be determined.
        """

    def weigh(self, call: Call) -> int:
        """The bytes that a push would send, as far as this machine knows what the remote has; raises `RemoteFailed`."""

    def push(self, call: Call) -> None:
        """Pushes the copies: all or none.

        Raises:
            RemoteChanged: the remote has events of one of the sessions that the copy does not have, or somebody else's
                handover of the same name.
            RemoteFailed: the remote has what it had.
            Untrusted: the same; what it has of these sessions is not what it says.
        """


@attrs.frozen
class Listed:
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
class Fetched:
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


@attrs.frozen
class PrunedSession:
    """A session that was deleted from a remote because it is old, or would be.

    Attributes:
        reference: its name there.
        session_id: its name; None if this machine does not know that.
        host: the machine that added to it last.
        newest: when that was, milliseconds since 1970.
    """

    reference: str
    session_id: SessionId | None
    host: str
    newest: int


class Carrier(Protocol):
    """What carries sessions to other machines, and back: a git repository, or a file.

    Every method that speaks with it raises `RemoteFailed` if that fails, and `Cancelled`; but for `Remote.prune`,
    nothing is half done then.
    """

    @property
    def address(self) -> str:
        """Its address, without a password; or its path."""

    def outgoing(self) -> AbstractContextManager[Outgoing]:
        """Begins copies of sessions to push, which are gone at the end of the block.

        Raises:
            InvalidParams, IoError: it is a file that cannot be made.
        """

    def fetch(self, session_ids: Collection[SessionId] | None, call: Call) -> Sequence[Listed]:
        """Fetches sessions, None for all that are there; gives those that are new, or others than before.

        Raises:
            InvalidParams: it is a file that does not exist.
            UnknownSession: a remote does not have one of them; nothing was taken.
            Untrusted: they are not what they say, or over a limit; nothing was taken.
        """

    def fetch_handover(self, name: str | None, call: Call) -> FetchedHandover:
        """Fetches a handover, None for the only one that nobody took over yet.

        Raises:
            InvalidParams: there is none, or there are several.
            Untrusted: it is not what it says, or over a limit; nothing was taken.
        """

    def mark_taken(self, taken: FetchedHandover, milliseconds: int, call: Call) -> bool:
        """Notes there that this machine took a handover over, so that whoever made it sees that; False for a file.

        Raises:
            RemoteChanged: somebody else took it over, or handed over again, meanwhile.
        """


class ProjectCommits(Protocol):
    """The commits of the project's git. Without git, or without commits, there are none."""

    def newest(self, most: int, call: Call) -> tuple[ObjectId, ...]:
        """The commit that is checked out, and up to `most` before it, newest first."""

    def common(self, commits: Sequence[ObjectId], call: Call) -> ObjectId | None:
        """The newest commit that the one checked out goes on from, and the first known one of `commits` as well."""

    def tree(self, commit: ObjectId, call: Call) -> ObjectId | None:
        """The tree of a commit."""

    @property
    def directories(self) -> Sequence[bytes]:
        """The git `objects` directories of the project."""


class Lineage(Protocol):
    """The handovers that a folder made and took over."""

    def all(self) -> Sequence[HandedOver]:
        """The last ones, oldest first."""

    def add(self, entry: HandedOver) -> None:
        """Notes the newest one, durably."""


class Remote(Carrier, Protocol):
    """A git repository that sessions are pushed to and fetched from."""

    def delete(self, session_ids: Collection[SessionId], call: Call) -> tuple[SessionId, ...]:
        """Deletes sessions there, all or none; gives those that were there."""

    def prune(
        self, before: int, ours: Collection[SessionId], call: Call, *, everybody: bool, dry_run: bool
    ) -> Sequence[PrunedSession]:
        """Deletes sessions there that nobody added to since a time; one that somebody adds to meanwhile stays.

        Args:
            before: milliseconds since 1970.
            ours: these, and those that this machine added to last.
            call: the request.
            everybody: whether to delete all others, too.
            dry_run: whether only to find them.

        Returns:
            Those that are gone now, or would be, the oldest first.

        Raises:
            RemoteFailed, RemoteChanged, Cancelled: some may be gone; asked again, it goes on with the others.
        """


class Elsewhere(Protocol):
    """All other machines, as far as this workspace knows them."""

    def remote(self, named: str) -> Remote:
        """A remote, by its address or by the name that the project's git has for it; raises `InvalidParams`."""

    def foretell(self, named: str, session_ids: Collection[SessionId] | None, call: Call) -> Sequence[Listed]:
        """What `fetch` of a remote would give; nothing of it is kept. Raises as that, and as `remote`."""

    @property
    def host(self) -> str:
        """The name of this machine."""

    def signer(self, key: str | None) -> Signer:
        """Who signs.

        Args:
            key: an ssh key: a public key, or the absolute path of a file; None for that of the user's git.

        Raises:
            InvalidParams: there is no such key.
        """

    @property
    def project(self) -> ProjectCommits:
        """The commits of the project."""

    @property
    def lineage(self) -> Lineage:
        """The handovers of the folder."""

    def bundle(self, path: str) -> Carrier:
        """A file that sessions are written to, all at once, or read from; raises `InvalidParams`."""

    def page(self, after: int, limit: int) -> Sequence[Listed]:
        """The sessions that were fetched, at most `limit`, in the order of their places, which are above `after`."""

    def with_steps(self, wanted: StepQuery, after: int, limit: int) -> Sequence[Listed]:
        """Those with a step that a query may mean, as `page`; its `session_id` and `parent` do not count."""

    def neighbours(self, name: str) -> tuple[str, ...]:
        """The ids of each kind in what was fetched that come right before and after one, as far as there are any."""

    def session(self, session_id: SessionId) -> Listed | None:
        """A session that was fetched, by its name."""

    def signatures(self, listed: Sequence[Listed], call: Call) -> Sequence[Signature | None]:
        """What is known of the signatures of sessions that were fetched, one for each; None for one without.

        Raises:
            IoError, StorageFull, Cancelled: it could not be read which there are.
        """

    def read(self, listed: Listed) -> Fetched:
        """Reads a session at its first use; a few of them stay in memory."""

    def clean(self, before: int, call: Call) -> int:
        """Drops sessions that were fetched, and makes room.

        Args:
            before: milliseconds since 1970; sessions that nobody added to since then, and that were fetched before, go.
            call: the request.

        Returns:
            How many sessions were dropped.

        Raises:
            StoreCorrupt, StorageFull, IoError, Cancelled: the rest goes the next time.
        """

    def clean_in_background(self, before: int, call: Call) -> int:
        """Does some of the same, as long as nobody fetches; a part of it may go on afterwards."""

    def purge(
        self,
        paths: Collection[RelPath],
        contents: Collection[ObjectId],
        messages: Collection[str],
        call: Call,
        *,
        dry_run: bool,
    ) -> tuple[int, Collection[str]]:
        """Drops what was fetched with any of some files, blobs or messages, and all that is left of it.

        Args:
            paths: files and directories.
            contents: blobs.
            messages: their ids.
            call: the request.
            dry_run: whether only to look.

        Returns:
            How many sessions and handovers it drops, and the addresses that have any of it: it came from there, or was
            sent there.

        Raises:
            StoreCorrupt, StorageFull, IoError, Cancelled: some may be left; the same again drops it.
        """

    def note_sent(self, address: str, what: Iterable[bytes]) -> None:
        """Notes that blobs, and messages by their ids, were sent to an address; raises `StorageFull`, `IoError`."""

    def sent(self, what: Iterable[bytes] | None) -> set[str]:
        """The addresses that any of these were sent to, or anything; raises `StorageFull`, `IoError`."""

    def handovers(self) -> Sequence[tuple[str, Handover]]:
        """The records of all handovers that were fetched, each with the address that it came from."""

    def beside(self, folder: bytes) -> AbstractContextManager[Fetched]:
        """Opens the sessions of another folder of this machine for the block; nothing in that folder is changed.

        Args:
            folder: absolute.

        Raises:
            InvalidParams: there are no snapshots of it, or it is this folder itself.
            StoreLocked: another process has it open.
            WorkspaceRefused, StoreCorrupt, StorageFull, IoError: it cannot be opened.
        """

    def close(self) -> None:
        """Lets go of what was read."""
