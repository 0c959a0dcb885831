"""A git repository that sessions are pushed to and fetched from, with what this machine knows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.errors import RemoteChanged
from snapd.core.sharing.continuation import identities
from snapd.remotes.address import without_secret
from snapd.remotes.exchange import Exchange
from snapd.remotes.weighing import Weighing
from snapd.store.timeline.chain import SESSIONS, chain_of_session
from snapd.store.timeline.pins import EFFECTS

from .fetched import FetchedSession

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from snapd.core.call import Call
    from snapd.core.model import ObjectId, RelPath
    from snapd.core.timeline.model import SessionId
    from snapd.remotes.program import GitProgram
    from snapd.store.sharing.inspection import Limits
    from snapd.store.sharing.mirror import Mirror
    from snapd.store.sharing.outgoing import OutgoingRepository


class Remote:
    """A git repository at an address.

    Args:
        address: as git takes it.
        git: the program.
        mirror: opens what this machine has of it.
        borrowed: the `objects` directories of what else this machine has of the project.
        tips: the commits of the project that its branches, remotes and tags name.
        limits: the most that is fetched.
    """

    def __init__(
        self,
        address: str,
        git: GitProgram,
        mirror: Callable[[], Mirror],
        borrowed: Sequence[str],
        tips: Collection[ObjectId],
        limits: Limits,
    ) -> None:
        self.address = without_secret(address)
        self._git = git
        self._exchange = Exchange(git, address)
        self._open_mirror = mirror
        self._borrowed = borrowed
        self._tips = tips
        self._limits = limits

    def new_files(self, outgoing: OutgoingRepository, call: Call) -> Sequence[tuple[RelPath, ObjectId, int]]:
        """See `core.ports.sharing.Remote`."""
        found = {}
        for blob in self._weighing(outgoing).new_blobs(self._tips, call):
            role, _, path = blob.path.partition(b"/")
            if role == EFFECTS:
                path = outgoing.effects[blob.oid]
            # the coverage of a snapshot lies beside its tree, and is none of the project's files
            if path:
                found[blob.oid] = (path, blob.oid, blob.size)
        return sorted(found.values())

    def weigh(self, outgoing: OutgoingRepository, call: Call) -> int:
        """See `core.ports.sharing.Remote`."""
        there = self._exchange.branches(outgoing.path, call)
        return self._weighing(outgoing).bytes_beside({*there, *self._open_mirror().known().values()}, call)

    def push(self, outgoing: OutgoingRepository, call: Call) -> None:
        """See `core.ports.sharing.Remote`."""
        mirror = self._open_mirror()
        try:
            self._push(mirror, outgoing, call)
        except RemoteChanged:
            # perhaps it was this machine, before it lost its memory of that; or a copy that this one goes on from
            self._fetch(mirror, tuple(outgoing.heads), call)
            self._push(mirror, outgoing, call)

    def delete(self, session_ids: Collection[SessionId], call: Call) -> tuple[SessionId, ...]:
        """See `core.ports.sharing.Remote`."""
        mirror = self._open_mirror()
        names = {chain_of_session(session_id): session_id for session_id in session_ids}
        with mirror.quarantine(self._borrowed) as quarantine:
            there = self._exchange.list(quarantine, tuple(names), call)
            self._exchange.delete(quarantine, there, call)
        mirror.forget(there)
        return tuple(names[name] for name in there)

    def fetch(self, session_ids: Collection[SessionId] | None, call: Call) -> tuple[FetchedSession, ...]:
        """See `core.ports.sharing.Remote`."""
        mirror = self._open_mirror()
        names = (SESSIONS,) if session_ids is None else tuple(map(chain_of_session, session_ids))
        fresh = self._fetch(mirror, names, call)
        return tuple(self.session(mirror, name, head) for name, head in fresh.items())

    def session(self, mirror: Mirror, name: str, head: ObjectId) -> FetchedSession:
        """A session of the mirror."""
        return FetchedSession(self.address, mirror.host(head), mirror.objects, mirror.log(name, head))

    def _weighing(self, outgoing: OutgoingRepository) -> Weighing:
        return Weighing(self._git, outgoing.path, tuple(outgoing.heads.values()))

    def _push(self, mirror: Mirror, outgoing: OutgoingRepository, call: Call) -> None:
        for name, head in mirror.heads().items():
            ours = outgoing.heads.get(name)
            if ours not in (None, head) and not identities(mirror.events(name, head)) <= outgoing.identities[name]:
                raise RemoteChanged(
                    f"{self.address} has steps of this session that this machine does not have", remote=self.address
                )
        self._exchange.push(outgoing.path, outgoing.heads, mirror.known(), call)
        mirror.note_pushed(outgoing.heads)

    def _fetch(self, mirror: Mirror, names: Sequence[str], call: Call) -> dict[str, ObjectId]:
        with mirror.quarantine(self._borrowed) as quarantine:
            self._exchange.fetch(quarantine, names, call)
            return mirror.take(quarantine, self._borrowed, self._limits, call)
