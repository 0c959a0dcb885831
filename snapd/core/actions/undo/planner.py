"""Finds what there is to undo or redo of steps and operations, and plans that on the current files.

There is one mechanism for all: a three-way merge takes the changes of a step or an operation out of each current file.
A redo takes back what the undo did.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

import attrs

from snapd.core.actions.step_changes import StepChanges
from snapd.core.attribution import Delta, own_moves
from snapd.core.compare.threeway import (
    NO_DECISIONS,
    Overlap,
    Overlay,
    StepReversal,
    combined,
    deltas_of,
    merge,
    take_back,
    three_way,
)
from snapd.core.operations.directory_moves import moved_contents
from snapd.core.operations.patch import FileGoal, Patch, Target
from snapd.core.operations.runner import StartState
from snapd.gitstate.plan import parts_of
from snapd.model.call import Call
from snapd.model.git import GitMove
from snapd.model.paths import parents
from snapd.model.plan import LinkedFiles
from snapd.model.snapshot import Decision, Entry, FileOutcome, OnConflict, RelPath, Snapshot
from snapd.model.timeline import (
    Operated,
    Operation,
    OperationId,
    Reversal,
    SessionId,
    SnapshotId,
    Step,
    UndoneShare,
    UndoUnit,
)
from snapd.store.adopt import ProjectBlobs
from snapd.store.store import Store
from snapd.worktree.git.repository import files_of_other_branches
from snapd.worktree.worktree import WorkTree


@attrs.frozen
class UndoTask:
    """What to undo or redo of one step or operation."""

    unit: UndoUnit
    state: Literal["applied", "partly", "undone"]  # its state afterwards, if nothing conflicts
    files: Mapping[RelPath, Sequence[Delta]]  # for each file the changes to take back, the oldest first
    made: tuple[RelPath, ...]  # empty directories to make
    removed: tuple[RelPath, ...]  # empty directories to remove, with those above them that did not exist before either
    renames: Mapping[RelPath, RelPath]  # the old path by the new one, of files that were moved by what is taken back
    end: SnapshotId  # the snapshot that the step or the operation left
    target: Target  # the snapshot that the files go back to
    # intermediate snapshots: a directory that one of them lacks is removed with the files that came into it
    stages: tuple[Target, ...]
    is_change: bool  # whether there is anything to take back, even if the files already are as wanted
    aside: tuple[RelPath, ...] = ()  # files and directories of the step that stay in force
    again: OperationId | None = None  # for a redo, the operation that undid the unit; None for an undo
    left: SnapshotId | None = None  # has the permissions of the files if nobody changed them since; None if unknown
    # changes of the git state to take back, the oldest first, by their events; 0 for what an undo did
    git: Mapping[int, GitMove] = attrs.field(factory=dict)
    git_done: Collection[str] = ()  # the parts of these that were taken back already
    shared_git: Collection[GitMove] = ()  # those that stay, because another session may have made them
    by_git: tuple[RelPath, ...] = ()  # files that git put there during the step, which stay

    @property
    def is_any(self) -> bool:
        """Whether it concerns any file or directory."""
        return bool(self.files or self.made or self.removed)

    def turned(
        self,
        taken: StepReversal,
        made: tuple[RelPath, ...],
        removed: tuple[RelPath, ...],
        blocked: set[RelPath],
        *,
        settled: bool,
    ) -> Reversal:
        """Makes the timeline's record.

        `taken` says what becomes of the files; `blocked` are directories that cannot be made. With `settled`, files in
        conflict stay as they are for good.
        """
        missed = set() if settled else {*taken.conflicting, *blocked.intersection(self.made)}
        is_step = isinstance(self.unit, Step)
        turned = Reversal(
            self.unit.name if is_step else None,
            self.state,
            taken.effects,
            made,
            removed,
            moved=taken.moved,
            operation_id=None if is_step else self.unit.name,
        )
        if self.again is not None:
            turned = attrs.evolve(turned, again=self.again, rest=tuple(sorted(missed)))
        else:
            missed.update(self.aside)
            turned = attrs.evolve(turned, left=tuple(sorted(missed)))
        return attrs.evolve(turned, state="partly") if missed else turned

    def only(self, wanted: Collection[RelPath]) -> UndoTask:
        """Narrows the task to some of its files, under the step's own names."""
        there = {*self.files, *self.made}
        return attrs.evolve(
            self,
            files={path: chain for path, chain in self.files.items() if path in wanted},
            made=tuple(path for path in self.made if path in wanted),
            removed=(),
            renames={new: old for new, old in self.renames.items() if new in wanted and old in wanted},
            aside=tuple(sorted(path for path in there.union(self.aside) if path not in wanted)),
        )


class DirectoryOverlay:
    """The empty directories as an operation would leave them.

    `work_tree` is as of the last capture, and `files` as the operation would leave them. `blocked` are directories that
    cannot be made because a file occupies their path.
    """

    def __init__(self, work_tree: WorkTree, files: Overlay) -> None:
        self._work_tree = work_tree
        self._files = files
        # None for a directory to make; for one to remove, the snapshot that shows that it was really absent
        self._changed: dict[RelPath, Target | None] = {}
        self._displaced: set[RelPath] = set()
        self._emptied: dict[RelPath, Target] = {}
        self.blocked: set[RelPath] = set()

    def take_back(self, task: UndoTask, taken: StepReversal) -> tuple[tuple[RelPath, ...], tuple[RelPath, ...]]:
        """Undoes what a step did to directories; returns those that this makes, and those that it removes.

        `taken` says what becomes of its files: one may occupy the place of a directory.
        """
        wanted: set[RelPath] = set()
        for path in task.made:
            ways = {path, *parents(path)}
            if any(self._files.get(way) is not None for way in ways):
                self.blocked.add(path)
            else:
                wanted |= ways
        made = {path for path in wanted if not self._is_there(path)}
        self._changed.update(dict.fromkeys(sorted(made)))
        displaced = {below for effect in taken.effects if effect.new is not None for below in self._below(effect.path)}
        removed = {path for path in task.removed if self._is_there(path)}
        for effect in taken.effects:
            if effect.new is None:
                for stage in task.stages:
                    self._emptied.update((above, task.target) for above in stage.came_since(effect.path))
        self._displaced |= displaced
        gone = removed | (displaced & self._changed.keys())
        self._changed.update(dict.fromkeys(sorted(gone), task.target))
        return tuple(sorted(made)), tuple(sorted(displaced | removed))

    def goals(self) -> tuple[tuple[RelPath, ...], tuple[tuple[RelPath, Target], ...]]:
        """Returns all directories to make and to remove; see `Patch`."""
        made = tuple(path for path, target in self._changed.items() if target is None)
        removed = {path: target for path, target in self._changed.items() if target is not None}
        kept = {way for path in made for way in (path, *parents(path))}
        # a directory that came with a file of one step may be needed again for another
        emptied = {path: target for path, target in self._emptied.items() if path not in kept}
        return made, tuple((emptied | removed).items())

    def _below(self, path: RelPath) -> set[RelPath]:
        if not self._is_there(path):
            return set()
        inside = path + b"/"
        made = {other for other in self._changed if other.startswith(inside)}
        return {below for below in {path, *self._work_tree.directories_below(path), *made} if self._is_there(below)}

    def _is_there(self, path: RelPath) -> bool:
        if path in self._changed:
            return self._changed[path] is None
        return path not in self._displaced and self._work_tree.is_directory(path)


def files_after_tasks(tasks: Sequence[UndoTask]) -> Iterator[RelPath]:
    """Yields the files that exist once some tasks are done, in that order."""
    final: dict[RelPath, Entry | None] = {}
    for task in tasks:
        final.update((path, chain[0].old) for path, chain in task.files.items())
    return (path for path, entry in final.items() if entry is not None)


@attrs.frozen(eq=False)
class UndoPlanner:
    """Finds what there is to undo or redo of steps and operations, and what that makes of the files."""

    _store: Store
    _work_tree: WorkTree
    _step_changes: StepChanges

    # -- own changes

    def to_undo(self, unit: UndoUnit, call: Call, *, with_git: bool = False) -> UndoTask:
        """Returns what there is to undo of a step or an operation: all that was not undone before.

        For an open step, its changes up to the last capture count. If an older snapd undid a step in part, the files as
        of the last capture show what is left of it.
        """
        call.check()
        task = self.whole(unit, with_git=with_git)
        undone = self._store.timeline.undone(unit.name)
        if isinstance(unit, Step) and unit.may_change_git:
            moves = self._step_changes.moves_of_git(unit)
            done = self._parts(filter(None, (self._turn(one).git for one in undone if one.has_git)))
            git = moves if self._parts(moves.values()) - done else {}
            shared_git = self._step_changes.moves_of_git(unit, shared=True).values()
            task = attrs.evolve(task, git=git, git_done=done, shared_git=shared_git)
        if not undone:
            return task
        kept = self._step_changes.in_force(unit)
        paths = {*kept.files, *kept.directories}
        if self._step_changes.turn(undone[-1]).left is None:
            paths = {path for path in kept.files if self._current(path) != kept.files[path][0].old}
        rest = attrs.evolve(task.only(paths), aside=())
        return attrs.evolve(rest, is_change=bool(rest.files or rest.made))

    def _turn(self, undone: UndoneShare) -> Reversal:
        operation = self._step_changes.operation(undone)
        return next(turn for turn in operation.turned if turn.name == undone.name)

    def _parts(self, moves: Iterable[GitMove]) -> set[str]:
        return {part for move in moves for part in parts_of(self._store, move.before, move.after)}

    def whole(self, unit: UndoUnit, *, with_git: bool = False) -> UndoTask:
        """Makes a task of all that a step or an operation changed, even if it was undone.

        With `with_git`, that includes the files that git put there.
        """
        own = self._step_changes.own(unit, with_git=with_git)
        may_be_gits = isinstance(unit, Step) and unit.may_change_git and not with_git
        by_git = self._step_changes.own(unit, with_git=True).files.keys() - own.files.keys() if may_be_gits else ()
        # it is unknown whether something ignored was at the paths of files that a step made
        is_known = isinstance(unit, Operation) and unit.operated.effects is not None
        target = snapshot_before(self._store, self._store.load(unit.from_), own.files if is_known else {})
        # an empty directory that another session may have made or removed stays as it is
        went = {path for path, delta in own.directories.items() if not delta.came and not delta.shared}
        came = {path for path, delta in own.directories.items() if delta.came and not delta.shared}
        above = {above for path in came for above in parents(path)}
        left = unit.to or self._store.timeline.head
        assert left is not None
        return UndoTask(
            unit=unit,
            state="undone",
            files=own.files,
            made=tuple(sorted(went)),
            removed=tuple(sorted(path for path in {*came, *above} if not target.has_directory(path))),
            renames=self._moved(unit, own.files),
            end=left,
            target=target,
            stages=(target,),
            is_change=bool(own.files or own.directories),
            by_git=tuple(sorted(by_git)),
            left=left,
        )

    def to_redo(
        self,
        session_id: SessionId | None,
        undone: Sequence[UndoneShare],
        count: int | None,
        call: Call,
        *,
        with_git: bool = False,
    ) -> list[UndoTask]:
        """Returns what there is to redo, of a session or of everything; the last undone is first, as in `undone`.

        In `count`, a step that was undone with its parts counts as one. Pieces of a step that were undone one by one
        are redone together, unless one of another came between. None means everything that the last undo took back.
        """
        chosen: dict[UndoneShare, UndoTask] = {}
        names: set[str] = set()
        last: OperationId | None = None
        # an operation may have undone a thousand steps: read it once
        operations: dict[OperationId, Operated] = {}
        for one in undone:
            # of what was redone but for git, only git is left
            if one in chosen or (one.rest == () and not with_git):
                continue
            operation = operations.get(one.operation_id) or self._step_changes.operation(one)
            operations[one.operation_id] = operation
            named = operation.root if session_id in (None, operation.session_id) else None
            last = last or one.operation_id
            is_over = one.operation_id != last if count is None else len(names) == count
            if is_over and (named or one.name) not in names:
                break
            names.add(named or one.name)
            for name in [one.name] if named is None else [turn.name for turn in reversed(operation.turned)]:
                for each in self._down_to(name, one.operation_id):
                    if each not in chosen:
                        chosen[each] = self._again(each, operations.get(each.operation_id), call)
        return list(chosen.values())

    def _down_to(self, name: str, operation_id: OperationId) -> list[UndoneShare]:
        """Returns what was undone of a unit since an operation, inclusive, newest first; none if it was redone."""
        undone = list(reversed(self._store.timeline.undone(name)))
        at = next((at for at, one in enumerate(undone) if one.operation_id == operation_id), None)
        return undone[: at + 1] if at is not None else []

    def _again(self, undone: UndoneShare, operation: Operated | None, call: Call) -> UndoTask:
        call.check()
        operation = operation or self._step_changes.operation(undone)
        turn = next(turn for turn in operation.turned if turn.name == undone.name)
        unit = self._store.timeline.unit(undone.name)
        assert unit is not None
        first = self._store.timeline.undone(undone.name)[0]
        files = deltas_of(turn.effects)
        target = snapshot_before(self._store, self._store.load(operation.before), files)
        moved = self._moved(unit, self._step_changes.own(unit).files)
        task = UndoTask(
            unit=unit,
            state="applied" if undone == first else "partly",
            files=files,
            made=turn.removed_directories,
            removed=turn.made_directories,
            renames={old: new for new, old in moved.items()},
            end=operation.before,
            target=target,
            # steps that were undone together may be redone together, or one after the other
            stages=(Target(self._store, self._store.load(unit.to or operation.before)), target),
            is_change=True,
            again=undone.operation_id,
            left=unit.from_,
            git={0: turn.git} if turn.git is not None and undone.has_git else {},
        )
        if undone.rest is None:
            return task
        return attrs.evolve(task.only(undone.rest), aside=(), is_change=bool(undone.rest))

    def _moved(self, unit: UndoUnit, files: Mapping[RelPath, Sequence[Delta]]) -> Mapping[RelPath, RelPath]:
        """Maps the new path of each file that a unit moved to its old one; cheap unless it added and deleted files."""
        went = any(delta.new is None for chain in files.values() for delta in chain)
        came = any(delta.old is None for chain in files.values() for delta in chain)
        if not (went and came):
            return {}
        result = own_moves(self._step_changes.spans(unit), self._store.renames)
        return {new: old for new, old in result.items() if new in files and old in files}

    def reverted(self, undone: Sequence[UndoneShare]) -> list[UndoneShare]:
        """Returns those of the undone shares that `session/revert` undid."""
        # an operation may have undone a thousand steps: read it once
        operations = {one.operation_id: one for one in undone}
        kinds = {operation_id: self._step_changes.operation(one).kind for operation_id, one in operations.items()}
        return [one for one in undone if kinds[one.operation_id] == "revert"]

    # -- the plan

    def patch(self, tasks: Sequence[UndoTask], prepared: StartState, recorded: Collection[str], call: Call) -> Patch:
        """Plans some tasks, one after the other, on the current files.

        `recorded` has the ids of the units that the timeline records as undone or redone.
        """
        on_conflict, decisions = prepared.options.on_conflict, prepared.options.decisions
        overlay = self._overlay(call)
        done: list[StepReversal] = []
        targets: dict[RelPath, Target] = {}
        left: dict[RelPath, Target] = {}
        pairs: list[tuple[RelPath, RelPath]] = []
        turned: list[Reversal] = []
        directories = DirectoryOverlay(self._work_tree, overlay)
        for task in tasks:
            taken = self._take_back(overlay, task, prepared.seen, on_conflict, decisions, call)
            if taken.absent and on_conflict != "keep":
                taken = self._locate_absent(task, taken, call)
            done.append(taken)
            targets.update((effect.path, task.target) for effect in taken.effects)
            if task.left is not None:
                was = Target(self._store, self._store.load(task.left))
                for effect in taken.effects:
                    left.setdefault(effect.path, was)
            pairs += task.renames.items()
            made, removed = directories.take_back(task, taken)
            turned.append(task.turned(taken, made, removed, directories.blocked, settled=on_conflict == "keep"))
        if on_conflict != "keep":
            with_git = {task.unit.name for task in tasks if task.git and prepared.options.git}
            turned = _drop_empty_reversals(tasks, turned, done, with_git)
        outcomes = {outcome.path: outcome for outcome in combined(overlay, done)}
        outcomes |= {path: FileOutcome(path, "conflict", "occupied") for path in directories.blocked}
        if on_conflict == "keep":
            outcomes = {path: outcome.settled() for path, outcome in outcomes.items()}
        effects = {effect.path: effect for effect in overlay.effects()}
        if on_conflict == "fail":
            # a file that conflicts for one of the steps is a conflict, even if another step has none there
            effects = {path: effect for path, effect in effects.items() if not _is_conflict(outcomes.get(path))}
        linked = LinkedFiles([*pairs, *moved_contents(effects.values())])
        unsaved = prepared.unsaved & effects.keys()
        unsaved |= {other for path in unsaved for other in linked.others(path) if other in effects}
        for path in unsaved:
            outcomes[path] = FileOutcome(path, "conflict", "unsavedInEditor")
            del effects[path]
        merged = {path for path, outcome in outcomes.items() if outcome.outcome == "merged"}
        made, removed_for = directories.goals()
        return Patch(
            goals=[
                FileGoal(path, targets[path], one.new, path in merged, left.get(path)) for path, one in effects.items()
            ],
            settled=[outcome for path, outcome in outcomes.items() if path not in effects],
            made=made,
            removed=removed_for,
            linked=linked,
            is_decided=True,
            turned=tuple(turn for turn in turned if turn.name in recorded),
        )

    def conflicts(
        self, tasks: Sequence[UndoTask], seen: Snapshot, call: Call
    ) -> Iterator[tuple[UndoTask, FileOutcome, Entry | None]]:
        """Yields each file that conflicts if no one's work may be overwritten: task, outcome, entry before the task."""
        overlay = self._overlay(call)
        for task in tasks:
            for outcome in self._take_back(overlay, task, seen, "merge", NO_DECISIONS, call).outcomes:
                if _is_conflict(outcome):
                    yield task, outcome, overlay.get(outcome.path)

    def _locate_absent(self, task: UndoTask, taken: StepReversal, call: Call) -> StepReversal:
        """Reports where a step's missing changes are: those on another branch or stashed stay in force."""
        places: dict[RelPath, tuple[str, bytes | None]] = {}
        left = {path: task.files[path][-1].new for path in taken.absent}
        wanted = {path: entry for path, entry in left.items() if entry is not None and task.again is None}
        branches = files_of_other_branches(self._work_tree.root, wanted, ProjectBlobs)
        for branch, files in branches if wanted else ():
            call.check()
            known = self._store.adopt((), [entry.oid for entry in files.values()])
            for path, entry in files.items():
                if path not in places and entry.oid in known and self._would_undo(task.files[path], entry):
                    places[path] = ("stashed", None) if branch is None else ("onBranch", branch)
        if not (taken.effects or taken.conflicting):
            places = {path: places.get(path, ("already", None)) for path in taken.absent}
        outcomes = [
            attrs.evolve(outcome, reason=places[outcome.path][0], branch=places[outcome.path][1])
            if outcome.path in places
            else outcome
            for outcome in taken.outcomes
        ]
        elsewhere = {path for path, (reason, _) in places.items() if reason != "already"}
        conflicting = sorted(elsewhere.union(taken.conflicting))
        return attrs.evolve(taken, outcomes=tuple(outcomes), conflicting=tuple(conflicting))

    def _would_undo(self, chain: Sequence[Delta], entry: Entry) -> bool:
        """Whether a file has the change of a step, so that an undo would take it back there."""
        result = three_way(chain[-1].new, entry, chain[0].old, partial(merge, self._store))
        return not isinstance(result, Overlap) and result != entry

    def _overlay(self, call: Call) -> Overlay:
        def current(path: RelPath) -> Entry | None:
            call.check()
            return self._current(path)

        return Overlay(current, self._work_tree.captured_below)

    def _take_back(
        self,
        overlay: Overlay,
        task: UndoTask,
        seen: Snapshot,
        on_conflict: OnConflict,
        decisions: Mapping[RelPath, Decision],
        call: Call,
    ) -> StepReversal:
        def merge_checked(base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
            call.check()
            return merge(self._store, base, ours, theirs)

        def moved_since() -> Mapping[RelPath, RelPath]:
            return {old: new for new, old in self._store.renames(task.end.tree, seen.tree).items()}

        call.check()
        return take_back(overlay, task.files, task.renames, moved_since, merge_checked, on_conflict, decisions)

    def _current(self, path: RelPath) -> Entry | None:
        captured = self._work_tree.captured(path)
        return captured.entry if captured is not None else None


def _is_conflict(outcome: FileOutcome | None) -> bool:
    return outcome is not None and outcome.outcome == "conflict"


def _drop_empty_reversals(
    tasks: Sequence[UndoTask], turned: Sequence[Reversal], done: Sequence[StepReversal], with_git: Collection[str]
) -> list[Reversal]:
    """Drops the records of units of which nothing is undone or redone: these stay as they are.

    Those in `with_git` stay until it is planned what becomes of their git state.
    """
    did = {
        turn.name
        for task, turn, taken in zip(tasks, turned, done, strict=True)
        if turn.effects
        or turn.made_directories
        or turn.removed_directories
        or taken.kept
        or (task.is_any and not task.files)
    }
    # a unit that changed nothing is recorded together with its parts
    goes = bool(did) or not any(task.is_any for task in tasks)
    idle = {task.unit.name for task in tasks if goes and not task.is_any}
    return [turn for turn in turned if turn.name in did | idle or turn.name in with_git]


def snapshot_before(store: Store, snapshot: Snapshot, files: Mapping[RelPath, Sequence[Delta]]) -> Target:
    """Returns the snapshot that files go back to; where one was made, not even an ignored file was there before."""
    return Target(store, snapshot, frozenset(path for path, chain in files.items() if chain[0].old is None))
