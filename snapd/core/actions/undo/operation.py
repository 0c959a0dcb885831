"""How steps and operations are taken back and done again: one way for undo, redo, revert, unrevert, and parts of steps.

An undo unit is a step, or an operation that changed something by itself, such as a restore.

    resolve       which units the client means              `UndoSteps`, `UndoParts`
    own changes   what there is to take back of each        `UndoPlanner`
    capture       the work tree as it is now                `Writer.prepare`
    overlay       the files without these changes           `UndoPlanner.plan`
    plan          what to do to each file for that          `Planner.from_effects`
    apply         the plan, file by file                    `Writer.carry_out`
    record        the operation in the timeline             `Writer.carry_out`

The first two give tasks; `UndoOperation.carry_out` does the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import attrs

from snapd.core.actions.sessions import OTHER_NOTICES, Sessions
from snapd.core.actions.steps.step_changes import StepChanges
from snapd.core.answers import Turning
from snapd.core.operations.details import OperationOptions
from snapd.core.operations.writer import Writer
from snapd.model.call import Call
from snapd.model.timeline import Operation, OperationKind, SessionId, Step, StepId
from snapd.store.timeline.timeline import Timeline

from .contested import ContestedFiles
from .planner import UndoPlanner
from .task import UndoTask, wanted_by_tasks


@attrs.define(eq=False)
class UndoOperation:
    """The common part of all operations that take steps back, or do them again, in one workspace.

    Args:
        writer: captures the work tree and changes it.
        sessions: of the workspace.
        step_changes: says what steps changed.
        planner: finds what there is to take back, and plans how.
        timeline: of the workspace.
        contested: says who changed the files in conflict.
    """

    _writer: Writer
    _sessions: Sessions
    _step_changes: StepChanges
    _planner: UndoPlanner
    _timeline: Timeline
    _contested: ContestedFiles

    def carry_out(
        self,
        kind: OperationKind,
        session_id: SessionId | None,
        tasks: Sequence[UndoTask],
        options: OperationOptions,
        call: Call,
        *,
        recorded: Collection[str] | None = None,
        root: StepId | None = None,
        message_id: str | None = None,
        part_id: str | None = None,
    ) -> Turning:
        """Carries out an operation; the caller has the right to write.

        Args:
            kind: of the operation.
            session_id: the session that it is about; None if it is about several, or none.
            tasks: what to take back, or to do again, in the order in which it is done.
            options: how the client wants it done.
            call: the request; may be cancelled until the first file is moved.
            recorded: the names of what the timeline records as taken back, or done again; None for that of all tasks.
            root: the step that the client named, which is taken back with its parts.
            message_id: the message that the client named.
            part_id: the part of that message.

        Raises:
            StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
        """
        writer = self._writer
        # if no task changes anything, nothing is recorded: there is nothing to do again
        tasks = tasks if any(task.is_change for task in tasks) else ()
        names = dict.fromkeys(task.unit.name for task in tasks)
        if recorded is not None:
            names = {name: None for name in names if name in recorded}
        # each step gets a notification, which must be possible even if the disk is full by then
        writer.event_log.prepare(len(tasks) + OTHER_NOTICES)
        prepared = writer.prepare(writer.seen(call), wanted_by_tasks(tasks), options, call)
        contested = () if options.details is None else self._contested.of(tasks, prepared, call)
        plan, turned = self._planner.plan(tasks, prepared, call)
        event = attrs.evolve(
            writer.operation(kind, prepared.seen),
            session_id=session_id,
            turned=tuple(turn for turn in turned if turn.name in names),
            root=root,
            message_id=message_id,
            part_id=part_id,
        )
        outcome = writer.carry_out(prepared, plan, event, call)
        if outcome.details is not None:
            outcome = attrs.evolve(outcome, details=attrs.evolve(outcome.details, contested=contested))
        units = [unit for unit in map(self._timeline.unit, names) if unit is not None]
        steps = tuple(self._sessions.shown(unit, call) for unit in units if isinstance(unit, Step))
        if outcome.applied:
            self._sessions.notify_steps(steps)
        return Turning(outcome, steps, tuple(unit for unit in units if isinstance(unit, Operation)))
