"""Decides which folders cannot be workspaces."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.model.errors import WorkspaceRefused
from snapd.model.paths import is_tree_name, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

_CHECK_PATH = "check the path of the folder"


def canonical_root(folder: bytes) -> bytes:
    """The folder's canonical path. Raises `WorkspaceRefused` if it is not a directory."""
    try:
        root = os.path.realpath(folder, strict=True)
    except (OSError, ValueError) as error:
        raise _refused(folder, "it does not exist or cannot be reached", _CHECK_PATH) from error
    if not os.path.isdir(root):
        raise _refused(folder, "it is not a directory", _CHECK_PATH)
    return root


def check_root(root: bytes, home: bytes, data: bytes, data_inside: bool, allowed: Iterable[bytes]) -> None:
    """Raises `WorkspaceRefused` if a folder may not be a workspace.

    That is `/`, the home directory, a folder in a `.git`, in or around the stores (`data`) unless the user put them
    inside it (`data_inside`), or another user's, unless it is in one of the `allowed` absolute folders.
    """
    if os.path.dirname(root) == root:
        raise _refused(root, "it is the root of the file system")
    if _same(root, home):
        raise _refused(root, "it is the home directory")
    if not all(is_tree_name(part) for part in root.split(b"/")):
        raise _refused(root, "it lies in a .git")
    store = os.path.realpath(data)
    if _is_within(root, store):
        raise _refused(root, "it lies in snapd's own data")
    if store.startswith(root + b"/") and not data_inside:
        raise _refused(root, "snapd's own data lies in it")
    owner = os.stat(root).st_uid
    if owner != os.geteuid() and not any(_is_within(root, os.path.realpath(folder)) for folder in allowed):
        raise _refused(
            root, f"it belongs to another user ({owner})", "name it in `allow_foreign` in config.toml to open it"
        )


def _is_within(path: bytes, folder: bytes) -> bool:
    return path == folder or path.startswith(folder.rstrip(b"/") + b"/")


def _same(one: bytes, other: bytes) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _refused(folder: bytes, why: str, hint: str | None = None) -> WorkspaceRefused:
    return WorkspaceRefused(f"{shown(folder)} cannot be a workspace: {why}", hint=hint, path=shown(folder), reason=why)
