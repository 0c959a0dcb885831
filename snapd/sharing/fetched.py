"""A session that was fetched, as the core reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from snapd.core.ports.objects import Objects
    from snapd.core.ports.sharing import RemoteLog


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
    objects: Objects
    log: RemoteLog
