"""Decides what an operation does with each file before any file is touched.

It asks the same questions of every file, in the same order: does it differ, may it be written or deleted, and was it
changed since the last snapshot?
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import attrs

from snapd.core.compare.threeway import Overlap, merge, three_way
from snapd.model.call import Call
from snapd.model.paths import folders_above
from snapd.model.plan import CapturedFile, Delete, Plan, Write
from snapd.model.snapshot import (
    EXECUTABLE,
    SYMLINK,
    Decision,
    Entry,
    FileOutcome,
    ObjectId,
    OnConflict,
    RelPath,
    Snapshot,
)
from snapd.model.trees import file_at
from snapd.store.object_store import ObjectStore
from snapd.worktree.worktree import WorkTree

from .directory_moves import with_directory_moves
from .patch import FileGoal, Patch
from .uncaptured import Obstacles, uncaptured_origin, with_only_copies


@attrs.define(eq=False)
class Planner:
    """Makes one plan.

    `current` is the snapshot taken for this operation, and `base` the one before it, which is what the agent left, or
    None. `on_conflict` applies to files changed since `base`, unless `decisions` says otherwise. Files in `unsaved`
    have unsaved text in an editor and are not touched.
    """

    _objects: ObjectStore
    _work_tree: WorkTree
    _current: Snapshot
    _base: ObjectId | None = attrs.field(kw_only=True)
    _on_conflict: OnConflict = attrs.field(kw_only=True)
    _decisions: Mapping[RelPath, Decision] = attrs.field(kw_only=True)
    _unsaved: frozenset[RelPath] = attrs.field(kw_only=True)
    _writes: dict[RelPath, Write] = attrs.field(factory=dict, init=False)
    _deletes: dict[RelPath, Delete] = attrs.field(factory=dict, init=False)
    _settled: dict[RelPath, FileOutcome] = attrs.field(factory=dict, init=False)
    # the new names of files that no snapshot has elsewhere
    _moved: dict[RelPath, RelPath] = attrs.field(factory=dict, init=False)
    _coming: dict[Entry, RelPath] = attrs.field(factory=dict, init=False)
    _obstacles: Obstacles = attrs.field(init=False)

    def plan(self, patch: Patch, call: Call) -> Plan:
        """Plans a patch, and keeps later changes of others unless the patch already does."""
        self._settle_linked(patch, call)
        self._settled.update((outcome.path, outcome) for outcome in patch.settled)
        made = tuple(self._makeable(path for path in sorted(patch.made) if not self._work_tree.is_directory(path)))
        targets = {goal.path: goal.target for goal in patch.goals}
        leaving = {
            path
            for path, target in patch.removed
            if self._work_tree.is_directory(path) and target.protection(path, is_directory=True) is None
        }
        if not patch.is_decided:
            # files of one directory have the same directories above them
            siblings = {(targets[path], path.rpartition(b"/")[0]): path for path in self._deletes}
            leaving.update(above for (target, _), path in siblings.items() for above in target.came_since(path))
        for path, write in self._writes.items():
            if write.captured is None and self._work_tree.is_directory(path):
                leaving.update((path, *self._work_tree.directories_below(path)))
        needed = folders_above(self._writes)
        deepest_first = sorted(leaving - needed, key=lambda path: (-path.count(b"/"), path))
        permissions = dict(result for path in self._writes for result in targets[path].permissions(path))
        permissions.update(
            result for target in {*targets.values()} for path in made for result in target.permissions(path)
        )
        plan = Plan(
            writes=tuple(self._writes[path] for path in sorted(self._writes)),
            deletes=tuple(self._deletes[path] for path in sorted(self._deletes)),
            make_directories=made,
            remove_directories=tuple(deepest_first),
            settled=tuple(self._settled.values()),
            linked=patch.linked.within(self._writes.keys() | self._deletes.keys()),
        )
        plan.check()
        permissions.update(self._merged_permissions(patch.goals, plan))
        plan = attrs.evolve(plan, permissions=tuple(sorted(permissions.items())))
        plan = with_directory_moves(plan, self._work_tree)
        plan = with_only_copies(plan, self._work_tree, self._moved, set(targets.values()), self._is_free)
        plan.check()
        return plan

    def _merged_permissions(self, goals: Iterable[FileGoal], plan: Plan) -> Iterator[tuple[RelPath, int]]:
        """Yields the permissions of files that were there, maybe under another name: merged as the files are."""
        plain, executable = (bits & ~self._work_tree.umask for bits in (0o666, 0o777))
        old_names = plan.moved_files()
        for goal in goals:
            name, write = old_names.get(goal.path, goal.path), self._writes.get(goal.path)
            captured = self._work_tree.captured(name)
            # a symlink has no permissions of its own
            if write is None or captured is None or captured.entry.mode == SYMLINK:
                continue
            usual, usual_now = (executable if one.entry.mode == EXECUTABLE else plain for one in (write, captured))
            wanted, now = goal.target.permissions_of(goal.path, usual), stat.S_IMODE(captured.signature.mode)
            was = None if goal.left is None or wanted is None else goal.left.permissions_of(name, usual_now)
            merged = usual if wanted is None else wanted
            # who may run it goes with the mode of the file
            if was is None or ((merged ^ was) & 0o666 and (now ^ was) & 0o666):
                merged &= 0o700 | now & 0o666 | (now & 0o444) >> 2
            elif now != was and not (merged ^ was) & 0o666:
                merged = now
            if merged != usual or wanted != usual:
                yield goal.path, merged

    def _makeable(self, made: Iterable[RelPath]) -> Iterator[RelPath]:
        """Yields the empty directories that can be made, and settles why the others cannot."""
        for path in made:
            why = self._obstacles.of_directory(path)
            if why is None:
                yield path
            else:
                # a file that stays there is settled already
                self._settled.setdefault(path, FileOutcome(path, "skipped", why))

    def _settle_linked(self, patch: Patch, call: Call) -> None:
        """Settles all files, and gives up those linked with a file that cannot be changed."""
        given_up: dict[RelPath, FileOutcome] = {}
        while True:
            self._settle([goal for goal in patch.goals if goal.path not in given_up], patch.is_decided, call)
            doing = self._writes.keys() | self._deletes.keys()
            halves = {
                other
                for path, outcome in self._settled.items()
                if outcome.is_left
                for other in patch.linked.others(path)
                if other in doing
            }
            if not halves:
                break
            # a file that is given up might have made room for another: settle the rest again
            given_up.update((path, FileOutcome(path, "conflict", "occupied")) for path in halves)
        self._settled |= given_up

    def _settle(self, goals: Iterable[FileGoal], is_decided: bool, call: Call) -> None:
        """Decides about each file, regardless of earlier decisions."""
        goals = sorted(goals, key=lambda goal: goal.path)
        for result in (self._writes, self._deletes, self._settled, self._moved):
            result.clear()
        self._obstacles = Obstacles(self._work_tree, self._current, self._deletes)
        self._coming = {
            goal.wanted: goal.path for goal in goals if goal.wanted and self._work_tree.captured(goal.path) is None
        }
        # deletions first: they can make room for files to write
        for goal in sorted(goals, key=lambda goal: goal.wanted is not None):
            call.check()
            outcome = self._settle_one(goal, self._work_tree.captured(goal.path), is_decided)
            if outcome is not None and self._on_conflict == "keep":
                outcome = outcome.settled()
            if outcome is None and goal.path in self._unsaved:
                self._writes.pop(goal.path, None)
                self._deletes.pop(goal.path, None)
                outcome = FileOutcome(goal.path, "conflict", "unsavedInEditor")
            if outcome is not None:
                self._settled[goal.path] = outcome

    def _settle_one(self, goal: FileGoal, captured: CapturedFile | None, is_decided: bool) -> FileOutcome | None:
        """Plans what becomes of a file, or returns why it stays as it is."""
        path, ours = goal.path, captured.entry if captured is not None else None
        if self._decisions.get(path) == "keep":
            return FileOutcome(path, "kept")
        if ours == goal.wanted:
            why = self._obstacles.uncaptured(path) if ours is None else None
            return FileOutcome(path, "unchanged") if why is None else FileOutcome(path, "kept", why)
        if captured is None:
            if (why := self._obstacles.of_file(path, None if is_decided else goal.target)) is not None:
                return FileOutcome(path, "skipped", why)
        elif goal.wanted is None and (why := goal.target.protection(path)) is not None:
            return FileOutcome(path, "kept", why)
        final = goal.wanted if is_decided else self._merged(goal, ours)
        # a file to write or delete is not merely kept
        if isinstance(final, Overlap) or (final == ours and None in (ours, goal.wanted)):
            return FileOutcome(path, "conflict", "deletedSince" if ours is None else "changedSince")
        if final == ours:
            return FileOutcome(path, "kept", "changedSince")
        loses = captured is not None and (final is None or final.oid != captured.entry.oid)
        if captured is not None and loses and not self._keeps_only_copy(goal, captured.entry):
            return FileOutcome(path, "kept", "onlyCopy")
        if final is not None:
            self._writes[path] = Write(path, final, captured, goal.is_merged or final != goal.wanted)
        elif captured is not None:
            self._deletes[path] = Delete(path, captured)
        return None

    def _merged(self, goal: FileGoal, ours: Entry | None) -> Entry | Overlap | None:
        """Returns the goal of a file merged with the changes made since the last snapshot."""
        on_conflict = self._decisions.get(goal.path, self._on_conflict)
        if on_conflict == "overwrite":
            return goal.wanted
        base = None if self._base is None else file_at(self._objects.entry_in, self._base, goal.path)
        if on_conflict == "fail" and base != ours:
            return Overlap("changedSince")
        return three_way(base, ours, goal.wanted, partial(merge, self._objects), joins_added=True)

    def _keeps_only_copy(self, goal: FileGoal, entry: Entry) -> bool:
        """Whether a file may be deleted or replaced; one that no snapshot had under its former name gets that back."""
        path = goal.path
        was = uncaptured_origin(self._work_tree.origins.get(path, ()))
        if was is None or (goal.wanted is not None and path in dict(goal.target.snapshot.coverage.origins)):
            return True
        result = self._work_tree.occupant(path)
        if result is not None and result.st_nlink > 1:
            return True
        new = self._coming.get(entry, was) if goal.wanted is None else was
        if new != self._coming.get(entry) and not self._is_free(new):
            return False
        self._moved[path] = new
        return True

    def _is_free(self, path: RelPath) -> bool:
        return bool(path) and path not in self._moved.values() and self._obstacles.is_free(path)
