"""How steps are taken back and done again: one way for undo, redo, revert, unrevert, and for parts of steps.

    resolve       which steps the client means              `UndoSteps`, `UndoParts`
    own changes   what there is to take back of each        `UndoPlanner`
    capture       the work tree as it is now                `Writer.prepare`
    overlay       the files without these changes           `UndoPlanner.plan`
    plan          what to do to each file for that          `Planner.from_effects`
    apply         the plan, file by file                    `Writer.carry_out`
    record        the operation in the timeline             `Writer.carry_out`

The first two give an `UndoOperation`; `carry_out` does the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from .sessions import OTHER_NOTICES
from .undo_task import wanted_by_tasks

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from snapd.core.answers import StepView
    from snapd.core.call import Call
    from snapd.core.model import Outcome
    from snapd.core.operations.writer import OperationOptions, Writer
    from snapd.core.timeline.model import OperationKind, SessionId, StepId

    from .sessions import Sessions
    from .undo_planner import UndoPlanner
    from .undo_task import UndoTask


@attrs.frozen
class UndoOperation:
    """What to take back, or to do again, and what the timeline records of it.

    Attributes:
        kind: of the operation.
        session_id: the session that it is about.
        tasks: in the order in which they are done.
        recorded: the steps that the timeline records as taken back, or done again.
        root: the step that the client named, which is taken back with its parts.
        message_id: the message that the client named.
        part_id: the part of that message.
    """

    kind: OperationKind
    session_id: SessionId
    tasks: Sequence[UndoTask]
    recorded: Collection[StepId]
    root: StepId | None = None
    message_id: str | None = None
    part_id: str | None = None


def carry_out(
    operation: UndoOperation,
    writer: Writer,
    planner: UndoPlanner,
    sessions: Sessions,
    options: OperationOptions,
    call: Call,
) -> tuple[Outcome, tuple[StepView, ...]]:
    """Carries out an undo operation; the caller has the right to write.

    Args:
        operation: what to do.
        writer: of the workspace.
        planner: of the workspace.
        sessions: of the workspace.
        options: how the client wants it done.
        call: the request; may be cancelled until the first file is moved.

    Returns:
        What became of the files; and the recorded steps, in the order in which they were taken back.

    Raises:
        StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
    """
    # each step gets a notification, which must be possible even if the disk is full by then
    writer.event_log.prepare(len(operation.tasks) + OTHER_NOTICES)
    prepared = writer.prepare(writer.seen(call), wanted_by_tasks(operation.tasks), options, call)
    plan, turned = planner.plan(operation.tasks, prepared, call)
    event = attrs.evolve(
        writer.operation(operation.kind, prepared.seen),
        session_id=operation.session_id,
        turned=tuple(turn for turn in turned if turn.step_id in operation.recorded),
        root=operation.root,
        message_id=operation.message_id,
        part_id=operation.part_id,
    )
    outcome = writer.carry_out(prepared, plan, event, call)
    step_ids = dict.fromkeys(task.step.step_id for task in operation.tasks if task.step.step_id in operation.recorded)
    views = tuple(sessions.shown(sessions.known_step(step_id), call) for step_id in step_ids)
    if outcome.applied:
        sessions.notify_steps(views)
    return outcome, views
