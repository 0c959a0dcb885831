"""Takes back parts of what a step changed: some files, or some hunks of one; see `operation`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.compare.hunks import hunks, without
from snapd.core.compare.text import is_binary
from snapd.core.errors import InvalidParams
from snapd.core.model import SYMLINK, Entry, FileOutcome
from snapd.core.paths import shown

from .operation import UndoOperation

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from snapd.core.call import Call
    from snapd.core.compare.hunks import Hunk
    from snapd.core.model import Outcome, RelPath
    from snapd.core.operations.options import OperationOptions
    from snapd.core.ports.differ import TextDiffer
    from snapd.core.ports.objects import Objects
    from snapd.core.timeline.attribution import Delta
    from snapd.core.timeline.model import Step, StepId


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

    _objects: Objects
    _texts: TextDiffer

    # -- hunks

    def hunks(self, step_id: StepId, path: RelPath, call: Call) -> tuple[Hunk, ...]:
        """Lists the hunks of what a step changed in a file; a binary file has none.

        Raises:
            InvalidParams: the step did not change the file.
        """
        step = self._sessions.known_step(step_id)
        sides = self._sides(step, path, call)
        return hunks(*sides, self._texts, call) if sides is not None else ()

    def revert_hunks(
        self, step_id: StepId, path: RelPath, indexes: Sequence[int], options: OperationOptions, call: Call
    ) -> Outcome:
        """Takes back some hunks, counted from 0, of what a step changed in a file.

        Raises:
            InvalidParams: the step did not change the file, or there are no such hunks.
        """
        with self._writer.turn(call):
            step = self._sessions.known_step(step_id)
            sides = self._sides(step, path, call)
            if sides is None:
                raise InvalidParams(
                    "hunks: the file is binary", hint="take the whole file back with `step/revertFiles`", field="hunks"
                )
            change = self._net(step, call)[path]
            data = without(*sides, indexes, self._texts, call)
            wanted = self._without(change, data, sides)
            task = attrs.evolve(
                self._planner.whole(step),
                files={path: (attrs.evolve(change, old=wanted),)},
                made=(),
                removed=(),
                renames={},
            )
            return self.carry_out("hunks", step.begun.session_id, [task], options, call, recorded=()).outcome

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
            for task in whole:
                wanted |= {name for pair in task.renames.items() if wanted & set(pair) for name in pair}
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

    def _sides(self, step: Step, path: RelPath, call: Call) -> tuple[bytes, bytes] | None:
        """Reads a file before and after a step; None where either is binary, or only one of them is a symlink."""
        change = self._net(step, call).get(path)
        if change is None:
            raise InvalidParams(
                f"file: step {step.step_id!r} did not change {shown(path)}", hint=_STEP_FILES, field="file"
            )
        if len({side.mode == SYMLINK for side in (change.old, change.new) if side is not None}) > 1:
            return None
        old, new = (b"" if side is None else self._objects.read_blob(side.oid) for side in (change.old, change.new))
        return None if is_binary(old) or is_binary(new) else (old, new)

    def _net(self, step: Step, call: Call) -> dict[RelPath, Delta]:
        return self._step_changes.net(self._step_changes.with_parts(step), call)

    def _without(self, change: Delta, data: bytes, sides: tuple[bytes, bytes]) -> Entry | None:
        """Makes the entry of a file without some of its hunks."""
        if data == sides[1]:
            return change.new
        if data == sides[0] and (change.old is None or change.new is None):
            return change.old
        left = change.new or change.old
        assert left is not None
        return Entry(left.mode, self._objects.store_blob(data))
