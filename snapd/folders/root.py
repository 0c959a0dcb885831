"""Finds the folder that a command, a hook or an editor works on, and other folders with snapshots of the same files."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from snapd.locations import project_id, store_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.locations import Locations

_HISTORY = ("refs/snapd", "journal")
"""The directories of a store that hold something as soon as there is a snapshot or a session."""


def root_of(start: str, home: str, store_of: Callable[[str], str]) -> str:
    """Finds the folder whose snapshots have the files of a directory.

    That is the nearest folder, the directory itself first, that has a history or is the root of a git work tree. So a
    repository is a workspace of its own, although the snapshots of a folder around it have its files, too.

    Args:
        start: the directory, absolute.
        home: the user's home directory, which cannot be a workspace, even if it is a git work tree.
        store_of: gives the directory of a folder's store, which need not exist.

    Returns:
        The folder, absolute; the directory itself if there is no such folder around it.
    """
    folder = start
    while True:
        if has_history(store_of(folder)) or os.path.lexists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above in (folder, home):
            return start
        folder = above


def folder_around(start: str, locations: Locations, data_dir: str | None) -> str:
    """Finds the folder whose snapshots have the files of a directory, as `root_of` does, with links followed.

    Args:
        start: the directory, absolute.
        locations: of the user.
        data_dir: the setting of that name.
    """
    stores = partial(store_of, locations=locations, data_dir=data_dir)
    found = root_of(start, locations.home, stores)
    real = os.path.realpath(start)
    if found != start or real == start:
        return found
    # a link leads into a folder that is not around the link
    found = root_of(real, locations.home, stores)
    return start if found == real else found


def store_of(folder: str, locations: Locations, data_dir: str | None) -> str:
    """The directory of a folder's store, which need not exist; the arguments are those of `folder_around`."""
    above = os.path.join(folder, data_dir) if data_dir else locations.data
    return store_path(os.path.realpath(above), project_id(os.path.realpath(os.fsencode(folder))))


def has_history(store: str) -> bool:
    """Whether a store, which need not exist, has snapshots or sessions."""
    if os.path.exists(os.path.join(store, "packed-refs")):
        return True
    return any(_has_entries(os.path.join(store, name)) for name in _HISTORY)


def read_root_note(store: str) -> dict[str, Any]:
    """What a store says of its folder: its `path`, `device` and `inode`, and more; empty if it says nothing."""
    try:
        with open(os.path.join(store, "root.json"), "rb") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("path"), str) else {}


def folder_of_store(store: str) -> str | None:
    """Reads which folder a store belongs to, or did; None if it does not say."""
    return read_root_note(store).get("path")


def is_folder_of(store: str, folder: str) -> bool:
    """Whether a folder has the inode number that its store has noted; `former.is_another` knows more."""
    return read_root_note(store).get("inode") == os.stat(folder).st_ino


def overlapping(folder: str, stores: str) -> list[str]:
    """Lists the other folders with a history that lie around a folder or in it, so that both capture the same files.

    Args:
        folder: absolute and canonical.
        stores: the directory of all stores.
    """
    found = []
    for name in sorted(os.listdir(stores)) if os.path.isdir(stores) else ():
        store = os.path.join(stores, name)
        other = folder_of_store(store)
        if other is None or not os.path.isdir(other) or not has_history(store):
            continue
        inner, outer = sorted((folder, other), key=len, reverse=True)
        # also where the inner one is a repository: snapshots have the files of those below
        if inner.startswith(outer.rstrip("/") + "/"):
            found.append(other)
    return found


def _has_entries(directory: str) -> bool:
    try:
        with os.scandir(directory) as entries:
            return any(True for _ in entries)
    except (FileNotFoundError, NotADirectoryError):
        return False
