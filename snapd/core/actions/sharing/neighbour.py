"""The sessions of another folder of this machine, as they are read without being fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from snapd.core.ports.objects import Objects
    from snapd.core.ports.sharing import RemoteLog


@attrs.frozen
class Neighbour:
    """All sessions of a folder; implements `core.ports.sharing.Fetched`.

    Attributes:
        remote: the folder, as people see it.
        host: the same.
        objects: the objects of its snapshots.
        directory: the git `objects` directory that holds them.
        log: its events and snapshots.
    """

    remote: str
    host: str
    objects: Objects
    directory: bytes
    log: RemoteLog
