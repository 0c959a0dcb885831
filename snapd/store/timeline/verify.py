"""Whether a database of the timeline can be used: it is sealed, and matches the events.

After it is closed, its digest is written beside it, and the file is used only if that matches. So it needs no sync and
no order of writes while it is open. Whatever happens to it (a killed process, a power cut, a full disk, a damaged disk,
half a copy), the digest is missing or does not match.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any

from snapd.failpoints import failpoint
from snapd.model.snapshot import ObjectId
from snapd.store.files.durable import PRIVATE_FILE, remove_if_there

from .chain import Link
from .database import Database

_CHUNK = 1 << 20


def seal(path: str) -> None:
    """Writes the digest of the file; raises `OSError`."""
    digest = _digest(path)
    failpoint("seal.write")
    descriptor = os.open(_seal_of(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(digest)


def is_sealed(path: str) -> bool:
    """Whether the file exists and matches its digest; raises `OSError`."""
    try:
        with open(_seal_of(path), "rb") as file:
            return file.read() == _digest(path)
    except FileNotFoundError:
        return False


def fresh(path: str) -> None:
    """Replaces the file by an empty private one; raises `OSError`."""
    failpoint("seal.fresh")
    remove(path)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))


def remove(path: str) -> None:
    """Removes the file and its digest; raises `OSError`."""
    for name in (_seal_of(path), path):
        remove_if_there(name)


def _seal_of(path: str) -> str:
    return f"{path}.sha1"


def _digest(path: str) -> bytes:
    digest = hashlib.sha1()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest().encode()


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
    if not is_sealed(path):
        return False
    database = Database(path)
    try:
        if not database.is_current or database.heads() != heads:
            return False
        return database.rows() != rows_of(links)
    except sqlite3.DatabaseError:
        return True
    finally:
        database.close()


def rows_of(links: Iterable[Link]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of a new database with these events; raises as `differs`."""
    with closing(Database.made(None, links)) as database:
        return database.rows()
