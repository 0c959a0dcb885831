"""A git repository that sessions are pushed to and fetched from, with what this machine knows of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from snapd.remotes.address import without_secret
from snapd.remotes.exchange import Exchange
from snapd.remotes.program import Bounds
from snapd.store.sharing.outgoing import OutgoingRepository, look_at_trees
from snapd.store.timeline.chain import SESSIONS, chain_of_session

from .copies import Copies
from .fetched import FetchedSession

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from snapd.core.call import Call
    from snapd.core.model import ObjectId
    from snapd.core.timeline.model import SessionId
    from snapd.remotes.program import GitProgram
    from snapd.store.sharing.inspection import Limits
    from snapd.store.sharing.mirror import Mirror
    from snapd.worktree.git.elsewhere import Tips


_BESIDE = 1 << 20
"""What git needs in memory beside the bytes of an object."""


class Remote:
    """A git repository at an address; implements `core.ports.sharing.Remote`.

    Args:
        address: as git takes it.
        git: the program.
        mirror: opens what this machine has of it.
        borrowed: gives the `objects` directories of what else this machine has of the project.
        host: the name of this machine.
        tips: what the references of the project point to.
        limits: the most that is fetched.
    """

    def __init__(
        self,
        address: str,
        git: GitProgram,
        mirror: Callable[[], Mirror],
        borrowed: Callable[[], Sequence[str]],
        host: str,
        tips: Tips,
        limits: Limits,
    ) -> None:
        self.address = without_secret(address)
        self._git = git
        bounds = Bounds(
            file_bytes=limits.pack_bytes,
            object_bytes=limits.blob_bytes + _BESIDE,
            memory_bytes=limits.memory_bytes,
            seconds=limits.seconds,
        )
        self._exchange = Exchange(git, address, bounds)
        self._mirror = mirror
        self._borrowed = borrowed
        self._host = host
        self._tips = tips
        self._limits = limits

    @contextmanager
    def outgoing(self) -> Iterator[Copies]:
        """Begins copies of sessions to push, which are gone at the end of the block."""
        mirror = self._mirror()

        def fetch(names: Sequence[str], call: Call) -> None:
            self._fetch(mirror, names, call)

        with OutgoingRepository(self._borrowed(), self._host) as repository:
            yield Copies(repository, self._git, self._exchange, mirror, {*self._tips.branches, *self._tips.tags}, fetch)

    def delete(self, session_ids: Collection[SessionId], call: Call) -> tuple[SessionId, ...]:
        """Deletes sessions there, all or none; gives those that were there."""
        mirror = self._mirror()
        names = {chain_of_session(session_id): session_id for session_id in session_ids}
        with mirror.quarantine(self._borrowed()) as quarantine:
            there = self._exchange.list(quarantine, tuple(names), call)
            if there:
                self._exchange.delete(quarantine, there, call)
        mirror.forget(there)
        return tuple(names[name] for name in there)

    def fetch(self, session_ids: Collection[SessionId] | None, call: Call) -> tuple[FetchedSession, ...]:
        """Fetches sessions, None for all that are there; gives those that are new, or others than before."""
        mirror = self._mirror()
        names = (SESSIONS,) if session_ids is None else tuple(map(chain_of_session, session_ids))
        fresh = self._fetch(mirror, names, call)
        return tuple(FetchedSession.of(self.address, mirror, name, head) for name, head in fresh.items())

    def _fetch(self, mirror: Mirror, names: Sequence[str], call: Call) -> dict[str, ObjectId]:
        borrowed = self._borrowed()
        with mirror.quarantine(borrowed) as quarantine:
            look_at_trees(quarantine, self._tips.branches)
            self._exchange.fetch(quarantine, names, call)
            return mirror.take(quarantine, borrowed, self._limits, call)
