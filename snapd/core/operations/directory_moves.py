"""Finds the directories that a plan can move by one rename instead of a write and a delete of each file.

A directory moves as a whole if nothing is at its new path, all captured files in it are to be deleted, and exactly
these are to be written below the new path; or similar ones, if the directory was there before. Files in it that are not
captured move along.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs

from snapd.core.compare.threeway import content_of
from snapd.model.paths import folders_above, parents
from snapd.model.plan import LinkedFiles, MoveDirectory, Plan
from snapd.model.snapshot import EMPTY_BLOB, Entry, ObjectId, RelPath
from snapd.model.timeline import Effect
from snapd.worktree.worktree import WorkTree


def moved_contents(effects: Iterable[Effect]) -> Iterator[tuple[RelPath, RelPath]]:
    """Pairs the path that loses some contents with the path that gets them: neither changes without the other.

    This includes moves that are no renames, such as a file that replaced another.
    """
    coming: dict[ObjectId, list[RelPath]] = {}
    changed = [effect for effect in effects if content_of(effect.old) != content_of(effect.new)]
    moving = {content_of(effect.new) for effect in changed} | {None}
    for effect in changed:
        # a file that got new contents in place may have been copied before; the copy is not another name of it
        if content_of(effect.old) in moving and (oid := content_of(effect.new)) is not None:
            coming.setdefault(oid, []).append(effect.path)
    for effect in changed:
        oid = content_of(effect.old)
        if oid is not None and coming.get(oid):
            yield effect.path, coming[oid].pop()


@attrs.define(eq=False)
class _Folder:
    """A directory of files that appear or disappear, with its entries by name.

    Two directories with the same files have the same number `contents`. Empty files say nothing about where they came
    from: `is_something` is true if some file is not empty.
    """

    path: RelPath
    files: dict[bytes, Entry] = attrs.field(factory=dict)
    folders: dict[bytes, _Folder] = attrs.field(factory=dict)
    contents: int = -1
    is_something: bool = False


_Numbers = dict[tuple[tuple[bytes, "Entry | int"], ...], int]


def with_directory_moves(plan: Plan, work_tree: WorkTree) -> Plan:
    """Returns the plan with the directories that can be moved as a whole; `work_tree` is as captured for the plan.

    Its writes and deletes stay, since they say what becomes of each file.
    """
    come = {write.path: write.entry for write in plan.writes if write.captured is None}
    gone = {delete.path: delete.captured.entry for delete in plan.deletes}
    if not come or not gone:
        return plan
    numbers: _Numbers = {}
    coming, going = _folders(come, numbers), _folders(gone, numbers)
    finding = _Finding(plan, gone, going, work_tree)
    known = set()
    for old, origins in work_tree.origins.items():
        for origin in reversed(origins):
            # a directory that was at this path before is the same one, whatever changed in it since
            is_known = not origin.uncaptured and old in going and origin.path in coming
            if is_known and finding.has_room(origin.path) and finding.add(MoveDirectory(old, origin.path)):
                known.add(origin.path)
                break
    pending = list(coming[b""].folders.values())
    while pending:
        new = pending.pop()
        if new.path not in known and (new.path in finding.above_new or not new.is_something or not finding.find(new)):
            pending.extend(new.folders.values())
    return attrs.evolve(plan, moves=tuple(sorted(finding.moves, key=lambda move: move.new)))


def _folders(files: Mapping[RelPath, Entry], numbers: _Numbers) -> dict[RelPath, _Folder]:
    result = {b"": _Folder(b"")}
    for path, entry in files.items():
        missing = []
        above, _, name = path.rpartition(b"/")
        here = above
        while here not in result:
            missing.append(here)
            here = here.rpartition(b"/")[0]
        for folder in reversed(missing):
            result[folder] = _Folder(folder)
            outer, _, own = folder.rpartition(b"/")
            result[outer].folders[own] = result[folder]
        result[above].files[name] = entry
    # each after those above it
    for done in reversed(result.values()):
        inside: list[tuple[bytes, Entry | int]] = list(done.files.items())
        inside += [(name, below.contents) for name, below in done.folders.items()]
        done.contents = numbers.setdefault(tuple(sorted(inside, key=lambda pair: pair[0])), len(numbers))
        done.is_something = any(entry.oid != EMPTY_BLOB for entry in done.files.values()) or any(
            below.is_something for below in done.folders.values()
        )
    return result


class _Finding:
    """The directory moves of one plan; none of them changes what another one moves.

    `above_new` are the directories above the destinations.
    """

    def __init__(
        self, plan: Plan, gone: Mapping[RelPath, Entry], going: Mapping[RelPath, _Folder], work_tree: WorkTree
    ) -> None:
        self._gone = gone
        self._going = going
        # the directories with the same files; those that are used, or useless for any path, are removed
        self._old_of: dict[int, list[RelPath]] = {}
        for path, folder in going.items():
            if path:
                self._old_of.setdefault(folder.contents, []).append(path)
        self._work_tree = work_tree
        self._linked = LinkedFiles.of(plan.linked)
        made = (*(write.path for write in plan.writes), *plan.make_directories)
        self._removed = frozenset(plan.remove_directories)
        self._made = folders_above(made).union(plan.make_directories)
        self._old: set[RelPath] = set()
        self._above_old: set[RelPath] = set()
        self.above_new: set[RelPath] = set()
        self.moves: list[MoveDirectory] = []

    def find(self, folder: _Folder) -> bool:
        """Finds where a directory that appears is now; returns whether it did."""
        new = folder.path
        if not self.has_room(new):
            return False
        inside, linked = self._linked_with(folder)
        if linked:
            # an undo knows where each file went
            known = [other[: -len(inside)] for other in linked if other.endswith(inside)]
            equal = [old for old in known if old in self._going and self._going[old].contents == folder.contents]
            return any(self.add(MoveDirectory(old, new)) for old in equal)
        candidates = self._old_of.get(folder.contents, [])
        is_one_of_many = len(candidates) > 1
        name = new.rpartition(b"/")[2]
        # what is not captured in one of several equal directories should go with the right one
        candidates.sort(key=lambda old: old.rpartition(b"/")[2] == name)
        while candidates:
            old = candidates.pop()
            if is_one_of_many and old.rpartition(b"/")[2] != name and any(self._work_tree.foreign_below(old)):
                continue
            if self.add(MoveDirectory(old, new)):
                return True
        return False

    def has_room(self, new: RelPath) -> bool:
        """Whether nothing is at a path; otherwise, files move one by one to make room."""
        return self._gone.keys().isdisjoint((new, *parents(new))) and self._work_tree.occupant(new) is None

    def add(self, move: MoveDirectory) -> bool:
        if not self._is_free(move) or not self._is_whole(move):
            return False
        self._old.add(move.old)
        self._above_old.update(parents(move.old))
        self.above_new.update(parents(move.new))
        self.moves.append(move)
        return True

    def _linked_with(self, folder: _Folder) -> tuple[bytes, list[RelPath]]:
        """Returns the rest of the path of some file in a directory, and the files linked with that file."""
        below = folder
        while not below.files:
            below = next(iter(below.folders.values()))
        path = below.path + b"/" + next(iter(below.files))
        return path[len(folder.path) :], [*self._linked.others(path)]

    def _is_free(self, move: MoveDirectory) -> bool:
        """Whether this move and each other one neither change what the other moves nor lead into it."""
        above_new = parents(move.new)
        if move.old in above_new or not self._old.isdisjoint(above_new):
            return False
        if move.old in self._above_old or move.old in self.above_new:
            return False
        return self._old.isdisjoint((move.old, *parents(move.old)))

    def _is_whole(self, move: MoveDirectory) -> bool:
        if self._work_tree.holds_store(move.old):
            return False
        if any(path not in self._gone for path in self._work_tree.captured_below(move.old)):
            return False
        # an empty directory would travel along, though the plan may not want it there
        return all(
            path in self._removed or move.there(path) in self._made
            for path in self._work_tree.directories_below(move.old)
        )
