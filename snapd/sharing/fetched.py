"""Sessions that were fetched, as the core lists and reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from snapd.core.timeline.model import Session
    from snapd.store.object_store import ObjectStore
    from snapd.store.sharing.index import Indexed
    from snapd.store.sharing.mirror import Mirror, MirrorLog


@attrs.frozen
class ListedSession:
    """A session that was fetched, as a list has it; implements `core.ports.sharing.Listed`.

    Attributes:
        remote: the address that it came from, without a password.
        indexed: what the index has of it.
    """

    remote: str
    indexed: Indexed

    @property
    def place(self) -> int:
        """Its place among all of them."""
        return self.indexed.place

    @property
    def session(self) -> Session:
        """What its events say of it."""
        return self.indexed.session

    @property
    def host(self) -> str:
        """The machine that added to it last."""
        return self.indexed.host


@attrs.frozen
class FetchedSession:
    """A session that was fetched.

    Attributes:
        remote: the address that it came from, without a password.
        host: the machine that added to it last.
        objects: the objects of its snapshots.
        directory: the git `objects` directory that holds them.
        log: its events and snapshots.
    """

    remote: str
    host: str
    objects: ObjectStore
    directory: bytes
    log: MirrorLog

    @classmethod
    def of(cls, listed: ListedSession, mirror: Mirror) -> FetchedSession:
        """A session of a mirror, of which nothing was read yet."""
        indexed = listed.indexed
        log = mirror.log(indexed.chain, indexed.head)
        return cls(listed.remote, listed.host, mirror.objects, mirror.directory, log)
