"""The tools that change files: `undo`, `redo` and `restore_file`.

Files change only after their plan was seen: by the user, or by the model, which then passes the plan's token. The token
stands for the arguments of the call and the daemon's plan, which the daemon carries out exactly or not at all.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from snapd.mcp.call import Answer, PersonQuestion
from snapd.model.errors import InvalidParams, PlanChanged
from snapd.wire.converter import structure
from snapd.wire.values import FileOutcome
from snapd.wire.words import git_lines, moves_git

from .finding import find_snapshot, find_step, whose
from .results import MAX_FILES, ChangeResult, ReversedStep
from .texts import change_text, cut, note, question_text

if TYPE_CHECKING:
    from snapd_client import protocol

    from snapd.mcp.call import Call, Outcome, Verdict

    from .params import RedoParams, RestoreFileParams, UndoParams
    from .results import Status

    class DaemonOutcome(protocol.Outcome, total=False):
        """The daemon's answer to any action."""

        steps: list[protocol.Step]


_QUESTION = "confirm"
_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"confirm": {"type": "boolean", "title": "Confirm", "description": "Carry out this plan"}},
    "required": ["confirm"],
}
_WRITTEN = frozenset({"restored", "deleted", "merged"})
_ORDER = {"conflict": 0, "failed": 1, "skipped": 2, "kept": 3}
"""The order of files that were not done as asked."""


def undo(call: Call, params: UndoParams) -> Outcome:
    """Undoes steps, or the changes of one step to some files."""
    _check_one(params, "step", "message")
    if params.step is None and params.files is not None:
        raise InvalidParams("files: only with a step", hint="give the step whose changes to undo", field="files")
    if params.count != 1 and (params.step is not None or params.message is not None):
        raise InvalidParams("count: cannot be used with step or message", hint="leave it out", field="count")
    if params.git and params.files is not None:
        raise InvalidParams("git: cannot be used with files", hint="leave one of them out", field="git")
    git = {"git": True} if params.git else {}
    if params.step is not None:
        step_id = find_step(call, params.step)["stepId"]
        if params.files is not None:
            action = Action("undo", "step/revertFiles", {"stepId": step_id, "files": params.files})
        else:
            action = Action("undo", "session/undo", {"stepId": step_id, **git})
    elif params.message is not None:
        # its steps may belong to any session; a session is used only if it was given
        session_id = whose(call, params.session or "all")
        action = Action("undo", "session/undo", {"messageId": params.message, "sessionId": session_id, **git})
    else:
        session_id = whose(call, params.session)
        action = Action("undo", "session/undo", {"sessionId": session_id, "count": params.count, **git})
    return carry_out(call, action, params.token)


def redo(call: Call, params: RedoParams) -> Outcome:
    """Redoes what was undone last."""
    git = {"git": True} if params.git else {}
    which = {"whole": True} if params.count is None else {"count": params.count}
    action = Action("redo", "session/redo", {"sessionId": whose(call, params.session), **which, **git})
    return carry_out(call, action, params.token)


def restore_file(call: Call, params: RestoreFileParams) -> Outcome:
    """Restores a file or folder from a snapshot."""
    _check_one(params, "step", "snapshot")
    if params.step is not None:
        step = find_step(call, params.step)
        result = step["from"] if params.when == "before" else step.get("to")
        if result is None:
            raise InvalidParams(
                f"step {step['stepId']!r} is still open", hint="use 'before', or wait until it has ended", field="when"
            )
    elif params.snapshot is not None:
        result = find_snapshot(call, params.snapshot)
    else:
        raise InvalidParams(
            "step: give a step or a snapshot", hint="`history` lists steps, and the snapshots around them", field="step"
        )
    patches = [{"hash": result, "files": [params.path]}]
    return carry_out(call, Action("restore_file", "snapshot/revert", {"patches": patches}), params.token)


def _check_one(params: object, first: str, second: str) -> None:
    if getattr(params, first) is not None and getattr(params, second) is not None:
        raise InvalidParams(f"{second}: cannot be used with {first}", hint="give one of them", field=second)


@attrs.frozen
class Action:
    """The request of a call to the daemon; `params` without `dryRun`, `expect` and `details`."""

    tool: str
    method: Any
    params: dict[str, Any]


def carry_out(call: Call, action: Action, token: str | None) -> Outcome:
    """Carries out an action whose plan was agreed on; else answers with the plan, or asks the user.

    `token` is that of the plan, if the model has seen it.
    """
    # if the user can be asked, a token does not replace them: the model may have got it elsewhere
    if token is not None and not call.terms.shows_forms:
        try:
            return _carry_out(call, action, token)
        except PlanChanged as error:
            plan = error.data["outcome"]
            return _pointless(action, plan) or _answer(action, "refused", plan, token=_token(action, plan))
    plan = _send(call, action, dryRun=True)
    if (nothing := _pointless(action, plan)) is not None:
        return nothing
    if not call.terms.shows_forms:
        return _answer(action, "planned", plan, token=_token(action, plan))
    return _ask_by_result(call, action, plan) if call.terms.is_stateless else _ask(call, action, plan)


def _ask(call: Call, action: Action, plan: DaemonOutcome) -> Answer:
    """Asks the user until they agree to the plan as it is by then, or decline."""
    again = False
    while True:
        verdict = call.ask_person(_question(action, plan, again=again), _FORM)
        try:
            return _settled(call, action, plan, verdict)
        except PlanChanged as error:
            plan, again = error.data["outcome"], True


def _ask_by_result(call: Call, action: Action, plan: DaemonOutcome) -> Outcome:
    """Has the client ask the user and call again with the answer."""
    verdict = call.replied(_QUESTION, _token(action, plan))
    if verdict is not None:
        try:
            return _settled(call, action, plan, verdict)
        except PlanChanged as error:
            plan = error.data["outcome"]
    return PersonQuestion(_QUESTION, _question(action, plan, again=call.is_retry), _FORM, _token(action, plan))


def _settled(call: Call, action: Action, plan: DaemonOutcome, verdict: Verdict) -> Answer:
    """The answer after the user has seen a plan. Raises `PlanChanged` if they agreed to one that has changed since."""
    if verdict != "yes":
        return _answer(action, "declined", plan, unanswered=verdict == "none")
    return _carry_out(call, action, _token(action, plan))


def _carry_out(call: Call, action: Action, token: str) -> Answer:
    """Carries out the plan if it still has this token. Raises `PlanChanged`."""
    plan, _, arguments = token.partition(".")
    # no plan token has a dot, so this one never matches
    expect = plan if plan and arguments == _arguments(action) else "."
    done = _send(call, action, expect=expect)
    differs = any(row.get("reason") == "changedMeanwhile" for row in done["files"])
    return _pointless(action, done) or _answer(action, "done", done, differs=differs)


def _send(call: Call, action: Action, **more: Any) -> DaemonOutcome:
    params: Any = {**action.params, "details": "diff", **more}
    outcome: DaemonOutcome = call.request(action.method, params)
    return outcome


def _pointless(action: Action, outcome: DaemonOutcome) -> Answer | None:
    """The answer if a plan would do, or did, nothing; else None."""
    outcomes = {row["outcome"] for row in outcome["files"]}
    if outcomes & _WRITTEN or moves_git(outcome.get("git")):
        return None
    if outcomes - {"unchanged"}:
        return _answer(action, "blocked", outcome)
    # a step that only made directories has no files
    return None if outcome.get("steps") and not outcome["files"] else _answer(action, "unchanged", outcome)


def _token(action: Action, outcome: DaemonOutcome) -> str:
    return f"{outcome['plan']}.{_arguments(action)}"


def _arguments(action: Action) -> str:
    given = [action.tool, action.method, action.params]
    return sha256(orjson.dumps(given, option=orjson.OPT_SORT_KEYS)).hexdigest()[:8]


def _answer(action: Action, status: Status, outcome: DaemonOutcome, **how: Any) -> Answer:
    changed = _changed(action, status, outcome, **how)
    return Answer(changed, change_text(changed), is_error=status in ("blocked", "refused"))


def _changed(
    action: Action,
    status: Status,
    outcome: DaemonOutcome,
    *,
    token: str | None = None,
    unanswered: bool = False,
    differs: bool = False,
) -> ChangeResult:
    rows = sorted(outcome["files"], key=lambda row: _ORDER.get(row["outcome"], len(_ORDER)))
    left = sum(row["outcome"] in _ORDER for row in rows)
    details = outcome["details"]
    is_redo = action.method == "session/redo"
    how = "`git`" if status != "done" else "`redo` with `git`" if is_redo else "`undo` with `step` and `git`"
    diff, cut_note = cut(details["diff"])
    return ChangeResult(
        status=status,
        note=note(
            action.tool, status, token=token, left=left, unanswered=unanswered, differs=differs, cut_note=cut_note
        ),
        token=token,
        files=[structure(row, FileOutcome) for row in rows[:MAX_FILES]],
        file_count=len(rows),
        left=left,
        additions=details["additions"],
        deletions=details["deletions"],
        diff=diff,
        steps=[structure(step, ReversedStep) for step in outcome["steps"]] if "steps" in outcome else None,
        before=outcome["before"] if status == "done" else None,
        git=git_lines(outcome["git"], how, redone=is_redo) if "git" in outcome else None,
        unanswered=unanswered or None,
        differs=differs or None,
    )


def _question(action: Action, plan: DaemonOutcome, *, again: bool) -> str:
    return question_text(action.tool, _changed(action, "planned", plan), again=again)
