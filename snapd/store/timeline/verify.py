"""Whether a database of the timeline says what the events come to."""

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
    """The newest commit of each chain, by a database that was closed in order; nothing if there is none.

    Args:
        path: of the database.

    Raises:
        OSError: it cannot be read.
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
    """Whether a database that would be believed says something else than the events.

    One that was not closed in order, is older, or is not there is made again before anything is asked of it.

    Args:
        path: of the database, which nobody has open.
        links: all events, in their order.
        heads: the newest commit of each chain.

    Raises:
        OSError: it cannot be read.
        ValueError, sqlite3.IntegrityError: the events do not fit together.
    """
    if not os.path.exists(path) or not is_sealed(path):
        return False
    database = Database(path)
    try:
        if not database.is_current or database.heads() != heads:
            return False
        return said(database) != said_by(links)
    except sqlite3.DatabaseError:
        return True
    finally:
        database.close()


def said_by(links: Iterable[Link]) -> dict[str, list[tuple[Any, ...]]]:
    """What the events come to; raises `ValueError`, `sqlite3.IntegrityError` where they do not fit together."""
    database = Database(None)
    try:
        database.create(links)
        return said(database)
    finally:
        database.close()


def said(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """What a database says, in the order of the rows.

    Not the summaries, which it may or may not keep, nor what preceded an event when it was added: that may be dropped.
    """
    return database.rows(without=("summary", "is_empty", "previous"))
