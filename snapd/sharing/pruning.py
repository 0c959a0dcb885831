"""Deletes old sessions from a remote: what nobody added to for some time."""

from __future__ import annotations

import tempfile
from itertools import islice
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import IoError, RemoteChanged, StoreCorrupt
from snapd.store.objects.codec import batch_objects
from snapd.store.refs.database import read_references
from snapd.store.sharing.formats import signature_of
from snapd.store.sharing.outgoing import make_bare
from snapd.store.timeline.chain import SESSIONS, decode_link, host_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from snapd.core.call import Call
    from snapd.core.model import ObjectId
    from snapd.remotes.exchange import Exchange
    from snapd.remotes.program import GitProgram

_TOGETHER = 1000
"""How many references one push deletes, all or none: their names have to fit into one command."""


@attrs.frozen
class Tip:
    """The newest event of a session at a remote.

    Attributes:
        reference: the name of the reference of the session.
        head: the commit.
        host: the machine that made it.
        newest: when, milliseconds since 1970.
        signature: the tag that signs the session; None if there is none.
    """

    reference: str
    head: ObjectId
    host: str
    newest: int
    signature: ObjectId | None = None

    @property
    def seen(self) -> dict[str, ObjectId]:
        """What the remote had of it, by the names of the references."""
        signature = {} if self.signature is None else {signature_of(self.reference): self.signature}
        return {self.reference: self.head, **signature}


class Pruning:
    """Finds and deletes old sessions of a remote.

    Args:
        git: the program.
        exchange: speaks with the remote.
    """

    def __init__(self, git: GitProgram, exchange: Exchange) -> None:
        self._git = git
        self._exchange = exchange

    def old(self, before: int, call: Call) -> list[Tip]:
        """The sessions that nobody added to since a time, the oldest first.

        Args:
            before: milliseconds since 1970.
            call: the request.

        Raises:
            RemoteFailed, IoError, StorageFull, Cancelled: the remote could not be asked.
        """
        with tempfile.TemporaryDirectory(prefix="snapd-tips-") as path:
            make_bare(path, ())
            self._exchange.fetch_tips(path, [SESSIONS, signature_of(SESSIONS)], call)
            targets = read_references(path).whole()
            tips = [tip for tip in self._tips(path, targets, call) if tip.newest < before]
        return sorted(tips, key=lambda tip: (tip.newest, tip.reference))

    def delete(self, tips: Collection[Tip], call: Call) -> Iterator[list[Tip]]:
        """Deletes sessions, many at a time, each lot all or none; gives each lot once it is gone.

        A session that somebody added to since `old` stays.

        Raises:
            RemoteFailed, RemoteChanged, IoError, StorageFull, Cancelled: the lots that were given are gone, the others
                are there.
        """
        waiting = iter(tips)
        while lot := list(islice(waiting, _TOGETHER)):
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
            raise IoError(f"git cat-file failed: {done.said}", errno="EIO", path=path)
        for (name, head), (_, _, data) in zip(heads.items(), batch_objects(done.out), strict=True):
            try:
                link, _ = decode_link(name, head, data)
            except StoreCorrupt:
                # nobody knows what it is: not an event of snapd, or one of a newer snapd
                continue
            yield Tip(name, head, host_of(data), link.event.milliseconds, targets.get(signature_of(name)))


def _seen(lot: Iterable[Tip]) -> dict[str, ObjectId]:
    return {name: target for tip in lot for name, target in tip.seen.items()}
