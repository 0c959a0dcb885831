"""Finds files that were moved between two trees, by libgit2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffOption

from snapd.core.errors import StoreCorrupt
from snapd.core.model import SYMLINK, TREE, TreeEntry
from snapd.core.paths import parents
from snapd.core.trees import changes
from snapd.store.objects.codec import NUMBERS, encode_tree, object_id
from snapd.store.objects.libgit2 import Supplied, supplied

if TYPE_CHECKING:
    from collections.abc import Mapping

    from snapd.core.model import Entry, ObjectId, RelPath

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
    gone: dict[RelPath, Entry] = {}
    come: dict[RelPath, Entry] = {}
    for change in changes(repository.read_tree, old, new, differing=repository.differing):
        if change.new is None and change.old is not None:
            gone[change.path] = change.old
        elif change.old is None and change.new is not None:
            come[change.path] = change.new
    if not gone or not come:
        return {}
    backend = Supplied(repository)
    handle = supplied(backend)
    try:
        # libgit2 would read every directory of both trees
        before, after = (handle[pygit2.Oid(raw=_tree_of(files, backend))] for files in (gone, come))
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


def _tree_of(files: Mapping[RelPath, Entry], backend: Supplied) -> ObjectId:
    """Makes the trees of some files in memory, and gives the id of the root."""
    folders: dict[bytes, list[TreeEntry]] = {b"": []}
    for path, entry in files.items():
        folder, _, name = path.rpartition(b"/")
        folders.setdefault(folder, []).append(TreeEntry(name, entry.mode, entry.oid))
        for above in parents(path):
            folders.setdefault(above, [])
    oid = b""
    # the deepest first: each is then an entry of the one above
    for folder in sorted(folders, key=lambda folder: (folder != b"", folder.count(b"/")), reverse=True):
        data = encode_tree(folders[folder])
        oid = object_id("tree", data)
        backend.objects[oid] = NUMBERS["tree"], data
        if folder:
            above, _, name = folder.rpartition(b"/")
            folders[above].append(TreeEntry(name, TREE, oid))
    return oid


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
