"""Which chains belong together, and what keeps their objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.store.timeline.schema import LINKS

if TYPE_CHECKING:
    import sqlite3

    from snapd.core.model import ObjectId


def links(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """The pairs of chains of which one has an event that refers to the other."""
    return connection.execute(LINKS).fetchall()


def roots(connection: sqlite3.Connection) -> list[tuple[str, tuple[ObjectId, ObjectId]]]:
    """The chain of each event, its commit, and the tree of that commit."""
    rows = connection.execute("SELECT chain, commit_id, pins FROM events")
    return [(chain, (commit, tree)) for chain, commit, tree in rows]
