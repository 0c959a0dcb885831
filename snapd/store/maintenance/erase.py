"""Empties a store: removes every snapshot and every event with all their objects.

That is first noted durably. If the process dies, the next opening finishes the work before it reads anything.
"""

from __future__ import annotations

import contextlib
import os

from snapd.model.errors import os_errors
from snapd.store.files.durable import (
    make_directories,
    names_if_there,
    remove_any,
    remove_if_there,
    sync_directory,
    sync_if_there,
    write_file,
)
from snapd.store.files.quarantine import QUARANTINE
from snapd.store.files.space import PROJECT
from snapd.store.journal.journal import JOURNAL
from snapd.store.notes import NUMBERS, Notes

NOTE = "erasing"

MIRRORS = "mirrors"
"""The directory of a store with everything fetched from other machines."""

MIRROR_INDEX = "mirrors.db"
"""The file of a store with the names in it."""

_DIRECTORIES = (JOURNAL, "packing", QUARANTINE, "logs", MIRRORS, PROJECT)
_FILES = (
    "packed-refs",
    "worktree",
    # of a store of format 2, see `upgrade`
    "intent",
    "unswept",
    "handovers.json",
    "timeline.db",
    "timeline.db.sha1",
    "timeline.db-journal",
    "timeline.db-wal",
    "timeline.db-shm",
    "mirrors.db",
    "mirrors.db-journal",
)


def note_erasing(path: str) -> None:
    """Notes durably that a store is to be emptied; after `StorageFull` or `IoError`, it is not noted."""
    note = os.path.join(path, NOTE)
    try:
        write_file(note, b"1\n")
    except BaseException:
        # the file may exist already, and only its existence counts
        with contextlib.suppress(OSError):
            remove_if_there(note)
        raise


def finish_erasing_if_noted(path: str) -> bool:
    """Empties a store, which this process owns, if that is noted, and returns whether it was; the note goes last."""
    note = os.path.join(path, NOTE)
    with os_errors(path):
        if not os.path.exists(note):
            return False
        # no number of a notification is used twice
        Notes(path).keep_only([NUMBERS])
        # references first, so that nothing refers to a removed object
        for name in (*_FILES, *_below(path, "refs/snapd"), *_DIRECTORIES, *_below(path, "objects")):
            if name != "objects/pack":
                remove_any(os.path.join(path, name))
        for name in _below(path, "objects/pack"):
            remove_any(os.path.join(path, name))
        # an earlier attempt may have removed these
        make_directories(os.path.join(path, "objects", "info"))
        for above in ("refs/snapd", "objects/pack", "objects", ""):
            sync_if_there(os.path.join(path, above))
        remove_if_there(note)
        sync_directory(path)
    return True


def _below(path: str, directory: str) -> list[str]:
    return [os.path.join(directory, name) for name in names_if_there(os.path.join(path, directory))]
