"""Handles what no snapshot has: it blocks a change, is captured first, moves, or stays, and is never lost."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import takewhile
from typing import TypeVar

import attrs

from snapd.model.call import Call
from snapd.model.errors import StoreCorrupt
from snapd.model.paths import folders_above, parents, shown
from snapd.model.plan import MoveDirectory, Plan, Write
from snapd.model.snapshot import SYMLINK, TEN_MIB, FileOutcome, FormerName, RelPath, Snapshot
from snapd.store.objects.codec import object_id
from snapd.worktree.worktree import WorkTree

from .patch import Target


class Obstacles:
    """What blocks new files and directories in one folder, once some files are deleted.

    `current` is the snapshot taken for the operation. More `deletes` may be added, in the order in which paths are
    checked.
    """

    def __init__(self, work_tree: WorkTree, current: Snapshot, deletes: Collection[RelPath] = ()) -> None:
        self._work_tree = work_tree
        self._deletes = deletes
        self._skips = {skip.path: skip.reason.value for skip in current.coverage.skipped}
        # one answer for each directory, however many files lie below it
        self._ways: dict[RelPath, tuple[RelPath, str] | None] = {}
        self._missing: set[RelPath] = set()
        self._links: dict[RelPath, RelPath | None] = {}

    def of_file(self, path: RelPath, target: Target | None) -> str | None:
        """Returns what prevents writing a new file where nothing is captured; no target if it comes from several."""
        if (why := self.skipped(path)) is not None:
            return why
        if (blocked := self._blocked_way(path)) is not None:
            above, why = blocked
            if self._work_tree.captured(above) is not None and target is not None and target.entry(above):
                raise StoreCorrupt(f"{shown(above)} is a file and a folder in the snapshot", object=shown(above))
            return why
        result = self._occupant(path)
        if result is None:
            return None
        if not (stat.S_ISDIR(result.st_mode) and self._work_tree.is_directory(path)):
            return "ignored"
        if any(self._work_tree.foreign_below(path)):
            return "directoryNotEmpty"
        return None if all(below in self._deletes for below in self._work_tree.captured_below(path)) else "inTheWay"

    def of_directory(self, path: RelPath) -> str | None:
        """Returns what prevents making an empty directory."""
        blocked = self._blocked_way(path)
        return self.skipped(path) or (blocked[1] if blocked is not None else self._why_no_directory(path))

    def uncaptured(self, path: RelPath) -> str | None:
        """Returns why something is at a path although no file is captured there."""
        if (why := self.skipped(path)) is not None:
            return why
        result = self._work_tree.occupant(path)
        is_there = result is not None and not (stat.S_ISDIR(result.st_mode) and self._work_tree.is_directory(path))
        return "ignored" if is_there else None

    def is_free(self, path: RelPath) -> bool:
        """Whether a file can get this name."""
        return self._blocked_way(path) is None and self._occupant(path) is None

    def skipped(self, path: RelPath) -> str | None:
        """Returns why the capture skipped a path; it may not even be possible to look there."""
        if not self._skips:
            return None
        return next((self._skips[at] for at in (path, *parents(path)) if at in self._skips), None)

    def link_above(self, path: RelPath) -> RelPath | None:
        """Returns the nearest symlink above a path."""
        return _inherited(path, self._links, lambda above, link: above if self._is_link(above) else link)

    def _is_link(self, path: RelPath) -> bool:
        # what the capture skipped may be unreadable, and nothing below it is touched
        if self._work_tree.is_directory(path) or self.skipped(path) is not None:
            return False
        captured = self._work_tree.captured(path)
        if captured is not None:
            return captured.entry.mode == SYMLINK
        result = self._work_tree.occupant(path)
        return result is not None and stat.S_ISLNK(result.st_mode)

    def _blocked_way(self, path: RelPath) -> tuple[RelPath, str] | None:
        """Returns the outermost obstacle above a path, and why it is one."""

        def blocked(above: RelPath, outer: tuple[RelPath, str] | None) -> tuple[RelPath, str] | None:
            why = self._why_no_directory(above) if outer is None else None
            return outer if why is None else (above, why)

        return _inherited(path, self._ways, blocked)

    def _why_no_directory(self, path: RelPath) -> str | None:
        """Returns what prevents a directory from existing, once the planned deletions are done."""
        if self._work_tree.captured(path) is not None:
            return "inTheWay" if path not in self._deletes else None
        result = self._occupant(path)
        if result is None:
            self._missing.add(path)
            return None
        return (self.skipped(path) or "ignored") if not stat.S_ISDIR(result.st_mode) else None

    def _occupant(self, path: RelPath) -> os.stat_result | None:
        """Returns what is at a path, without a look into a missing directory."""
        return None if path.rpartition(b"/")[0] in self._missing else self._work_tree.occupant(path)


_Match = TypeVar("_Match")


def _inherited(
    path: RelPath, known: dict[RelPath, _Match | None], own: Callable[[RelPath, _Match | None], _Match | None]
) -> _Match | None:
    """Returns what holds for the directory of a path; `own` decides for one, given the result of that above.

    Each directory is checked once: `known` keeps the results.
    """
    ways = parents(path)
    unknown = list(takewhile(lambda above: above not in known, ways))
    match = known[ways[len(unknown)]] if len(unknown) < len(ways) else None
    for above in reversed(unknown):
        known[above] = match = own(above, match)
    return match


def ignored_files(work_tree: WorkTree, paths: Iterable[RelPath], call: Call) -> frozenset[RelPath]:
    """Returns those paths with a file or symlink that the last capture ignored."""
    matches = set()
    for path in paths:
        call.check()
        if work_tree.is_ignored(path):
            occupant = work_tree.occupant(path)
            if occupant is not None and (stat.S_ISREG(occupant.st_mode) or stat.S_ISLNK(occupant.st_mode)):
                matches.add(path)
    return frozenset(matches)


def uncaptured_origin(origins: Iterable[FormerName]) -> RelPath | None:
    """Returns the last name under which a file was not captured; None if it always was."""
    return next((origin.path for origin in reversed(tuple(origins)) if origin.uncaptured), None)


def with_only_copies(
    plan: Plan,
    work_tree: WorkTree,
    moved: Mapping[RelPath, RelPath],
    targets: Collection[Target],
    is_free: Callable[[RelPath], bool],
) -> Plan:
    """Returns the plan with moves for what no snapshot has; what cannot be moved is not deleted.

    `plan` already has the directories that move as a whole; `moved` are the new names of files that must survive;
    `targets` are the snapshots that the files come from.
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
    """Finds uncaptured files whose names are to be restored, if they are unchanged."""
    for path, origins in target.snapshot.coverage.origins:
        was = uncaptured_origin(origins)
        coming = [
            write for write in writes.values() if write.captured is None and path in (write.path, *parents(write.path))
        ]
        if was and coming and work_tree.captured(was) is None and work_tree.occupant(path) is None:
            there = ((was + write.path[len(path) :], write) for write in coming)
            contents = [(work_tree.content(name, TEN_MIB), write.entry.oid) for name, write in there]
            if all(data is not None and object_id("blob", data) == oid for data, oid in contents):
                yield MoveDirectory(was, path, uncaptured=True)
