"""Copies of sessions on their way to a remote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.errors import RemoteChanged
from snapd.core.sharing.continuation import identities
from snapd.remotes.address import without_secret
from snapd.store.sharing.outgoing import look_at_trees

from .prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from snapd.core.call import Call
    from snapd.core.model import ObjectId
    from snapd.remotes.exchange import Exchange
    from snapd.remotes.program import GitProgram
    from snapd.store.sharing.mirror import Mirror
    from snapd.store.sharing.outgoing import OutgoingRepository
    from snapd.worktree.git.elsewhere import Tips


class Copies(Prepared):
    """Copies of sessions for one remote; implements `core.ports.sharing.Outgoing`.

    Args:
        repository: holds them.
        git: the program.
        exchange: speaks with the remote.
        mirror: what this machine has of the remote.
        tips: what the references of the project point to.
        fetch: fetches references of the remote into the mirror.
    """

    def __init__(
        self,
        repository: OutgoingRepository,
        git: GitProgram,
        exchange: Exchange,
        mirror: Mirror,
        tips: Tips,
        fetch: Callable[[Sequence[str], Call], object],
    ) -> None:
        super().__init__(repository, git, tips)
        self._exchange = exchange
        self._mirror = mirror
        self._fetch = fetch

    def weigh(self, call: Call) -> int:
        """The bytes that a push would send, as far as this machine knows what the remote has; raises `RemoteFailed`."""
        weighing = self._weighing()
        there = self._exchange.branches(self._repository.path, call)
        known = weighing.there({*there, *self._mirror.known().values()}, call)
        look_at_trees(self._repository.path, there.intersection(known))
        return weighing.bytes_beside(known, call)

    def push(self, call: Call) -> None:
        """Pushes the copies: all or none; raises `RemoteChanged`, `RemoteFailed`."""
        try:
            self._push(self._mirror.known(), call)
        except RemoteChanged:
            # perhaps it was this machine, before it lost its memory of that; or a copy that this one goes on from
            names = tuple(self._repository.heads)
            self._fetch(names, call)
            # or somebody deleted it there
            there = self._exchange.list(self._repository.path, names, call)
            self._push({name: head for name, head in self._mirror.known().items() if name in there}, call)

    def _push(self, seen: Mapping[str, ObjectId], call: Call) -> None:
        ours = self._repository
        for name, head in self._mirror.heads().items():
            if ours.heads.get(name) in (None, head):
                continue
            if not identities(self._mirror.events(name, head)) <= ours.identities[name]:
                shown = without_secret(self._exchange.address)
                raise RemoteChanged(f"{shown} has steps of a session that this machine does not have", remote=shown)
        self._exchange.push(ours.path, ours.heads, seen, call)
        self._mirror.note_pushed(ours.heads)
