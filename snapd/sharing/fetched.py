"""A session that was fetched, as the core reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from snapd.store.object_store import ObjectStore
    from snapd.store.sharing.mirror import MirrorLog


@attrs.frozen
class FetchedSession:
    """A session that was fetched.

    Attributes:
        remote: the address that it came from, without a password.
        host: the machine that added to it last.
        objects: the objects of its snapshots.
        log: its events and snapshots.
    """

    remote: str
    host: str
    objects: ObjectStore
    log: MirrorLog
