"""Copies of sessions on their way to a remote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.errors import RemoteChanged
from snapd.core.sharing.continuation import identities
from snapd.remotes.address import without_secret
from snapd.remotes.weighing import Weighing
from snapd.store.sharing.outgoing import look_at_trees
from snapd.store.timeline.pins import EFFECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from snapd.core.call import Call
    from snapd.core.model import Coverage, ObjectId, RelPath, TreeEntry
    from snapd.core.timeline.model import Event, SessionId, SnapshotId
    from snapd.remotes.exchange import Exchange
    from snapd.remotes.program import GitProgram
    from snapd.store.sharing.mirror import Mirror
    from snapd.store.sharing.outgoing import OutgoingRepository


class Copies:
    """Copies of sessions for one remote; implements `core.ports.sharing.Outgoing`.

    Args:
        repository: holds them.
        git: the program.
        exchange: speaks with the remote.
        mirror: what this machine has of the remote.
        tips: the commits of the project that its branches, remotes and tags name.
        fetch: fetches references of the remote into the mirror.
    """

    def __init__(
        self,
        repository: OutgoingRepository,
        git: GitProgram,
        exchange: Exchange,
        mirror: Mirror,
        tips: Collection[ObjectId],
        fetch: Callable[[Sequence[str], Call], object],
    ) -> None:
        self._repository = repository
        self._git = git
        self._exchange = exchange
        self._mirror = mirror
        self._tips = tips
        self._fetch = fetch

    def tree(self, data: bytes) -> ObjectId:
        """Adds a directory, given as the bytes of its tree object."""
        return self._repository.tree(data)

    def read_tree(self, oid: ObjectId) -> tuple[TreeEntry, ...] | None:
        """The entries of a directory that was added; None for any other."""
        return self._repository.read_tree(oid)

    def snapshot(self, tree: ObjectId, coverage: Coverage) -> SnapshotId:
        """Adds the coverage of a snapshot, and gives the id by which an event names the snapshot."""
        return self._repository.snapshot(tree, coverage)

    def add_session(self, session_id: SessionId, events: Iterable[Event]) -> None:
        """Adds a session, given as all of its events that travel, oldest first."""
        self._repository.add_session(session_id, events)

    def finish(self) -> None:
        """Completes the copies, so that git can read them."""
        self._repository.finish()

    def new_files(self, call: Call) -> Sequence[tuple[RelPath, ObjectId, int]]:
        """The files in the copies that no commit of the project has: path, blob and size, each blob once."""
        found = []
        for blob in self._weighing().new_blobs(self._tips, call):
            role, _, path = blob.path.partition(b"/")
            if role == EFFECTS:
                path = self._repository.effects[blob.oid]
            # the coverage of a snapshot lies beside its tree, and is none of the project's files
            if path:
                found.append((path, blob.oid, blob.size))
        return sorted(found)

    def weigh(self, call: Call) -> int:
        """The bytes that a push would send, as far as this machine knows what the remote has; raises `RemoteFailed`."""
        weighing = self._weighing()
        there = self._exchange.branches(self._repository.path, call)
        known = weighing.there({*there, *self._mirror.known(self._repository.heads).values()}, call)
        look_at_trees(self._repository.path, there.intersection(known))
        return weighing.bytes_beside(known, call)

    def push(self, call: Call) -> None:
        """Pushes the copies: all or none; raises `RemoteChanged`, `RemoteFailed`."""
        try:
            self._push(call)
        except RemoteChanged:
            # perhaps it was this machine, before it lost its memory of that; or a copy that this one goes on from
            names = tuple(self._repository.heads)
            there = self._exchange.list(self._repository.path, names, call)
            self._fetch(names, call)
            fetched = self._mirror.heads(names)
            # what was moved in between is not what was looked at: pushing over it fails
            known = {name: there.get(name) for name in names if there.get(name) in (None, fetched.get(name))}
            self._mirror.note_there(known)
            self._push(call)

    def _push(self, call: Call) -> None:
        ours = self._repository
        known = self._mirror.known(ours.heads)
        for name, head in self._mirror.heads(ours.heads).items():
            # what was fetched may be gone from there, or replaced by this machine
            if head != known.get(name) or head == ours.heads[name]:
                continue
            if not identities(self._mirror.events(name, head)) <= ours.identities[name]:
                shown = without_secret(self._exchange.address)
                raise RemoteChanged(f"{shown} has steps of a session that this machine does not have", remote=shown)
        self._exchange.push(ours.path, ours.heads, known, call)
        self._mirror.note_there(ours.heads)

    def _weighing(self) -> Weighing:
        return Weighing(self._git, self._repository.path, tuple(self._repository.heads.values()))
