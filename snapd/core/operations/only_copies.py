"""What no snapshot has, and an operation would delete or write over: it is captured, gets a former name, or stays."""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from hashlib import sha1

import attrs

from snapd.model.call import Call
from snapd.model.paths import folders_above, parents
from snapd.model.plan import MoveDirectory, Plan, Write
from snapd.model.snapshot import TEN_MIB, TREE, FileOutcome, ObjectId, Origin, RelPath
from snapd.model.trees import changes, files, lookup
from snapd.store.object_store import ObjectStore
from snapd.worktree.worktree import WorkTree

from .target import Target


def wanted_by_restore(objects: ObjectStore, now: ObjectId, then: ObjectId) -> Iterator[RelPath]:
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


def wanted_by_patches(objects: ObjectStore, patches: Iterable[tuple[ObjectId, Iterable[RelPath]]]) -> Iterator[RelPath]:
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


def uncaptured_origin(origins: Iterable[Origin]) -> RelPath | None:
    """The last name under which something was not captured; None if it always was."""
    return next((origin.path for origin in reversed(tuple(origins)) if origin.uncaptured), None)


def with_only_copies(
    plan: Plan,
    work_tree: WorkTree,
    moved: Mapping[RelPath, RelPath],
    targets: Collection[Target],
    is_free: Callable[[RelPath], bool],
) -> Plan:
    """The same plan, with the moves of what no snapshot has; what cannot be moved is not deleted.

    Args:
        plan: with the directories that move as a whole.
        work_tree: the folder, as of the capture that the plan was made from.
        moved: the new names of files that are not to be deleted or replaced.
        targets: the snapshots that the files come from.
        is_free: whether something can get a name.
    """
    deletes = {delete.path for delete in plan.deletes}
    writes = {write.path: write for write in plan.writes}
    moves = list(plan.moves)
    around = {move.old for move in moves} | {move.new for move in moves}
    kept: dict[RelPath, FileOutcome] = {}

    def is_moving(path: RelPath) -> bool:
        return not around.isdisjoint((path, *parents(path)))

    moves += (
        MoveDirectory(old, new, uncaptured=True)
        for old, new in moved.items()
        if not is_moving(old) and (old in deletes or old in writes)
    )
    folders = folders_above(writes)
    for path, origins in work_tree.origins.items():
        if is_moving(path) or not work_tree.is_directory(path):
            continue
        was = uncaptured_origin(origins)
        if was is None:
            # its files go back to where it was, and the rest stays
            if any(work_tree.foreign_below(path)) and any(origin.path in folders for origin in origins):
                kept[path] = FileOutcome(path, "kept", "directoryNotEmpty")
            continue
        below = list(work_tree.captured_below(path))
        inside = [name for name in below if name in deletes]
        if inside and len(inside) == len(below) and is_free(was):
            moves.append(MoveDirectory(path, was, uncaptured=True))
        else:
            kept.update((name, FileOutcome(name, "kept", "onlyCopy")) for name in inside)
    for target in targets:
        moves += (move for move in _again(target, writes, work_tree) if not is_moving(move.new))
    return attrs.evolve(
        plan,
        deletes=tuple(delete for delete in plan.deletes if delete.path not in kept),
        settled=(*plan.settled, *kept.values()),
        moves=tuple(sorted(moves, key=lambda move: move.new)),
    )


def _again(target: Target, writes: Mapping[RelPath, Write], work_tree: WorkTree) -> Iterator[MoveDirectory]:
    """Finds what was not captured before it got a name that it is to have again, if it still is what it was."""
    for path, origins in target.snapshot.coverage.origins:
        was = uncaptured_origin(origins)
        coming = [
            write for write in writes.values() if write.captured is None and path in (write.path, *parents(write.path))
        ]
        if was and coming and work_tree.captured(was) is None and work_tree.occupant(path) is None:
            there = ((was + write.path[len(path) :], write) for write in coming)
            if all(_is_there(work_tree.content(name, TEN_MIB), write) for name, write in there):
                yield MoveDirectory(was, path, uncaptured=True)


def _is_there(data: bytes | None, write: Write) -> bool:
    return data is not None and sha1(b"blob %d\0%b" % (len(data), data)).digest() == write.entry.oid
