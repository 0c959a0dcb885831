"""Keeps an operation from deleting what no snapshot has: it gets a former name by a rename, or stays where it is."""

from __future__ import annotations

from hashlib import sha1
from typing import TYPE_CHECKING

import attrs

from snapd.core.model import TEN_MIB, FileOutcome
from snapd.core.paths import folders_above, parents
from snapd.core.plan import MoveDirectory

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from snapd.core.model import Origin, RelPath
    from snapd.core.plan import Plan, Write
    from snapd.core.ports.work_tree import WorkTree

    from .target import Target


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
