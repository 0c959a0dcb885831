"""The stores of a user, whether or not their folders still exist."""

from __future__ import annotations

import json
import os
import shutil

import attrs

from snapd.model.errors import os_errors
from snapd.store.files.lock import Ownership
from snapd.store.files.walking import files_below, names_if_there
from snapd.store.maintenance.erase import erase_noted, note_erasing


@attrs.frozen
class Found:
    """A store.

    Attributes:
        path: its directory.
        root: the folder of the store; None if that is unknown.
    """

    path: str
    root: str | None

    @property
    def is_missing(self) -> bool:
        """Whether the folder does not exist: it was deleted or moved, or its disk is not mounted."""
        return self.root is not None and not os.path.isdir(self.root)


def stores(directory: str) -> list[Found]:
    """The stores in a directory, sorted by their folders.

    Args:
        directory: the parent directory of the stores.

    Raises:
        IoError: it cannot be listed.
    """
    paths = [os.path.join(directory, name) for name in names_if_there(directory)]
    found = [Found(path, _root(path)) for path in paths if os.path.exists(os.path.join(path, "HEAD"))]
    return sorted(found, key=lambda store: (store.root or "", store.path))


def remove(path: str) -> int:
    """Removes a store.

    Args:
        path: its directory.

    Returns:
        The bytes of its files.

    Raises:
        StoreLocked: a process owns it.
        IoError: a part is left.
    """
    ownership = Ownership(path, None)
    try:
        with os_errors(path):
            size = sum(status.st_size for _, status in files_below(path))
            # if this is interrupted, the next opening of the rest finishes the erasing
            note_erasing(path)
            erase_noted(path)
            shutil.rmtree(path)
    finally:
        ownership.release()
    return size


def _root(path: str) -> str | None:
    try:
        with open(os.path.join(path, "root.json"), encoding="ascii") as file:
            root = json.load(file).get("path")
    except (OSError, ValueError, AttributeError):
        return None
    return root if isinstance(root, str) else None
