"""`session/undo`, `redo`, `revert` and `unrevert`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.actions.undo.steps import Wanted
from snapd.core.compare.unified import as_text
from snapd.core.errors import InvalidParams
from snapd.wire import methods
from snapd.wire import session as wire
from snapd.wire.values import Outcome

from . import convert, history
from .binding import handles

if TYPE_CHECKING:
    from snapd.core.answers import Turning

    from .binding import Context


@handles(methods.SESSION_UNDO)
def undo(context: Context, params: wire.SessionUndoParams) -> wire.StepsOutcome:
    """Undoes steps and operations."""
    named = {"stepId": params.step_id, "messageId": params.message_id, "afterStepId": params.after_step_id}
    if len(given := [name for name, value in named.items() if value is not None]) > 1:
        raise InvalidParams(f"{given[1]}: not together with {given[0]}", hint="send one of them", field=given[1])
    wanted = Wanted(params.session_id, params.count, params.step_id, params.message_id, params.after_step_id)
    asked = convert.options(params)
    return _turned(context, context.workspace.undo_steps.undo(wanted, asked, context.call))


@handles(methods.SESSION_REDO)
def redo(context: Context, params: wire.SessionRedoParams) -> wire.StepsOutcome:
    """Redoes steps and operations."""
    asked = convert.options(params)
    return _turned(context, context.workspace.undo_steps.redo(params.session_id, params.count, asked, context.call))


@handles(methods.SESSION_REVERT)
def revert(context: Context, params: wire.SessionRevertParams) -> wire.RevertOutcome:
    """Goes back to before a message."""
    workspace = context.workspace
    asked = convert.options(params)
    result = workspace.undo_steps.revert(params.session_id, params.message_id, params.part_id, asked, context.call)
    same = result.before == result.after
    changed = () if same else workspace.diff(result.before, result.after, (), context.call)
    return convert.outcome_of(
        wire.RevertOutcome,
        workspace.root,
        result,
        message_id=params.message_id,
        part_id=params.part_id,
        snapshot=result.before.hex(),
        diff=as_text(changed),
    )


@handles(methods.SESSION_UNREVERT)
def unrevert(context: Context, params: wire.SessionUnrevertParams) -> Outcome:
    """Reverses `revert`."""
    asked = convert.options(params)
    result = context.workspace.undo_steps.unrevert(params.session_id, asked, context.call)
    return convert.outcome(context.workspace.root, result)


def _turned(context: Context, turning: Turning) -> wire.StepsOutcome:
    root, result = context.workspace.root, turning.outcome
    return convert.outcome_of(
        wire.StepsOutcome,
        root,
        result,
        steps=[history.step(root, step) for step in turning.steps],
        operations=[history.operation(operation) for operation in turning.operations] or None,
    )
