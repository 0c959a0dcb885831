"""Copies of sessions on their way to a remote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.errors import RemoteChanged
from snapd.core.sharing.continuation import identities
from snapd.remotes.address import without_secret
from snapd.store.sharing.handover_commit import HANDOVERS
from snapd.store.sharing.outgoing import look_at_trees

from .prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from snapd.core.call import Call
    from snapd.core.timeline.handover import Handover
    from snapd.core.timeline.model import Event
    from snapd.remotes.exchange import Exchange
    from snapd.remotes.program import GitProgram
    from snapd.store.sharing.mirror import Mirror
    from snapd.store.sharing.outgoing import OutgoingRepository

    from .commits import ProjectCommits


class Copies(Prepared):
    """Copies of sessions for one remote; implements `core.ports.sharing.Outgoing`.

    Args:
        repository: holds them.
        git: the program.
        exchange: speaks with the remote.
        mirror: what this machine has of the remote.
        project: the commits of the project.
        fetch: fetches references of the remote into the mirror.
    """

    def __init__(
        self,
        repository: OutgoingRepository,
        git: GitProgram,
        exchange: Exchange,
        mirror: Mirror,
        project: ProjectCommits,
        fetch: Callable[[Sequence[str], Call], object],
    ) -> None:
        super().__init__(repository, git, project)
        self._exchange = exchange
        self._mirror = mirror
        self._fetch = fetch
        self._replaced: frozenset[str] = frozenset()

    def add_handover(self, handover: Handover, events: Iterable[Event], replaced: Collection[str]) -> None:
        """Adds a handover, which takes the place of earlier ones of its name, given by their ids."""
        super().add_handover(handover, events, replaced)
        self._replaced = frozenset(replaced)

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
            fetched = {**self._mirror.heads(names), **self._mirror.handover_heads()}
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
        self._check_handovers(ours.heads)
        self._exchange.push(ours.path, ours.heads, known, call)
        self._mirror.note_there(ours.heads)

    def _check_handovers(self, names: Iterable[str]) -> None:
        """Raises `RemoteChanged` if somebody else's handover has the name of ours."""
        for reference in names:
            if not reference.startswith(HANDOVERS):
                continue
            name = reference.removeprefix(HANDOVERS)
            there = self._mirror.handover(name)
            if there is not None and there.handover.handover_id not in self._replaced:
                shown = without_secret(self._exchange.address)
                raise RemoteChanged(
                    f"{shown} has a handover {name!r} of {there.handover.host}",
                    hint="choose another name",
                    remote=shown,
                )
