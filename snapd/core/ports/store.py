"""The store of one workspace, as a whole. What needs less of it takes one of its parts."""

from __future__ import annotations

from typing import Protocol

from .integrity import Integrity
from .log import SnapshotLog
from .maintenance import Maintenance
from .objects import Objects


class Store(Objects, SnapshotLog, Maintenance, Integrity, Protocol):
    """A store that is open: no other process writes it."""

    def close(self) -> None:
        """Lets another process own the store."""

    @property
    def path(self) -> str:
        """Where it lies."""
