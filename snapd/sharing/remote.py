"""A git repository that sessions are pushed to and fetched from, with what this machine knows of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import UnknownSession
from snapd.core.ports.sharing import PrunedSession
from snapd.core.timeline.handover import Taken
from snapd.remotes.address import without_secret
from snapd.remotes.exchange import Exchange
from snapd.remotes.program import Bounds
from snapd.store.sharing.formats import HANDOVERS, signature_of
from snapd.store.sharing.outgoing import OutgoingRepository, as_host, look_at_trees
from snapd.store.timeline.chain import SESSIONS, chain_of_session

from .copies import Copies
from .fetched import ListedSession, chosen
from .pruning import Pruning

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from snapd.core.call import Call
    from snapd.core.model import ObjectId
    from snapd.core.ports.sharing import FetchedHandover
    from snapd.core.timeline.model import SessionId
    from snapd.store.sharing.mirror import Mirror

    from .fetched import Here


_BESIDE = 1 << 20
"""What git needs in memory beside the bytes of an object."""


class Remote:
    """A git repository at an address; implements `core.ports.sharing.Remote`.

    Args:
        address: as git takes it.
        here: what this machine has of it.
        handed_over: gives the names of the handovers that the folder made.
    """

    def __init__(self, address: str, here: Here, handed_over: Callable[[], Sequence[str]]) -> None:
        self.address = without_secret(address)
        bounds = Bounds(
            file_bytes=here.limits.pack_bytes,
            object_bytes=here.limits.blob_bytes + _BESIDE,
            memory_bytes=here.limits.memory_bytes,
            seconds=here.limits.seconds,
        )
        self._exchange = Exchange(here.git, address, bounds)
        self._here = here
        self._handed_over = handed_over

    @contextmanager
    def outgoing(self) -> Iterator[Copies]:
        """Begins copies of sessions to push, which are gone at the end of the block."""
        mirror = self._here.mirror()

        def fetch(names: Sequence[str], call: Call) -> None:
            self._fetch(mirror, names, call)

        with OutgoingRepository(self._here.borrowed(), self._here.host) as repository:
            yield Copies(repository, self._here.git, self._exchange, mirror, self._here.project, fetch)

    def delete(self, session_ids: Collection[SessionId], call: Call) -> tuple[SessionId, ...]:
        """Deletes sessions there, all or none; gives those that were there."""
        mirror = self._here.mirror()
        names = {chain_of_session(session_id): session_id for session_id in session_ids}
        with mirror.quarantine((), ()) as quarantine:
            there = self._exchange.list(quarantine, [*names, *map(signature_of, names)], call)
            if there:
                self._exchange.delete(quarantine, there, call)
        mirror.note_there(dict.fromkeys(there))
        return tuple(names[name] for name in there if name in names)

    def prune(
        self, before: int, ours: Collection[SessionId], call: Call, *, everybody: bool, dry_run: bool
    ) -> Sequence[PrunedSession]:
        """Deletes sessions that nobody added to since a time; see `core.ports.sharing.Remote`."""
        mirror = self._here.mirror()
        pruning = Pruning(self._here.git, self._exchange)
        old = pruning.old(before, call)
        known = {chain_of_session(session_id): session_id for session_id in ours}
        if not everybody:
            host = as_host(self._here.host)
            old = [tip for tip in old if tip.host == host or tip.reference in known]
        if not dry_run:
            gone = []
            for lot in pruning.delete(old, call):
                mirror.note_there({name: None for tip in lot for name in tip.seen})
                gone += lot
            old = gone
        fetched = mirror.listed([tip.reference for tip in old])
        names = {**{indexed.chain: indexed.session.session_id for indexed in fetched}, **known}
        return [PrunedSession(tip.reference, names.get(tip.reference), tip.host, tip.newest) for tip in old]

    def fetch(self, session_ids: Collection[SessionId] | None, call: Call) -> Sequence[ListedSession]:
        """Fetches sessions, None for all that are there; gives those that are new, or others than before."""
        mirror = self._here.mirror()
        names = None if session_ids is None else tuple(map(chain_of_session, session_ids))
        if names:
            with mirror.quarantine((), ()) as quarantine:
                there = self._exchange.list(quarantine, names, call)
            for session_id in session_ids or ():
                if chain_of_session(session_id) not in there:
                    what, hint = (
                        f"{self.address} has no session {session_id!r}",
                        "fetch without names to see which it has",
                    )
                    raise UnknownSession(what, hint=hint, sessionId=session_id)
        fresh = self._fetch(mirror, names, call, [HANDOVERS + name for name in self._handed_over()])
        return [ListedSession.of(self.address, indexed) for indexed in mirror.listed(fresh)]

    def fetch_handover(self, name: str | None, call: Call) -> FetchedHandover:
        """Fetches a handover, None for the only one that nobody took over yet."""
        mirror = self._here.mirror()
        self._fetch(mirror, (), call, [HANDOVERS if name is None else HANDOVERS + name])
        with mirror.quarantine(self._here.borrowed(), ()) as quarantine:
            there = self._exchange.list_below(quarantine, HANDOVERS, call)
        return chosen(self.address, mirror, there, name, self._here.checks(), call)

    def mark_taken(self, taken: FetchedHandover, milliseconds: int, call: Call) -> bool:
        """Notes there that this machine took a handover over, so that whoever made it sees that."""
        mirror = self._here.mirror()
        handover = taken.handover
        marked = attrs.evolve(handover, taken=(*handover.taken, Taken(self._here.host, milliseconds)))
        with OutgoingRepository([mirror.repository.objects, *self._here.borrowed()], self._here.host) as repository:
            repository.add_taken(marked, taken.newest)
            repository.finish()
            self._exchange.push(repository.path, repository.heads, mirror.known(repository.heads), call)
            mirror.note_there(repository.heads)
        return True

    def _fetch(
        self, mirror: Mirror, names: Sequence[str] | None, call: Call, handovers: Sequence[str] = ()
    ) -> dict[str, ObjectId]:
        """Fetches sessions by their references, None for all, and handovers by what the names of theirs begin with."""
        borrowed = self._here.borrowed()
        asked = (*((SESSIONS,) if names is None else names), *handovers)
        with mirror.changing, mirror.quarantine(borrowed, names) as quarantine:
            look_at_trees(quarantine, self._here.project.branches(call))
            self._exchange.fetch(quarantine, [*asked, *map(signature_of, asked)], call)
            return mirror.take(quarantine, lambda name: name.startswith(asked), borrowed, self._here.limits, call)
