"""Separates what others changed while an operation ran from what the operation did."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import attrs

from snapd.core.model import TREE, Snapshot
from snapd.core.paths import parents
from snapd.core.trees import amended, changes, is_among, lookup

from .target import Target

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from snapd.core.model import Change, Coverage, Entry, ObjectId, RelPath
    from snapd.core.ports.store import Objects
    from snapd.core.ports.work_tree import WorkTree
    from snapd.core.timeline.model import Effect
    from snapd.core.trees import Find


def without_concurrent_edits(
    objects: Objects,
    work_tree: WorkTree,
    before: Snapshot,
    after: Snapshot,
    done: Iterable[Effect],
    forced: Collection[RelPath],
) -> Snapshot:
    """Makes the snapshot that an operation alone would have left.

    Args:
        objects: holds both snapshots; receives the tree of the result.
        work_tree: the folder, as of the capture `after`.
        before: the work tree when the operation began.
        after: the work tree when it had ended.
        done: what it did to files.
        forced: ignored paths that it looked at all the same, and that neither snapshot has.

    Returns:
        `after` itself if nobody else changed anything.

    Raises:
        StoreCorrupt, StorageFull, IoError: the tree was not read or not stored.
    """
    foreign = _foreign_changes(objects, work_tree, before, after, {effect.path: effect for effect in done}, forced)
    if not foreign:
        return after
    removed = {path: entry for path, entry in foreign.items() if entry is None}
    restored = {path: entry for path, entry in foreign.items() if entry is not None}
    # removals first: a file may have to make room for a directory
    return with_files(objects, with_files(objects, after, removed), restored)


def with_files(objects: Objects, snapshot: Snapshot, entries: Mapping[RelPath, Entry | None]) -> Snapshot:
    """Stores a snapshot that differs from another in some files; raises as `without_concurrent_edits`."""
    with objects.batch() as batch:
        tree = amended(objects.read_tree, snapshot.tree, entries, batch.encoded_tree)
        batch.commit()
    return Snapshot(tree, agreeing(objects.entry_in, tree, snapshot.coverage))


def agreeing(find: Find, tree: ObjectId, coverage: Coverage) -> Coverage:
    """Drops from a coverage the paths at which the tree has something: what it says of them was somebody else's."""

    def is_absent(path: RelPath) -> bool:
        above = (lookup(find, tree, folder) for folder in parents(path))
        return lookup(find, tree, path) is None and all(found is None or found.mode == TREE for found in above)

    return attrs.evolve(
        coverage,
        empty_dirs=tuple(filter(is_absent, coverage.empty_dirs)),
        skipped=tuple(skip for skip in coverage.skipped if is_absent(skip.path)),
    )


def _foreign_changes(
    objects: Objects,
    work_tree: WorkTree,
    before: Snapshot,
    after: Snapshot,
    done: dict[RelPath, Effect],
    forced: Collection[RelPath],
) -> dict[RelPath, Entry | None]:
    """Finds the paths that somebody else changed, with what the operation alone would have left there."""
    target = Target(objects, before)
    forced = frozenset(forced)
    found: dict[RelPath, Entry | None] = {}
    seen = set()
    skipped = {skip.path for skip in after.coverage.skipped}
    for change in changes(objects.read_tree, before.tree, after.tree, differing=objects.differing):
        seen.add(change.path)
        effect = done.get(change.path)
        if effect is None:
            if not _is_by_rules(change, target, work_tree, skipped):
                found[change.path] = change.old
        elif not _same_bytes(effect.new, change.new):
            found[change.path] = effect.new
    for path, effect in done.items():
        # others may have reversed what the operation did
        if path not in seen and effect.old != effect.new and not (forced and is_among(path, forced)):
            found[path] = effect.new
    return found


def _same_bytes(wanted: Entry | None, found: Entry | None) -> bool:
    """Whether the operation wrote this file: its permissions may be narrower than asked for."""
    return wanted == found or (wanted is not None and found is not None and wanted.oid == found.oid)


def _is_by_rules(change: Change, target: Target, work_tree: WorkTree, skipped: Collection[RelPath]) -> bool:
    """Whether only the capture of a file changed, because the operation changed an ignore file."""
    if change.new is None:
        if any(path in skipped for path in (change.path, *parents(change.path))):
            return True
        occupant = work_tree.occupant(change.path)
        return occupant is not None and not stat.S_ISDIR(occupant.st_mode)
    return change.old is None and target.protection(change.path) is not None
