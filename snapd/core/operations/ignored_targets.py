"""Finds the ignored files that an operation is going to write over: they are captured first, or they would be lost.

For any other reason, an ignored file is neither captured nor deleted.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from snapd.core.model import TREE
from snapd.core.trees import changes, files, lookup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from snapd.core.call import Call
    from snapd.core.model import ObjectId, RelPath
    from snapd.core.ports.objects import Objects
    from snapd.core.ports.work_tree import WorkTree


def wanted_by_restore(objects: Objects, now: ObjectId, then: ObjectId) -> Iterator[RelPath]:
    """Finds the files that a snapshot has and the work tree lacks.

    Args:
        objects: holds the snapshots.
        now: the tree of the captured work tree.
        then: the tree of the snapshot.

    Raises:
        StoreCorrupt: an object is missing or damaged.
    """
    for change in changes(objects.read_tree, now, then, differing=objects.differing):
        if change.old is None:
            yield change.path


def wanted_by_patches(objects: Objects, patches: Iterable[tuple[ObjectId, Iterable[RelPath]]]) -> Iterator[RelPath]:
    """Finds the files that some names stand for in snapshots; a directory is all files in it. Raises `StoreCorrupt`."""
    for tree, names in patches:
        for name in names:
            found = lookup(objects.entry_in, tree, name)
            if found is not None and found.mode == TREE:
                yield from (path for path, _ in files(objects.read_tree, found.oid, name))
            elif found is not None:
                yield name


def ignored_files(work_tree: WorkTree, paths: Iterable[RelPath], call: Call) -> frozenset[RelPath]:
    """Filters some paths for those with a file or symlink that the last capture ignored.

    Raises:
        IoError: the disk failed.
        Cancelled: the request was cancelled.
    """
    found = set()
    for path in paths:
        call.check()
        if work_tree.is_ignored(path):
            occupant = work_tree.occupant(path)
            if occupant is not None and (stat.S_ISREG(occupant.st_mode) or stat.S_ISLNK(occupant.st_mode)):
                found.add(path)
    return frozenset(found)
