"""A session that was fetched, as the core reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from snapd.core.model import ObjectId
    from snapd.store.object_store import ObjectStore
    from snapd.store.sharing.mirror import Mirror, MirrorLog


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
    def of(cls, remote: str, mirror: Mirror, name: str, head: ObjectId) -> FetchedSession:
        """A session of a mirror.

        Args:
            remote: the address, without a password.
            mirror: what this machine has of it.
            name: the reference of the session.
            head: its newest commit.

        Raises:
            StoreCorrupt, IoError: it cannot be read.
        """
        return cls(remote, mirror.host(head), mirror.objects, mirror.directory, mirror.log(name, head))
