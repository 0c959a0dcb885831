"""The stores of a user, whether their folders are there or not."""

from __future__ import annotations

import json
import os
import shutil

import attrs

from snapd.core.errors import os_errors
from snapd.store.files.lock import Ownership
from snapd.store.files.walking import walked
from snapd.store.maintenance.erase import erase_noted, note_erasing


@attrs.frozen
class Found:
    """A store.

    Attributes:
        path: its directory.
        root: the folder that it belongs to; None if nobody knows.
    """

    path: str
    root: str | None

    @property
    def is_missing(self) -> bool:
        """Whether there is no such folder now: it was deleted or moved, or its disk is not there."""
        return self.root is not None and not os.path.isdir(self.root)


def stores(directory: str) -> list[Found]:
    """The stores in a directory, ordered by their folders.

    Args:
        directory: where stores lie side by side.

    Raises:
        IoError: it cannot be listed.
    """
    with os_errors(directory):
        try:
            names = os.listdir(directory)
        except FileNotFoundError:
            return []
    paths = [os.path.join(directory, name) for name in names]
    found = [Found(path, _root(path)) for path in paths if os.path.exists(os.path.join(path, "HEAD"))]
    return sorted(found, key=lambda store: (store.root or "", store.path))


def remove(path: str) -> int:
    """Removes a store with all that is in it.

    Args:
        path: its directory.

    Returns:
        The bytes of its files.

    Raises:
        StoreLocked: a process owns it.
        IoError: some of it is there still.
    """
    ownership = Ownership(path, None)
    try:
        with os_errors(path):
            size = sum(
                os.lstat(os.path.join(above, name)).st_size for above, _, names in walked(path) for name in names
            )
            # whoever opens what is left of it, should this be cut short, ends the erasing first
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
