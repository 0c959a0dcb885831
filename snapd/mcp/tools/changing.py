"""The tools that change files: `undo`, `redo` and `restore_file`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.errors import InvalidParams

from .finding import find_snapshot, find_step, whose
from .planning import Action, carry_out

if TYPE_CHECKING:
    from snapd.mcp.call import Call, Outcome

    from .params import RedoParams, RestoreFileParams, UndoParams


def undo(call: Call, params: UndoParams) -> Outcome:
    """Takes back steps, or what one of them did to some files; raises `SnapdError` as the daemon does."""
    _check_one(params, "step", "message")
    if params.step is None and params.files is not None:
        raise InvalidParams("files: only with a step", hint="give the step whose changes to take back", field="files")
    if params.count != 1 and (params.step is not None or params.message is not None):
        raise InvalidParams("count: not together with step or message", hint="leave it out", field="count")
    if params.step is not None:
        step_id = find_step(call, params.step)["stepId"]
        if params.files is not None:
            action = Action("undo", "step/revertFiles", {"stepId": step_id, "files": params.files})
        else:
            action = Action("undo", "session/undo", {"stepId": step_id})
    elif params.message is not None:
        # its steps may be of any session: only who says so means this one
        session_id = whose(call, params.session or "all")
        action = Action("undo", "session/undo", {"messageId": params.message, "sessionId": session_id})
    else:
        action = Action("undo", "session/undo", {"sessionId": whose(call, params.session), "count": params.count})
    return carry_out(call, action, params.token)


def redo(call: Call, params: RedoParams) -> Outcome:
    """Does again what was taken back last; raises `SnapdError` as the daemon does."""
    action = Action("redo", "session/redo", {"sessionId": whose(call, params.session), "count": params.count})
    return carry_out(call, action, params.token)


def restore_file(call: Call, params: RestoreFileParams) -> Outcome:
    """Brings a file or a folder back from a snapshot; raises `SnapdError` as the daemon does."""
    _check_one(params, "step", "snapshot")
    if params.step is not None:
        step = find_step(call, params.step)
        found = step["from"] if params.when == "before" else step.get("to")
        if found is None:
            raise InvalidParams(
                f"step {step['stepId']!r} is still open", hint="there is no 'after' before it has ended", field="when"
            )
    elif params.snapshot is not None:
        found = find_snapshot(call, params.snapshot)
    else:
        raise InvalidParams(
            "step: give a step or a snapshot", hint="`history` lists steps, and the snapshots around them", field="step"
        )
    patches = [{"hash": found, "files": [params.path]}]
    return carry_out(call, Action("restore_file", "snapshot/revert", {"patches": patches}), params.token)


def _check_one(params: object, first: str, second: str) -> None:
    """Makes sure that at most one of two arguments is given; raises `InvalidParams`."""
    if getattr(params, first) is not None and getattr(params, second) is not None:
        raise InvalidParams(f"{second}: not together with {first}", hint="give one of them", field=second)
