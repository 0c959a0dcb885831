"""Plans an operation: decides what becomes of each file before any file is touched.

It asks the same questions of every file, in the same order: does it differ, may it be written or deleted, and did
somebody change it since the last snapshot?
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

import attrs

from snapd.core.compare.threeway import Overlap, merge, three_way
from snapd.model.call import Call
from snapd.model.errors import PathOutsideWorkspace, StoreCorrupt
from snapd.model.paths import folders_above, parents, shown
from snapd.model.plan import CapturedFile, Delete, LinkedFiles, Plan, Write
from snapd.model.snapshot import SYMLINK, TREE, Entry, FileOutcome, ObjectId, OnConflict, RelPath, Snapshot
from snapd.model.timeline import Effect
from snapd.model.trees import changes, file_at, files, lookup
from snapd.store.object_store import ObjectStore
from snapd.worktree.worktree import WorkTree

from .directory_moves import with_directory_moves
from .only_copies import uncaptured_origin, with_only_copies
from .target import Clashes, DirectoryGoals, Target


@attrs.frozen
class _Goal:
    """What a file is to become.

    Attributes:
        path: the file.
        target: the snapshot that says whether the file was really absent.
        wanted: what it is to become.
        merged: whether that is a merge, and not what the target has.
        decided: whether `wanted` already keeps what somebody changed since.
    """

    path: RelPath
    target: Target
    wanted: Entry | None
    merged: bool = False
    decided: bool = False


@attrs.define(eq=False)
class Planner:
    """Makes one plan.

    Args:
        objects: holds the snapshots.
        work_tree: the folder, as of the capture `current`.
        current: the snapshot taken for this operation.
        base: the last snapshot before it, which is what the agent left; None if there is none.
        on_conflict: what to do with a file that was changed since `base`.
        unsaved: files with unsaved text in an editor, which are not touched.
    """

    _objects: ObjectStore
    _work_tree: WorkTree
    _current: Snapshot
    _base: ObjectId | None = attrs.field(kw_only=True)
    _on_conflict: OnConflict = attrs.field(kw_only=True)
    unsaved: frozenset[RelPath] = attrs.field(kw_only=True)
    _writes: dict[RelPath, Write] = attrs.field(factory=dict, init=False)
    _deletes: dict[RelPath, Delete] = attrs.field(factory=dict, init=False)
    _settled: dict[RelPath, FileOutcome] = attrs.field(factory=dict, init=False)
    _targets: dict[RelPath, Target] = attrs.field(factory=dict, init=False)
    # the new names of files that no snapshot has elsewhere
    _moved: dict[RelPath, RelPath] = attrs.field(factory=dict, init=False)
    _coming: dict[Entry, RelPath] = attrs.field(factory=dict, init=False)
    _skips: dict[RelPath, str] = attrs.field(init=False)
    # one answer for each directory, however many files lie below it
    _ways: dict[RelPath, tuple[RelPath, str] | None] = attrs.field(factory=dict, init=False)
    _missing: set[RelPath] = attrs.field(factory=set, init=False)
    _links: dict[RelPath, RelPath | None] = attrs.field(factory=dict, init=False)

    @_skips.default
    def _reasons_of_skips(self) -> dict[RelPath, str]:
        return {skip.path: skip.reason.value for skip in self._current.coverage.skipped}

    def restore(self, target: Target, call: Call) -> Plan:
        """Plans how to make the work tree what the snapshot was.

        Raises:
            StoreCorrupt: an object is missing or damaged.
        """
        goals = []
        read, differing = self._objects.read_tree, self._objects.differing
        for change in changes(read, self._current.tree, target.snapshot.tree, differing=differing):
            call.check()
            goals.append(_Goal(change.path, target, change.new))
        self._settle(goals, call)
        made, removed = self._empty_directories(target)
        return self._plan(self._makeable(made), [*removed, *self._emptied()])

    def revert(self, patches: Iterable[tuple[Target, Iterable[RelPath]]], call: Call) -> Plan:
        """Plans how to bring some files back, each from the first patch that names it.

        Raises:
            PathOutsideWorkspace: a name leads through a symlink, where the snapshot has no folder.
            StoreCorrupt: an object is missing or damaged.
        """
        goals: dict[RelPath, _Goal] = {}
        clashes = Clashes()
        for target, names in patches:
            added: list[_Goal] = []
            for path in self._expand_all(target, names, call):
                if path in goals or path in self._settled:
                    continue
                goal = _Goal(path, target, target.entry(path))
                if goal.wanted is not None and clashes.with_path(path):
                    self._settled[path] = FileOutcome(path, "skipped", "clash")
                else:
                    goals[path] = goal
                    added.append(goal)
            clashes.add(goal.path for goal in added if goal.wanted is not None)
        for goal in list(goals.values()):
            call.check()
            if (link := self._symlink_above(goal, goals)) is not None:
                goals[link] = _Goal(link, goal.target, None)
        self._settle(goals.values(), call)
        return self._plan((), self._emptied())

    def from_effects(
        self,
        call: Call,
        *,
        effects: Iterable[Effect],
        outcomes: Iterable[FileOutcome],
        targets: Mapping[RelPath, Target],
        directories: DirectoryGoals,
        linked: LinkedFiles,
    ) -> Plan:
        """Plans effects that were decided file by file, with what others made of the files since.

        Args:
            call: the request.
            effects: what to change.
            outcomes: how to report each file, those that are not to be touched included.
            targets: for each file, the snapshot that says whether it was really absent.
            directories: empty directories to make and to remove.
            linked: files that change together or not at all.

        Raises:
            StoreCorrupt: an object is missing or damaged.
        """
        said = {outcome.path: outcome for outcome in outcomes}
        goals = [
            _Goal(
                effect.path,
                targets[effect.path],
                effect.new,
                merged=effect.path in said and said[effect.path].outcome == "merged",
                decided=True,
            )
            for effect in effects
        ]
        self._settle_linked(goals, linked, call)
        for path in said.keys() - {goal.path for goal in goals}:
            self._settled[path] = said[path]
        made = sorted(path for path in directories.made if not self._work_tree.is_directory(path))
        removed = [
            path
            for path, target in directories.removed
            if self._work_tree.is_directory(path) and target.protection(path, is_directory=True) is None
        ]
        return self._plan(self._makeable(made), removed, linked)

    # -- one file

    def _settle_linked(self, goals: Sequence[_Goal], linked: LinkedFiles, call: Call) -> None:
        """Settles files, and gives up those that are linked with a file that cannot be done."""
        given_up: dict[RelPath, FileOutcome] = {}
        while True:
            self._settle((goal for goal in goals if goal.path not in given_up), call)
            doing = self._writes.keys() | self._deletes.keys()
            halves = {
                other
                for path, outcome in self._settled.items()
                if outcome.is_left
                for other in linked.others(path)
                if other in doing
            }
            if not halves:
                break
            given_up.update((path, FileOutcome(path, "conflict", "occupied")) for path in halves)
            # a file that is given up might have made room for another: settle the rest again
            for found in (self._writes, self._deletes, self._settled):
                found.clear()
        self._settled |= given_up

    def _settle(self, goals: Iterable[_Goal], call: Call) -> None:
        goals = sorted(goals, key=lambda goal: goal.path)
        self._ways.clear()
        self._missing.clear()
        self._moved.clear()
        self._coming = {
            goal.wanted: goal.path for goal in goals if goal.wanted and self._work_tree.captured(goal.path) is None
        }
        # deletions first: they can make room for files to write
        for goal in sorted(goals, key=lambda goal: goal.wanted is not None):
            call.check()
            self._targets[goal.path] = goal.target
            captured = self._work_tree.captured(goal.path)
            outcome = self._settle_one(goal, captured)
            if outcome is not None and self._on_conflict == "keep":
                outcome = outcome.settled()
            if outcome is None and goal.path in self.unsaved:
                self._writes.pop(goal.path, None)
                self._deletes.pop(goal.path, None)
                outcome = FileOutcome(goal.path, "conflict", "unsavedInEditor")
            if outcome is not None:
                self._settled[goal.path] = outcome

    def _settle_one(self, goal: _Goal, captured: CapturedFile | None) -> FileOutcome | None:
        """Plans what becomes of a file; or says why it stays as it is."""
        path, ours = goal.path, captured.entry if captured is not None else None
        if ours == goal.wanted:
            why = self._uncaptured(path) if ours is None else None
            return FileOutcome(path, "unchanged") if why is None else FileOutcome(path, "kept", why)
        if captured is None:
            if (outcome := self._obstacle(goal)) is not None:
                return outcome
        elif goal.wanted is None and (why := goal.target.protection(path)) is not None:
            return FileOutcome(path, "kept", why)
        final = self._final(goal, ours)
        # a file that is to come or to go is not just kept
        if isinstance(final, Overlap) or (final == ours and None in (ours, goal.wanted)):
            return FileOutcome(path, "conflict", "deletedSince" if ours is None else "changedSince")
        if final == ours:
            return FileOutcome(path, "kept", "changedSince")
        loses = captured is not None and (final is None or final.oid != captured.entry.oid)
        if captured is not None and loses and not self._keeps_only_copy(goal, captured.entry):
            return FileOutcome(path, "kept", "onlyCopy")
        if final is not None:
            self._writes[path] = Write(path, final, captured, goal.merged or final != goal.wanted)
        elif captured is not None:
            self._deletes[path] = Delete(path, captured)
        return None

    def _final(self, goal: _Goal, ours: Entry | None) -> Entry | Overlap | None:
        """What a file becomes: what the goal says, with what somebody made of the file since the last snapshot."""
        if goal.decided or self._on_conflict == "overwrite":
            return goal.wanted
        base = None if self._base is None else file_at(self._objects.entry_in, self._base, goal.path)
        if self._on_conflict == "fail" and base != ours:
            return Overlap("changedSince")
        return three_way(base, ours, goal.wanted, partial(merge, self._objects), joins_added=True)

    def _keeps_only_copy(self, goal: _Goal, entry: Entry) -> bool:
        """Whether a file may be deleted or replaced: if no snapshot had it under its former name, it gets that back."""
        path = goal.path
        was = uncaptured_origin(self._work_tree.origins.get(path, ()))
        if was is None or (goal.wanted is not None and path in dict(goal.target.snapshot.coverage.origins)):
            return True
        found = self._work_tree.occupant(path)
        if found is not None and found.st_nlink > 1:
            return True
        new = self._coming.get(entry, was) if goal.wanted is None else was
        if new != self._coming.get(entry) and not self._is_free(new):
            return False
        self._moved[path] = new
        return True

    def _is_free(self, path: RelPath) -> bool:
        """Whether something can get this name."""
        is_new = bool(path) and path not in self._moved.values()
        return is_new and self._blocked_way(path) is None and self._occupant(path) is None

    def _obstacle(self, goal: _Goal) -> FileOutcome | None:
        """Finds what is in the way of a new file and was not captured: that is never overwritten.

        Raises:
            StoreCorrupt: the snapshot has a file where it has a folder, too.
        """
        path = goal.path
        if (why := self._skipped(path)) is not None:
            return FileOutcome(path, "skipped", why)
        if (blocked := self._blocked_way(path)) is not None:
            above, why = blocked
            if self._work_tree.captured(above) is not None and not goal.decided and goal.target.entry(above):
                said = shown(above)
                raise StoreCorrupt(f"{said} is a file and a folder in the snapshot", object=said)
            return FileOutcome(path, "skipped", why)
        found = self._occupant(path)
        if found is None:
            return None
        if stat.S_ISDIR(found.st_mode) and self._work_tree.is_directory(path):
            if any(self._work_tree.foreign_below(path)):
                return FileOutcome(path, "skipped", "directoryNotEmpty")
            if all(below in self._deletes for below in self._work_tree.captured_below(path)):
                return None
            return FileOutcome(path, "skipped", "inTheWay")
        return FileOutcome(path, "skipped", self._why_uncaptured(path))

    def _blocked_way(self, path: RelPath) -> tuple[RelPath, str] | None:
        """Finds the outermost obstacle above a path, and why it is one."""
        unknown = []
        blocked = None
        for above in parents(path):
            if above in self._ways:
                blocked = self._ways[above]
                break
            unknown.append(above)
        for above in reversed(unknown):
            if blocked is None and (why := self._why_no_directory(above)) is not None:
                blocked = (above, why)
            self._ways[above] = blocked
        return blocked

    def _why_no_directory(self, path: RelPath) -> str | None:
        """Says what keeps a directory from existing, once the planned deletions are done."""
        if self._work_tree.captured(path) is not None:
            return "inTheWay" if path not in self._deletes else None
        found = self._occupant(path)
        if found is None:
            self._missing.add(path)
            return None
        return self._why_uncaptured(path) if not stat.S_ISDIR(found.st_mode) else None

    def _occupant(self, path: RelPath) -> os.stat_result | None:
        """Finds what is at a path; does not look for anything in a directory that is missing."""
        return None if path.rpartition(b"/")[0] in self._missing else self._work_tree.occupant(path)

    def _uncaptured(self, path: RelPath) -> str | None:
        if (why := self._skipped(path)) is not None:
            return why
        found = self._work_tree.occupant(path)
        if found is None or (stat.S_ISDIR(found.st_mode) and self._work_tree.is_directory(path)):
            return None
        return self._why_uncaptured(path)

    def _why_uncaptured(self, path: RelPath) -> str:
        return self._skipped(path) or "ignored"

    def _skipped(self, path: RelPath) -> str | None:
        """Says why the capture skipped a path; the disk may not even let us look there."""
        if not self._skips:
            return None
        return next((self._skips[at] for at in (path, *parents(path)) if at in self._skips), None)

    # -- names

    def _expand_all(self, target: Target, names: Iterable[RelPath], call: Call) -> Iterator[RelPath]:
        for name in dict.fromkeys(names):
            for path in self._expand(target, name):
                call.check()
                yield path

    def _expand(self, target: Target, name: RelPath) -> list[RelPath]:
        """Expands the name of a directory to the files in it, then and now."""
        found = lookup(self._objects.entry_in, target.snapshot.tree, name)
        then = set()
        if found is not None and found.mode == TREE:
            then = {path for path, _ in files(self._objects.read_tree, found.oid, name)}
        if self._work_tree.captured(name) is not None:
            return [name, *sorted(then)]
        now = set(self._work_tree.captured_below(name)) if self._work_tree.is_directory(name) else set()
        if found is not None and found.mode != TREE:
            return [*sorted(now), name]
        return sorted(then | now) or [name]

    def _symlink_above(self, goal: _Goal, goals: dict[RelPath, _Goal]) -> RelPath | None:
        """Finds a symlink above a file, which has to make room for the folder that the snapshot has there.

        Raises:
            PathOutsideWorkspace: the snapshot has no such file.
        """
        link = self._nearest_link(goal.path)
        if link is None or link in goals:
            return None
        if goal.wanted is None:
            raise PathOutsideWorkspace(
                f"{shown(goal.path)} leads through the symlink {shown(link)}", file=shown(goal.path)
            )
        return link if self._work_tree.captured(link) is not None else None

    def _nearest_link(self, path: RelPath) -> RelPath | None:
        """Finds the nearest symlink above a path."""
        passed = []
        link = None
        for above in parents(path):
            if above in self._links:
                link = self._links[above]
                break
            passed.append(above)
            if self._is_link(above):
                link = above
                break
        self._links.update(dict.fromkeys(passed, link))
        return link

    def _is_link(self, path: RelPath) -> bool:
        # the disk may not let us look at what the capture skipped, and nothing below that is touched
        if self._work_tree.is_directory(path) or self._skipped(path) is not None:
            return False
        captured = self._work_tree.captured(path)
        if captured is not None:
            return captured.entry.mode == SYMLINK
        found = self._work_tree.occupant(path)
        return found is not None and stat.S_ISLNK(found.st_mode)

    # -- directories

    def _empty_directories(self, target: Target) -> tuple[list[RelPath], list[RelPath]]:
        then, now = (set(snapshot.coverage.empty_dirs) for snapshot in (target.snapshot, self._current))
        made = sorted(path for path in then - now if not self._work_tree.is_directory(path))
        removed = []
        for path in now - then:
            for directory in (path, *parents(path)):
                if target.has_directory(directory) or target.protection(directory, is_directory=True) is not None:
                    break
                removed.append(directory)
        return made, removed

    def _emptied(self) -> Iterator[RelPath]:
        """Lists the directories that came with the files to delete."""
        # files of one directory have the same directories above them
        siblings = {(self._targets[path], path.rpartition(b"/")[0]): path for path in self._deletes}
        for (target, _), path in siblings.items():
            yield from target.came_since(path)

    def _makeable(self, made: Iterable[RelPath]) -> list[RelPath]:
        """Filters the empty directories that can be made, and settles why the others cannot."""
        makeable = []
        for path in made:
            blocked = self._blocked_way(path)
            why = self._skipped(path) or (blocked[1] if blocked is not None else self._why_no_directory(path))
            if why is None:
                makeable.append(path)
            else:
                # a file that stays there is settled already
                self._settled.setdefault(path, FileOutcome(path, "skipped", why))
        return makeable

    def _plan(self, made: Collection[RelPath], removed: Iterable[RelPath], linked: LinkedFiles | None = None) -> Plan:
        leaving = set(removed)
        for path, write in self._writes.items():
            if write.captured is None and self._work_tree.is_directory(path):
                leaving.update((path, *self._work_tree.directories_below(path)))
        needed = folders_above(self._writes)
        deepest_first = sorted(leaving - needed, key=lambda path: (-path.count(b"/"), path))
        permissions = {found for path in self._writes for found in self._targets[path].permissions(path)}
        permissions.update(
            found for target in {*self._targets.values()} for path in made for found in target.permissions(path)
        )
        plan = Plan(
            writes=tuple(self._writes[path] for path in sorted(self._writes)),
            deletes=tuple(self._deletes[path] for path in sorted(self._deletes)),
            make_directories=tuple(made),
            permissions=tuple(sorted(permissions)),
            remove_directories=tuple(deepest_first),
            settled=tuple(self._settled.values()),
            linked=linked.within(self._writes.keys() | self._deletes.keys()) if linked is not None else (),
        )
        plan.check()
        plan = with_directory_moves(plan, self._work_tree)
        plan = with_only_copies(plan, self._work_tree, self._moved, set(self._targets.values()), self._is_free)
        plan.check()
        return plan
