"""What to take back of one undo unit, and what becomes of empty directories as several are taken back in a row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

import attrs

from snapd.core.attribution import Delta
from snapd.core.compare.threeway import Overlay, TakenBack
from snapd.core.operations.target import DirectoryGoals, Target
from snapd.model.paths import parents
from snapd.model.snapshot import Entry, RelPath
from snapd.model.timeline import OperationId, SnapshotId, Step, Turned, UndoUnit
from snapd.worktree.worktree import WorkTree


@attrs.frozen
class UndoTask:
    """What to take back of one step, or of one operation.

    Attributes:
        unit: the step or the operation.
        state: its state afterwards, if nothing conflicts.
        files: for each file the changes to take back, the oldest first.
        made: empty directories to make.
        removed: empty directories to remove, with those above them that did not exist before either.
        renames: the old path by the new one, of files that were moved by what is taken back.
        end: the snapshot that the step, or the operation, left.
        target: the snapshot that the files go back to.
        stages: snapshots on the way: a directory that one of them lacks is removed with the files that came into it.
        is_change: whether there is anything to take back, even if the files are so already.
        aside: files and directories of the step that stay in force.
        again: for a redo, the operation that took it back; None for an undo.
    """

    unit: UndoUnit
    state: Literal["applied", "partly", "undone"]
    files: Mapping[RelPath, Sequence[Delta]]
    made: tuple[RelPath, ...]
    removed: tuple[RelPath, ...]
    renames: Mapping[RelPath, RelPath]
    end: SnapshotId
    target: Target
    stages: tuple[Target, ...]
    is_change: bool
    aside: tuple[RelPath, ...] = ()
    again: OperationId | None = None

    @property
    def is_any(self) -> bool:
        """Whether it is about any file or directory."""
        return bool(self.files or self.made or self.removed)

    def turned(
        self,
        taken: TakenBack,
        made: tuple[RelPath, ...],
        removed: tuple[RelPath, ...],
        blocked: set[RelPath],
        *,
        settled: bool,
    ) -> Turned:
        """Makes the record of the timeline.

        Args:
            taken: what becomes of the files.
            made: directories to make.
            removed: directories to remove.
            blocked: directories that cannot be made.
            settled: whether what conflicts is to stay as it is for good.
        """
        missed = set() if settled else {*taken.conflicting, *blocked.intersection(self.made)}
        is_step = isinstance(self.unit, Step)
        turned = Turned(
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
        """Narrows the task to some of its files, by the step's own names for them."""
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

    Args:
        work_tree: the folder, as of the last capture.
        files: the files as the operation would leave them.

    Attributes:
        blocked: directories that cannot be made because a file is in the way.
    """

    def __init__(self, work_tree: WorkTree, files: Overlay) -> None:
        self._work_tree = work_tree
        self._files = files
        # None for a directory to make; for one to remove, the snapshot that says that it was really absent
        self._changed: dict[RelPath, Target | None] = {}
        self._displaced: set[RelPath] = set()
        self._emptied: dict[RelPath, Target] = {}
        self.blocked: set[RelPath] = set()

    def take_back(self, task: UndoTask, taken: TakenBack) -> tuple[tuple[RelPath, ...], tuple[RelPath, ...]]:
        """Takes back what a step did to directories.

        Args:
            task: what to take back of the step.
            taken: what becomes of its files: one may take the place of a directory.

        Returns:
            The directories that this makes, and those that it removes.
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

    def goals(self) -> DirectoryGoals:
        """Gives the directories to make and to remove in all."""
        made = tuple(path for path, target in self._changed.items() if target is None)
        removed = {path: target for path, target in self._changed.items() if target is not None}
        kept = {way for path in made for way in (path, *parents(path))}
        # a directory that came with a file of one step may be needed again for another
        emptied = {path: target for path, target in self._emptied.items() if path not in kept}
        return DirectoryGoals(made, tuple((emptied | removed).items()))

    def _below(self, path: RelPath) -> set[RelPath]:
        """Finds the directories that a file at this path replaces."""
        if not self._is_there(path):
            return set()
        inside = path + b"/"
        made = {other for other in self._changed if other.startswith(inside)}
        return {below for below in {path, *self._work_tree.directories_below(path), *made} if self._is_there(below)}

    def _is_there(self, path: RelPath) -> bool:
        if path in self._changed:
            return self._changed[path] is None
        return path not in self._displaced and self._work_tree.is_directory(path)


def wanted_by_tasks(tasks: Sequence[UndoTask]) -> Iterator[RelPath]:
    """Finds the files that exist once some tasks are done, in that order."""
    final: dict[RelPath, Entry | None] = {}
    for task in tasks:
        final.update((path, chain[0].old) for path, chain in task.files.items())
    return (path for path, entry in final.items() if entry is not None)
