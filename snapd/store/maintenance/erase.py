"""Empties a store: every snapshot and every event goes, and nothing is left of what they held.

It is noted first, durably. Whoever opens a store where that is noted ends it before anything is read: what is half
there would be no history that anybody understands.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from snapd.core.errors import os_errors
from snapd.store.files.durable import (
    make_directories,
    remove_any,
    remove_if_there,
    sync_directory,
    sync_if_there,
    write_file,
)
from snapd.store.files.quarantine import QUARANTINE

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTE = "erasing"

_DIRECTORIES = ("journal", "packing", QUARANTINE, "logs")
_FILES = ("packed-refs", "intent", "unswept", "worktree", "timeline.db", "timeline.db.sha1", "timeline.db-journal")


def note_erasing(path: str) -> None:
    """Notes durably that a store is to be emptied; raises `StorageFull`, `IoError`: it is not noted."""
    note = os.path.join(path, NOTE)
    try:
        write_file(note, b"1\n")
    except BaseException:
        # its name may be there, and it is the name that counts
        with contextlib.suppress(OSError):
            remove_if_there(note)
        raise


def erase_noted(path: str) -> bool:
    """Empties a store where that is noted.

    Args:
        path: its directory, which is this process's alone.

    Returns:
        Whether it was.

    Raises:
        IoError: some of it is there still, and the note as well.
    """
    note = os.path.join(path, NOTE)
    with os_errors(path):
        if not os.path.exists(note):
            return False
        for name in _FILES:
            remove_if_there(os.path.join(path, name))
        for name in _contents(path):
            remove_any(name)
        for name in _in(os.path.join(path, "objects", "pack")):
            remove_any(os.path.join(path, "objects", "pack", name))
        # a removal that was cut short may have left none of these
        make_directories(os.path.join(path, "objects", "info"))
        for above in ("refs/snapd", "objects/pack", "objects", ""):
            sync_if_there(os.path.join(path, above))
        remove_if_there(note)
        sync_directory(path)
    return True


def _contents(path: str) -> Iterator[str]:
    """What goes as a whole: references first, so that nothing refers to what is gone."""
    for name in _in(os.path.join(path, "refs", "snapd")):
        yield os.path.join(path, "refs", "snapd", name)
    for name in _DIRECTORIES:
        if os.path.isdir(os.path.join(path, name)):
            yield os.path.join(path, name)
    for name in _in(os.path.join(path, "objects")):
        if name != "pack":
            yield os.path.join(path, "objects", name)


def _in(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
