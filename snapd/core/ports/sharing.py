"""Other machines: what leaves for them, and what came from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from contextlib import AbstractContextManager

    from snapd.core.call import Call
    from snapd.core.model import Coverage, ObjectId, RelPath, Snapshot, TreeEntry
    from snapd.core.timeline.model import Event, SessionId, SnapshotId

    from .objects import Objects
    from .timeline import TimelineView


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

    def finish(self) -> None:
        """Completes the copies: nothing can be added any more, and the methods below can be called."""

    def new_files(self, call: Call) -> Sequence[tuple[RelPath, ObjectId, int]]:
        """The files in the copies that no commit of the project has: path, blob and size, each blob once."""

    def weigh(self, call: Call) -> int:
        """The bytes that a push would send, as far as this machine knows what the remote has; raises `RemoteFailed`."""

    def push(self, call: Call) -> None:
        """Pushes the copies: all or none.

        Raises:
            RemoteChanged: the remote has events of one of the sessions that the copy does not have.
            RemoteFailed: the remote has what it had.
            Untrusted: the same; what it has of these sessions is not what it says.
        """


class RemoteLog(Protocol):
    """The log of a fetched session."""

    @property
    def timeline(self) -> TimelineView:
        """Its events."""

    def load(self, snapshot: SnapshotId) -> Snapshot:
        """Loads a snapshot that an event names; raises `StoreCorrupt`."""


class Fetched(Protocol):
    """A session that was fetched."""

    @property
    def remote(self) -> str:
        """The address that it came from, without a password."""

    @property
    def host(self) -> str:
        """The machine that added to it last."""

    @property
    def objects(self) -> Objects:
        """The objects of its snapshots."""

    @property
    def directory(self) -> bytes:
        """The git `objects` directory that holds them."""

    @property
    def log(self) -> RemoteLog:
        """Its events and snapshots."""


class Remote(Protocol):
    """A git repository that sessions are pushed to and fetched from.

    Every method that speaks with it raises `RemoteFailed` if that fails, and `Cancelled`; nothing is half done then.
    """

    @property
    def address(self) -> str:
        """Its address, without a password."""

    def outgoing(self) -> AbstractContextManager[Outgoing]:
        """Begins copies of sessions to push, which are gone at the end of the block."""

    def delete(self, session_ids: Collection[SessionId], call: Call) -> tuple[SessionId, ...]:
        """Deletes sessions there, all or none; gives those that were there."""

    def fetch(self, session_ids: Collection[SessionId] | None, call: Call) -> tuple[Fetched, ...]:
        """Fetches sessions, None for all that are there; gives those that are new, or others than before.

        Raises:
            Untrusted: they are not what they say, or over a limit; nothing was taken.
        """


class Elsewhere(Protocol):
    """All other machines, as far as this workspace knows them."""

    def remote(self, named: str) -> Remote:
        """A remote, by its address or by the name that the project's git has for it; raises `InvalidParams`."""

    def fetched(self) -> Sequence[Fetched]:
        """All sessions that were fetched."""

    def close(self) -> None:
        """Lets go of what was read."""
