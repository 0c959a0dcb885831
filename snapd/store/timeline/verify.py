"""Compares a database of the timeline with the events."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from .database import Database
from .sealed import is_sealed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from snapd.core.model import ObjectId

    from .chain import Link


def sealed_heads(path: str) -> dict[str, ObjectId]:
    """The newest commit of each chain in a sealed database; nothing if there is none.

    Args:
        path: of the database.

    Raises:
        OSError: the file cannot be read.
    """
    if not is_sealed(path):
        return {}
    database = Database(path)
    try:
        return database.heads() if database.is_current else {}
    except sqlite3.Error:
        return {}
    finally:
        database.close()


def differs(path: str, links: Iterable[Link], heads: Mapping[str, ObjectId]) -> bool:
    """Whether a database that would be used does not match the events.

    One that is not sealed, is older, or does not exist is rebuilt before its next use, so it does not count.

    Args:
        path: of the database, which nobody has open.
        links: all events, in order.
        heads: the newest commit of each chain.

    Raises:
        OSError: the file cannot be read.
        ValueError, sqlite3.IntegrityError: the events are inconsistent.
    """
    if not os.path.exists(path) or not is_sealed(path):
        return False
    database = Database(path)
    try:
        if not database.is_current or database.heads() != heads:
            return False
        return rows(database) != rows_of(links)
    except sqlite3.DatabaseError:
        return True
    finally:
        database.close()


def rows_of(links: Iterable[Link]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of a new database with these events; raises as `differs`."""
    database = Database(None)
    try:
        database.create(links)
        return rows(database)
    finally:
        database.close()


def rows(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of a database, by table, sorted.

    Without summaries, which it may drop, and without the `seq` before an event, whose event may have expired.
    """
    return database.rows(without=("summary", "is_empty", "previous"))
