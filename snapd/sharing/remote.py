"""A git repository that sessions are pushed to and fetched from."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

import attrs

from snapd.model.errors import IoError, RemoteChanged, StoreCorrupt, UnknownSession
from snapd.model.handover import TakeoverRecord
from snapd.remotes.address import without_secret
from snapd.remotes.exchange import Exchange
from snapd.remotes.program import Bounds
from snapd.store.objects.codec import batch_objects
from snapd.store.refs.database import read_references
from snapd.store.timeline.chain import SESSIONS, chain_of_session, decode_link, host_of

from .copies import RemoteCopies
from .fetched import ListedSession, chosen
from .formats import HANDOVERS, signature_of
from .outgoing import OutgoingRepository, as_host, look_at_trees, make_bare

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from snapd.model.call import Call
    from snapd.model.snapshot import ObjectId
    from snapd.model.timeline import SessionId
    from snapd.remotes.program import GitProgram

    from .fetched import LocalSide
    from .mirror import FetchedHandover, Mirror


TOGETHER = 1000
"""References that one push deletes, all or none: their names must fit into one command."""

_BESIDE = 1 << 20
"""Bytes that git needs in memory besides the bytes of an object."""


@attrs.frozen
class Tip:
    """The newest event of a session at a remote: its commit, the machine that made it, and the signature, if any.

    `newest` is its time in milliseconds since 1970.
    """

    reference: str
    head: ObjectId
    host: str
    newest: int
    signature: ObjectId | None = None

    @property
    def seen(self) -> dict[str, ObjectId]:
        """Returns the references of the session and its signature at the remote, with their targets."""
        signature = {} if self.signature is None else {signature_of(self.reference): self.signature}
        return {self.reference: self.head, **signature}


class Pruning:
    """Finds and deletes old sessions of a remote."""

    def __init__(self, git: GitProgram, exchange: Exchange) -> None:
        self._git = git
        self._exchange = exchange

    def old(self, before: int, call: Call) -> list[Tip]:
        """Returns the sessions with no event since `before` (milliseconds since 1970), oldest first."""
        with tempfile.TemporaryDirectory(prefix="snapd-tips-") as path:
            make_bare(path, ())
            self._exchange.fetch_tips(path, [SESSIONS, signature_of(SESSIONS)], call)
            targets = read_references(path).whole()
            tips = [tip for tip in self._tips(path, targets, call) if tip.newest < before]
        return sorted(tips, key=lambda tip: (tip.newest, tip.reference))

    def delete(self, tips: Collection[Tip], call: Call) -> Iterator[list[Tip]]:
        """Deletes sessions in batches, each all or none; yields each batch once it is deleted.

        A session that got an event since `old` stays. An error ends it after the batches that were yielded.
        """
        waiting = iter(tips)
        while lot := list(islice(waiting, TOGETHER)):
            call.check()
            gone = self._delete(lot, call)
            if gone:
                yield gone

    def _delete(self, lot: list[Tip], call: Call) -> list[Tip]:
        with tempfile.TemporaryDirectory(prefix="snapd-prune-") as path:
            make_bare(path, ())
            try:
                self._exchange.delete(path, _seen(lot), call)
            except RemoteChanged:
                names = [name for tip in lot for name in (tip.reference, signature_of(tip.reference))]
                there = self._exchange.list(path, names, call)
                lot = [
                    attrs.evolve(tip, signature=there.get(signature_of(tip.reference)))
                    for tip in lot
                    if there.get(tip.reference) == tip.head
                ]
                if lot:
                    self._exchange.delete(path, _seen(lot), call)
        return lot

    def _tips(self, path: str, targets: Mapping[str, ObjectId], call: Call) -> Iterator[Tip]:
        heads = {name: head for name, head in targets.items() if name.startswith(SESSIONS)}
        asked = "".join(f"{head.hex()}\n" for head in heads.values()).encode()
        done = self._git.run(path, ["cat-file", "--batch"], call, data=asked)
        if done.code:
            raise IoError(f"git cat-file failed: {done.stderr}", errno="EIO", path=path)
        for (name, head), (_, _, data) in zip(heads.items(), batch_objects(done.out), strict=True):
            try:
                link, _ = decode_link(name, head, data)
            except StoreCorrupt:
                # not an event of snapd, or one of a newer snapd
                continue
            yield Tip(name, head, host_of(data), link.event.milliseconds, targets.get(signature_of(name)))


def _seen(lot: Iterable[Tip]) -> dict[str, ObjectId]:
    return {name: target for tip in lot for name, target in tip.seen.items()}


@attrs.frozen
class PrunedSession:
    """A session that was, or would be, deleted from a remote because it is old.

    `session_id` is None if unknown here. `newest` is the time of the newest event, milliseconds since 1970.
    """

    reference: str
    session_id: SessionId | None
    host: str
    newest: int


class Remote:
    """A git repository that sessions are pushed to and fetched from.

    `handed_over` returns the names of handovers that the folder made. Every method that contacts the remote raises
    `RemoteFailed` or `Cancelled`; except for `prune`, nothing is half done after an error.
    """

    def __init__(self, address: str, here: LocalSide, handed_over: Callable[[], Sequence[str]]) -> None:
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
    def outgoing(self) -> Iterator[RemoteCopies]:
        """Creates copies of sessions to push; they are removed at the end of the block."""
        mirror = self._here.mirror()

        def fetch(names: Sequence[str], call: Call) -> None:
            self._fetch(mirror, names, call)

        with OutgoingRepository(self._here.borrowed(), self._here.host) as repository:
            yield RemoteCopies(repository, self._here.git, self._exchange, mirror, self._here.project, fetch)

    def delete(self, session_ids: Collection[SessionId], call: Call) -> tuple[SessionId, ...]:
        """Deletes sessions there, all or none; returns those that were there."""
        mirror = self._here.mirror()
        names = {chain_of_session(session_id): session_id for session_id in session_ids}
        with mirror.quarantine((), ()) as quarantine:
            there = self._exchange.list(quarantine, [*names, *map(signature_of, names)], call)
            if there:
                self._exchange.delete(quarantine, there, call)
        mirror.note_remote_heads(dict.fromkeys(there))
        return tuple(names[name] for name in there if name in names)

    def prune(
        self, before: int, ours: Collection[SessionId], call: Call, *, everybody: bool, dry_run: bool
    ) -> Sequence[PrunedSession]:
        """Deletes sessions that got no event since a time, unless they get one meanwhile; returns them, oldest first.

        Deletes the sessions `ours` and those that this machine added to last, or with `everybody` all. `before` is in
        milliseconds since 1970; `dry_run` only finds them. After an error some may be deleted; the next call continues.
        """
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
                mirror.note_remote_heads({name: None for tip in lot for name in tip.seen})
                gone += lot
            old = gone
        fetched = mirror.listed([tip.reference for tip in old])
        names = {**{indexed.chain: indexed.session.session_id for indexed in fetched}, **known}
        return [PrunedSession(tip.reference, names.get(tip.reference), tip.host, tip.newest) for tip in old]

    def fetch(self, session_ids: Collection[SessionId] | None, call: Call) -> Sequence[ListedSession]:
        """Fetches sessions (None for all); returns those that are new or changed.

        Raises `UnknownSession` if the remote lacks one, and `Untrusted` if they are malformed or over a limit.
        """
        mirror = self._here.mirror()
        handovers = [HANDOVERS + name for name in self._handed_over()]
        if session_ids is None:
            fresh = self._fetch(mirror, None, call, handovers)
        else:
            needed = {chain_of_session(session_id): session_id for session_id in session_ids}
            fresh = self._fetch(mirror, tuple(needed), call, handovers, needed)
        return [ListedSession.of(self.address, indexed) for indexed in mirror.listed(fresh)]

    def fetch_handover(self, name: str | None, call: Call) -> FetchedHandover:
        """Fetches a handover; for None the only one that nobody took over yet.

        Raises `InvalidParams` unless exactly one matches, and `Untrusted` if it is malformed or over a limit.
        """
        mirror = self._here.mirror()
        self._fetch(mirror, (), call, [HANDOVERS if name is None else HANDOVERS + name])
        with mirror.quarantine(self._here.borrowed(), ()) as quarantine:
            there = self._exchange.list_below(quarantine, HANDOVERS, call)
        return chosen(self.address, mirror, there, name, self._here.checks(), call)

    def mark_taken_over(self, taken: FetchedHandover, milliseconds: int, call: Call) -> bool:
        """Records there that this machine took a handover over, so that the machine that made it can see that.

        Raises `RemoteChanged` if another machine took it over, or it was handed over again, meanwhile.
        """
        mirror = self._here.mirror()
        handover = taken.handover
        marked = attrs.evolve(handover, taken=(*handover.taken, TakeoverRecord(self._here.host, milliseconds)))
        with OutgoingRepository([mirror.repository.objects, *self._here.borrowed()], self._here.host) as repository:
            repository.add_taken(marked, taken.newest)
            repository.finish()
            self._exchange.push(repository.path, repository.heads, mirror.known(repository.heads), call)
            mirror.note_remote_heads(repository.heads)
        return True

    def _fetch(
        self,
        mirror: Mirror,
        names: Sequence[str] | None,
        call: Call,
        handovers: Sequence[str] = (),
        needed: Mapping[str, SessionId] = MappingProxyType({}),
    ) -> dict[str, ObjectId]:
        """Fetches sessions by their references (None for all), and handovers by prefixes of theirs.

        Raises `UnknownSession` if the remote lacks one of `needed`.
        """
        borrowed = self._here.borrowed()
        asked = (*((SESSIONS,) if names is None else names), *handovers)
        with mirror.changing, mirror.quarantine(borrowed, names) as quarantine:
            look_at_trees(quarantine, self._here.project.branches(call))
            self._exchange.fetch(quarantine, [*asked, *map(signature_of, asked)], call)
            there = read_references(quarantine).targets if needed else {}
            for name, session_id in needed.items():
                if name not in there:
                    what = f"{self.address} has no session {session_id!r}"
                    hint = "fetch without names to see which it has"
                    raise UnknownSession(what, hint=hint, sessionId=session_id)
            return mirror.take(quarantine, lambda name: name.startswith(asked), borrowed, self._here.limits, call)
