"""Finds files that were moved between two trees, by libgit2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffOption

from snapd.core.errors import StoreCorrupt
from snapd.core.model import SYMLINK
from snapd.store.objects.libgit2 import Supplied, supplied

if TYPE_CHECKING:
    from snapd.core.model import ObjectId, RelPath

    from .repository import ShadowRepository

_SIMILAR_PERCENT = 50
_CANDIDATES = 1000


def renames(repository: ShadowRepository, old: ObjectId, new: ObjectId) -> dict[RelPath, RelPath]:
    """Finds files that were moved, as `git diff -M` does: at least half of their text is the same.

    Args:
        repository: holds both trees.
        old: tree id.
        new: tree id.

    Returns:
        The old path by the new one.

    Raises:
        StoreCorrupt: an object is missing or damaged.
        IoError: one cannot be read now.
    """
    backend = Supplied(repository)
    handle = supplied(backend)
    try:
        before, after = (handle[pygit2.Oid(raw=oid)] for oid in (old, new))
        assert isinstance(before, pygit2.Tree)
        assert isinstance(after, pygit2.Tree)
        diff = before.diff_to_tree(after, flags=DiffOption.NORMAL)
        how = DiffFind.FIND_RENAMES | DiffFind.FIND_DONT_IGNORE_WHITESPACE
        diff.find_similar(how, rename_threshold=_SIMILAR_PERCENT, rename_limit=_CANDIDATES)
        found = {
            delta.new_file.raw_path: delta.old_file.raw_path
            for delta in diff.deltas
            if delta.status == DeltaStatus.RENAMED
        }
        return found | _moved_links(diff)
    except (KeyError, pygit2.GitError) as error:
        if backend.error is not None:
            raise backend.error from error
        raise StoreCorrupt(
            f"trees {old.hex()} and {new.hex()} cannot be compared: {error}", object=new.hex()
        ) from error


def _moved_links(diff: pygit2.Diff) -> dict[RelPath, RelPath]:
    """Symlinks that were removed and added with the same target: libgit2 compares regular files only."""
    gone: dict[pygit2.Oid, list[RelPath]] = {}
    for delta in diff.deltas:
        if delta.status == DeltaStatus.DELETED and delta.old_file.mode == SYMLINK:
            gone.setdefault(delta.old_file.id, []).append(delta.old_file.raw_path)
    return {
        delta.new_file.raw_path: gone[delta.new_file.id].pop(0)
        for delta in diff.deltas
        if delta.status == DeltaStatus.ADDED and delta.new_file.mode == SYMLINK and gone.get(delta.new_file.id)
    }
