"""Takes back pieces of what a step changed: some files, or some hunks of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.actions.undo_task import wanted_by_tasks
from snapd.core.compare.hunks import hunks, without
from snapd.core.compare.text import is_binary
from snapd.core.errors import InvalidParams
from snapd.core.model import SYMLINK, Entry, FileOutcome
from snapd.core.paths import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from snapd.core.call import Call
    from snapd.core.compare.hunks import Hunk
    from snapd.core.model import Outcome, RelPath, Snapshot
    from snapd.core.operations.planner import Planner
    from snapd.core.operations.writer import Request, Writer
    from snapd.core.plan import Plan
    from snapd.core.ports.differ import TextDiffer
    from snapd.core.ports.store import Store
    from snapd.core.timeline.attribution import Delta
    from snapd.core.timeline.model import Operated, OperationKind, Step, StepId

    from .sessions import Sessions
    from .step_changes import StepChanges
    from .undo_planner import UndoPlanner
    from .undo_task import UndoTask


_STEP_FILES = "'snapd show STEP' shows which files it changed"
TAKEN_BACK = ("partly", "undone")
"""The states of steps of which something was taken back: the rest of them is, too, where some of their files are."""


class UndoParts:
    """Undo of pieces in one workspace.

    Args:
        writer: of the workspace.
        sessions: likewise.
        deeds: tells what steps changed.
        tasks: what there is to take back.
        texts: compares texts.
    """

    def __init__(
        self, writer: Writer, sessions: Sessions, deeds: StepChanges, tasks: UndoPlanner, texts: TextDiffer
    ) -> None:
        self._writer = writer
        self._sessions = sessions
        self._deeds = deeds
        self._tasks = tasks
        self._texts = texts

    @property
    def _store(self) -> Store:
        return self._writer.store

    # -- hunks

    def hunks(self, step_id: StepId, path: RelPath, call: Call) -> tuple[Hunk, ...]:
        """The hunks of what a step changed in a file; none of a binary file.

        Raises:
            UnknownStep: see there.
            InvalidParams: the step did not change it.
            StoreCorrupt, IoError, Cancelled: see there.
        """
        step = self._sessions.known_step(step_id)
        sides = self._sides(step, path, call)
        return hunks(*sides, self._texts, call) if sides is not None else ()

    def revert_hunks(
        self, step_id: StepId, path: RelPath, indexes: Sequence[int], request: Request, call: Call
    ) -> Outcome:
        """Takes back some hunks of what a step changed in a file.

        Args:
            step_id: the step.
            path: the file.
            indexes: which hunks.
            request: how it is asked.
            call: the request; may be cancelled until the file is moved.

        Raises:
            UnknownStep: see there.
            InvalidParams: the step did not change the file, or there are no such hunks.
            StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
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
                self._tasks.whole(step),
                files={path: (attrs.evolve(change, old=wanted),)},
                made=(),
                removed=(),
                renames={},
            )
            return self._take_back("hunks", step, [task], request, call)

    # -- files

    def revert_files(self, step_id: StepId, paths: Collection[RelPath], request: Request, call: Call) -> Outcome:
        """Takes back what a step and its parts changed in some files; of what was undone already, what conflicted then.

        Args:
            step_id: the step. One that is applied stays so; one that was undone in part is undone once nothing is left.
            paths: the files; one that it moved by either of its names.
            request: how it is asked.
            call: the request; may be cancelled until the first file is moved.

        Raises:
            UnknownStep: see there.
            InvalidParams: the step did not change one of the files.
            StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
        """
        with self._writer.turn(call):
            step = self._sessions.known_step(step_id)
            wanted = set(paths)
            # what is left of a step that an older snapd took back is told by the files as they are
            self._writer.look((), call)
            opened = [part for part in self._deeds.with_parts(step) if part.state == "open"]
            # the step goes on, but what it changed so far is what it would have changed if it ended now
            with self._sessions.supposing_ended(reversed(opened), call):
                parts = self._deeds.with_parts(self._sessions.known_step(step_id))
                whole = [self._tasks.whole(part) for part in parts]
                tasks = [self._tasks.undoing(part) for part in reversed(parts)]
            changed = {path for task in whole for path in task.files}
            for path in wanted - changed:
                raise InvalidParams(
                    f"files: step {step_id!r} did not change {shown(path)}", hint=_STEP_FILES, field="files"
                )
            for task in whole:
                wanted |= {name for pair in task.renames.items() if wanted & set(pair) for name in pair}
            tasks = [task for task in (task.only(wanted) for task in tasks) if task.files]
            outcome = self._take_back("revert", step, tasks, request, call)
            # what was taken back before is as it is to be
            told = {file.path for file in outcome.files}
            rest = [FileOutcome(path, "unchanged") for path in wanted & changed - told]
            return attrs.evolve(outcome, files=tuple(sorted([*outcome.files, *rest], key=lambda file: file.path)))

    def _take_back(
        self, kind: OperationKind, step: Step, tasks: Sequence[UndoTask], request: Request, call: Call
    ) -> Outcome:
        # a step that is applied stays so, and one that was taken back in part has more of it taken back by this
        again = {task.step.step_id for task in tasks if kind == "revert" and task.step.state in TAKEN_BACK}

        def make_plan(planner: Planner, before: Snapshot) -> tuple[Plan, Operated]:
            plan, turned = self._tasks.plan(planner, before, tasks, request, call)
            operation = attrs.evolve(
                self._writer.operation(kind, before),
                session_id=step.begun.session_id,
                turned=tuple(turn for turn in turned if turn.step_id in again),
                root=step.step_id if again else None,
            )
            return plan, operation

        outcome = self._writer.operate(make_plan, (), lambda _: wanted_by_tasks(tasks), request, call)
        if outcome.applied:
            steps = [self._sessions.known_step(task.step.step_id) for task in tasks if task.step.step_id in again]
            self._sessions.tell_steps([self._sessions.shown(step, call) for step in steps])
        return outcome

    # -- texts

    def _sides(self, step: Step, path: RelPath, call: Call) -> tuple[bytes, bytes] | None:
        """What a step made of a file, before and after; None where either is binary, or a symlink became a file."""
        change = self._net(step, call).get(path)
        if change is None:
            raise InvalidParams(
                f"file: step {step.step_id!r} did not change {shown(path)}", hint=_STEP_FILES, field="file"
            )
        if len({side.mode == SYMLINK for side in (change.old, change.new) if side is not None}) > 1:
            return None
        old, new = (b"" if side is None else self._store.read_blob(side.oid) for side in (change.old, change.new))
        return None if is_binary(old) or is_binary(new) else (old, new)

    def _net(self, step: Step, call: Call) -> dict[RelPath, Delta]:
        return self._deeds.net(self._deeds.with_parts(step), call)

    def _without(self, change: Delta, data: bytes, sides: tuple[bytes, bytes]) -> Entry | None:
        """A file with some of its hunks taken back."""
        if data == sides[1]:
            return change.new
        if data == sides[0] and (change.old is None or change.new is None):
            return change.old
        left = change.new or change.old
        assert left is not None
        with self._store.batch() as batch:
            oid = batch.blob(data)
            batch.commit()
        return Entry(left.mode, oid)
