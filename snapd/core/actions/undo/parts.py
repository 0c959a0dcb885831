"""Takes back parts of what a step changed: some files, or some hunks of one; see `operation`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import attrs

from snapd.core.attribution import Delta
from snapd.core.compare.edits import Hunk, hunks, without
from snapd.core.compare.text import TextDiffer, is_binary
from snapd.core.operations.details import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import InvalidParams
from snapd.model.paths import shown
from snapd.model.snapshot import SYMLINK, Entry, FileOutcome, Outcome, RelPath
from snapd.model.timeline import Step, StepId
from snapd.store.object_store import ObjectStore

from .operation import UndoOperation
from .task import UndoTask

_STEP_FILES = "'snapd show STEP' shows which files it changed"
TAKEN_BACK = ("partly", "undone")
"""The states of steps that were taken back before, at least in part: taking back a file of them is recorded."""


@attrs.define(eq=False)
class UndoParts(UndoOperation):
    """Takes back files and hunks of steps in one workspace; the first arguments are those of `UndoOperation`.

    Every operation raises `UnknownStep` if there is no such step. The request may be cancelled until the first file is
    moved; if it raises `StoreCorrupt`, `StorageFull`, `WorkspaceGone`, `IoError` or `Cancelled`, nothing was changed.

    Args:
        objects: holds the contents of files.
        texts: compares texts.
    """

    _objects: ObjectStore
    _texts: TextDiffer

    # -- hunks

    def hunks(self, step_id: StepId, path: RelPath, call: Call) -> tuple[tuple[Hunk, ...], bool]:
        """Lists the hunks of what a step itself changed in a file.

        Returns:
            The hunks, none of a binary file; and whether there are none because others changed the same lines while
            the step was at work.

        Raises:
            InvalidParams: the step did not change the file.
        """
        change = self._change(self._sessions.known_step(step_id), path, call)
        sides = None if change.is_mixed else self._sides(change)
        return hunks(*sides, self._texts, call) if sides is not None else (), change.is_mixed

    def revert_hunks(
        self, step_id: StepId, path: RelPath, indexes: Sequence[int], options: OperationOptions, call: Call
    ) -> Outcome:
        """Takes back some hunks, counted from 0, of what a step itself changed in a file.

        All of them together are taken back as an undo of the step takes back the file.

        Raises:
            InvalidParams: the step did not change the file, there are no such hunks, or the change of the step cannot
                be told from those of others.
        """
        with self._writer.turn(call):
            self._writer.see_recent_edits(call)
            step = self._sessions.known_step(step_id)
            change = self._change(step, path, call)
            sides = None if change.is_mixed else self._sides(change)
            if sides is None:
                said = "others changed the same lines in between" if change.is_mixed else "the file is binary"
                hint = "take the whole file back with `step/revertFiles`"
                raise InvalidParams(f"hunks: {said}", hint=hint, field="hunks")
            data = without(*sides, indexes, self._texts, call)
            if data == sides[0] != sides[1]:
                tasks = self._whole(step, {path})
            else:
                left = change.new or change.old
                assert left is not None
                kept = change.new if data == sides[1] else Entry(left.mode, self._objects.store_blob(data))
                part = {path: (attrs.evolve(change, old=kept),)}
                task = self._planner.whole(step)
                tasks = [attrs.evolve(task, files=part, made=(), removed=(), renames={}, is_change=True)]
            return self.carry_out("hunks", step.begun.session_id, tasks, options, call, recorded=()).outcome

    def _whole(self, step: Step, wanted: set[RelPath]) -> list[UndoTask]:
        """Makes the tasks that take back some files of a step and its parts, even if they were taken back before."""
        tasks = [self._planner.whole(part) for part in reversed(self._step_changes.with_parts(step))]
        return [task for task in (task.only(_with_moves(tasks, wanted)) for task in tasks) if task.files]

    # -- files

    def revert_files(
        self, step_id: StepId, paths: Collection[RelPath], options: OperationOptions, call: Call
    ) -> Outcome:
        """Takes back what a step and its parts changed in some files; if that was undone before, what conflicted then.

        An applied step stays applied; a partly undone step becomes undone once nothing is left. A moved file goes by
        either of its names.

        Raises:
            InvalidParams: the step did not change one of the files.
        """
        with self._writer.turn(call):
            step = self._sessions.known_step(step_id)
            wanted = set(paths)
            # if an older snapd took a step back, only the files as they are show what is left of it
            self._writer.seen(call)
            opened = [part for part in self._step_changes.with_parts(step) if part.state == "open"]
            # an open step goes on; what it changed so far is what it would own if it ended now
            with self._sessions.supposing_ended(reversed(opened), call):
                parts = self._step_changes.with_parts(self._sessions.known_step(step_id))
                whole = [self._planner.whole(part) for part in parts]
                tasks = [self._planner.to_undo(part, call) for part in reversed(parts)]
            changed = {path for task in whole for path in task.files}
            for path in wanted - changed:
                raise InvalidParams(
                    f"files: step {step_id!r} did not change {shown(path)}", hint=_STEP_FILES, field="files"
                )
            wanted = _with_moves(whole, wanted)
            tasks = [task for task in (task.only(wanted) for task in tasks) if task.files]
            # an applied step stays applied; if some of a step was taken back before, this takes back more of it
            recorded = {task.unit.name for task in tasks if task.unit.state in TAKEN_BACK}
            root = step_id if recorded else None
            outcome = self.carry_out(
                "revert", step.begun.session_id, tasks, options, call, recorded=recorded, root=root
            ).outcome
            # files that were taken back before stay as they are
            reported = {file.path for file in outcome.files}
            rest = [FileOutcome(path, "unchanged") for path in wanted & changed - reported]
            return attrs.evolve(outcome, files=tuple(sorted([*outcome.files, *rest], key=lambda file: file.path)))

    # -- texts

    def _change(self, step: Step, path: RelPath, call: Call) -> Delta:
        """Finds what a step and its parts changed in a file, as one change."""
        change = self._step_changes.net(step, call).get(path)
        if change is None:
            raise InvalidParams(
                f"file: step {step.step_id!r} did not change {shown(path)}", hint=_STEP_FILES, field="file"
            )
        return change

    def _sides(self, change: Delta) -> tuple[bytes, bytes] | None:
        """Reads a file before and after a change; None where either is binary, or only one of them is a symlink."""
        if len({side.mode == SYMLINK for side in (change.old, change.new) if side is not None}) > 1:
            return None
        old, new = (b"" if side is None else self._objects.read_blob(side.oid) for side in (change.old, change.new))
        return None if is_binary(old) or is_binary(new) else (old, new)


def _with_moves(tasks: Iterable[UndoTask], wanted: set[RelPath]) -> set[RelPath]:
    """Adds to the names of files the other names of those that were moved."""
    for task in tasks:
        wanted = wanted.union(*(pair for pair in task.renames.items() if wanted & set(pair)))
    return wanted
