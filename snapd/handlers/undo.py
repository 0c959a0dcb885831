"""`session/undo`, `redo`, `revert` and `unrevert`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.compare.unified import as_text
from snapd.wire import methods
from snapd.wire import session as wire
from snapd.wire.values import Outcome

from . import convert, history
from .binding import handles

if TYPE_CHECKING:
    from collections.abc import Iterable

    from snapd.core import model
    from snapd.core.answers import StepView

    from .context import Context


@handles(methods.SESSION_UNDO)
def undo(context: Context, params: wire.SessionUndoParams) -> wire.StepsOutcome:
    """Undoes steps."""
    asked = convert.request(params.on_conflict, "merge", params.dry_run)
    return _with_steps(
        context,
        *context.workspace.undo_steps.undo(params.session_id, params.count, params.step_id, asked, context.call),
    )


@handles(methods.SESSION_REDO)
def redo(context: Context, params: wire.SessionRedoParams) -> wire.StepsOutcome:
    """Redoes steps."""
    asked = convert.request(params.on_conflict, "merge", params.dry_run)
    return _with_steps(
        context, *context.workspace.undo_steps.redo(params.session_id, params.count, asked, context.call)
    )


@handles(methods.SESSION_REVERT)
def revert(context: Context, params: wire.SessionRevertParams) -> wire.RevertOutcome:
    """Goes back to before a message."""
    workspace = context.workspace
    asked = convert.request(params.on_conflict, "merge", params.dry_run)
    result = workspace.undo_steps.revert(params.session_id, params.message_id, params.part_id, asked, context.call)
    same = result.before == result.after
    changed = () if same else workspace.diff(result.before, result.after, (), context.call)
    return wire.RevertOutcome(
        applied=result.applied,
        before=result.before.hex(),
        after=result.after.hex(),
        files=convert.file_outcomes(workspace.root, result.files),
        message_id=params.message_id,
        part_id=params.part_id,
        snapshot=result.before.hex(),
        diff=as_text(changed),
    )


@handles(methods.SESSION_UNREVERT)
def unrevert(context: Context, params: wire.SessionUnrevertParams) -> Outcome:
    """Reverses `revert`."""
    asked = convert.request(None, "merge", False)
    result = context.workspace.undo_steps.unrevert(params.session_id, asked, context.call)
    return convert.outcome(context.workspace.root, result)


def _with_steps(context: Context, result: model.Outcome, steps: Iterable[StepView]) -> wire.StepsOutcome:
    root = context.workspace.root
    return wire.StepsOutcome(
        applied=result.applied,
        before=result.before.hex(),
        after=result.after.hex(),
        files=convert.file_outcomes(root, result.files),
        steps=[history.step(root, step) for step in steps],
    )
