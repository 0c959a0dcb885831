"""The store of one workspace, as a whole. Code that needs less of it takes one of the narrower ports."""

from __future__ import annotations

from typing import Protocol

from .integrity import Integrity
from .log import SnapshotLog
from .maintenance import Maintenance
from .objects import Objects


class Store(Objects, SnapshotLog, Maintenance, Integrity, Protocol):
    """An open store: no other process writes to it."""

    def close(self) -> None:
        """Closes the store, so that another process can own it."""

    @property
    def path(self) -> str:
        """The directory of the store."""
