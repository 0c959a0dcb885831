"""Remembers what an install wrote into a file, so that an uninstall leaves the file exactly as it was.

A record holds the inserted text and where it went, and no other text of the file: settings hold secrets.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from snapd.store.files.durable import make_directories, remove_if_there, write_file

from .insertion import Insertion
from .settings_file import read

if TYPE_CHECKING:
    from snapd.locations import Locations


@dataclass(frozen=True)
class Record:
    """What was done to one file.

    Attributes:
        existed: whether it was there before.
        digest: of the file as the install left it.
        pieces: what was inserted, with the places in that file.
        made: directories that were made for it, the outermost first.
    """

    existed: bool
    digest: str
    pieces: list[Insertion] = field(default_factory=list)
    made: list[str] = field(default_factory=list)


class Records:
    """The records of one user.

    Args:
        locations: of the user.
    """

    def __init__(self, locations: Locations) -> None:
        self._directory = os.path.join(locations.data, "snapd", "agents")

    def get(self, path: str) -> Record | None:
        """The record of a file; None if there is none that can be read: the file itself says what is snapd's, too."""
        data = read(self._path(path))
        if data is None:
            return None
        try:
            found = json.loads(data)
            pieces = [Insertion(**piece) for piece in found.pop("pieces")]
            record = Record(**found, pieces=pieces)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None
        return record

    def put(self, path: str, record: Record) -> None:
        """Keeps the record of a file.

        Raises:
            IoError, StorageFull: it was not written.
        """
        make_directories(self._directory)
        write_file(self._path(path), json.dumps(asdict(record), indent=1).encode())

    def drop(self, path: str) -> None:
        """Forgets a file."""
        remove_if_there(self._path(path))

    def _path(self, path: str) -> str:
        name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]
        return os.path.join(self._directory, f"{name}.json")


def digest(data: bytes) -> str:
    """What tells whether a file is as it was."""
    return hashlib.sha256(data).hexdigest()
