"""Finds the folder that a command, hook or editor works on, and other folders with snapshots of the same files."""

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
"""Directories of a store that have entries once there is a snapshot or session."""


def root_of(start: str, home: str, store_of: Callable[[str], str]) -> str:
    """Returns the folder whose snapshots have the files of a directory; the directory itself if there is none.

    That is the nearest folder, the directory itself first, that has a history or is the root of a git work tree. So a
    repository is a workspace of its own, even if the snapshots of a folder around it contain its files. `home` cannot
    be a workspace, even if it is a git work tree. `store_of` returns the path of a folder's store.
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
    """Like `root_of`, with links followed; `data_dir` is the setting of that name."""
    stores = partial(store_of, locations=locations, data_dir=data_dir)
    text = root_of(start, locations.home, stores)
    real = os.path.realpath(start)
    if text != start or real == start:
        return text
    # the target of a link may be in another folder
    text = root_of(real, locations.home, stores)
    return start if text == real else text


def store_of(folder: str, locations: Locations, data_dir: str | None) -> str:
    """Returns the directory of a folder's store, which need not exist."""
    above = os.path.join(folder, data_dir) if data_dir else locations.data
    return store_path(os.path.realpath(above), project_id(os.path.realpath(os.fsencode(folder))))


def has_history(store: str) -> bool:
    """Returns whether a store, which need not exist, has snapshots or sessions."""
    if os.path.exists(os.path.join(store, "packed-refs")):
        return True
    return any(_has_entries(os.path.join(store, name)) for name in _HISTORY)


def read_root_note(store: str) -> dict[str, Any]:
    """Returns what a store recorded of its folder: `path`, `device`, `inode` and more; may be empty."""
    try:
        with open(os.path.join(store, "root.json"), "rb") as file:
            result = json.load(file)
    except (OSError, ValueError):
        return {}
    return result if isinstance(result, dict) and isinstance(result.get("path"), str) else {}


def folder_of_store(store: str) -> str | None:
    """Returns the path of the folder that a store belongs or belonged to; None if unknown."""
    return read_root_note(store).get("path")


def is_folder_of(store: str, folder: str) -> bool:
    """Returns whether a folder has the inode number in its store; `former.is_another` checks more."""
    return read_root_note(store).get("inode") == os.stat(folder).st_ino


def overlapping(folder: str, stores: str) -> list[str]:
    """Lists the other folders with a history around or in a folder (a canonical path): both capture the same files."""
    matches = []
    for name in sorted(os.listdir(stores)) if os.path.isdir(stores) else ():
        store = os.path.join(stores, name)
        other = folder_of_store(store)
        if other is None or not os.path.isdir(other) or not has_history(store):
            continue
        inner, outer = sorted((folder, other), key=len, reverse=True)
        # even if the inner one is a repository: snapshots of the outer one contain its files
        if inner.startswith(outer.rstrip("/") + "/"):
            matches.append(other)
    return matches


def _has_entries(directory: str) -> bool:
    try:
        with os.scandir(directory) as entries:
            return any(True for _ in entries)
    except (FileNotFoundError, NotADirectoryError):
        return False
