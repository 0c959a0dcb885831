"""Nothing changes files before its plan was seen: by the person, or else by the model, which brings the plan's token.

The token names the plan of the daemon, which carries out just that or nothing, and the arguments of the call.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from snapd.core.errors import PlanChanged
from snapd.mcp.call import Answer, Asking
from snapd.wire.converter import structure
from snapd.wire.values import FileOutcome

from .results import MAX_FILES, Changed, Turned
from .texts import cut, note, question_text, told

if TYPE_CHECKING:
    from snapd.mcp.call import Call, Outcome, Verdict

    from .results import Status

_QUESTION = "confirm"
_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"confirm": {"type": "boolean", "title": "Go on", "description": "Carry out this plan"}},
    "required": ["confirm"],
}
_WRITTEN = frozenset({"restored", "deleted", "merged"})
_ORDER = {"conflict": 0, "failed": 1, "skipped": 2, "kept": 3}
"""Of the files that are not done as asked, which come first."""


@attrs.frozen
class Action:
    """What a call is to do.

    Attributes:
        tool: the tool that was called.
        method: of the request to the daemon.
        params: of that request, without `dryRun`, `expect` and `details`.
    """

    tool: str
    method: str
    params: dict[str, Any]


def carry_out(call: Call, action: Action, token: str | None) -> Outcome:
    """Does something once its plan is agreed on; otherwise answers with the plan, or asks the person.

    Args:
        call: of the tool.
        action: what to do.
        token: of the plan, if the model has seen it.

    Raises:
        SnapdError: there is nothing to do, or it cannot be done.
    """
    # where the person can be asked, no token stands in for them: the model may have it from elsewhere
    if token is not None and not call.terms.shows_forms:
        try:
            return _carry_out(call, action, token)
        except PlanChanged as error:
            plan = error.data["outcome"]
            return _pointless(action, plan) or _answer(action, "refused", plan, token=_token(action, plan))
    plan = call.request(action.method, {**action.params, "dryRun": True, "details": "diff"})
    if (nothing := _pointless(action, plan)) is not None:
        return nothing
    if not call.terms.shows_forms:
        return _answer(action, "planned", plan, token=_token(action, plan))
    return _ask_by_result(call, action, plan) if call.terms.is_stateless else _ask(call, action, plan)


def _ask(call: Call, action: Action, plan: dict[str, Any]) -> Answer:
    """Asks the person until they have agreed to the plan as it is by then, or have not agreed."""
    again = False
    while True:
        verdict = call.ask_person(_question(action, plan, again=again), _FORM)
        try:
            return _settled(call, action, plan, verdict)
        except PlanChanged as error:
            plan, again = error.data["outcome"], True


def _ask_by_result(call: Call, action: Action, plan: dict[str, Any]) -> Outcome:
    """Has the client ask the person, and call again with what they said."""
    verdict = call.replied(_QUESTION, _token(action, plan))
    if verdict is not None:
        try:
            return _settled(call, action, plan, verdict)
        except PlanChanged as error:
            plan = error.data["outcome"]
    return Asking(_QUESTION, _question(action, plan, again=call.was_asked), _FORM, _token(action, plan))


def _settled(call: Call, action: Action, plan: dict[str, Any], verdict: Verdict) -> Answer:
    """The answer after the person has seen a plan; raises `PlanChanged` if they agreed, but it is another by now."""
    if verdict != "yes":
        return _answer(action, "declined", plan, unanswered=verdict == "none")
    return _carry_out(call, action, _token(action, plan))


def _carry_out(call: Call, action: Action, token: str) -> Answer:
    """Does it if the token is that of the plan as it is now; raises `PlanChanged`."""
    plan, _, arguments = token.partition(".")
    # no plan has a name with a dot
    expect = plan if plan and arguments == _arguments(action) else "."
    done = call.request(action.method, {**action.params, "details": "diff", "expect": expect})
    differs = any(row.get("reason") == "changedMeanwhile" for row in done["files"])
    return _pointless(action, done) or _answer(action, "done", done, differs=differs)


def _pointless(action: Action, outcome: dict[str, Any]) -> Answer | None:
    """The answer in place of a plan by which nothing would be done, or of one that did nothing; else None."""
    outcomes = {row["outcome"] for row in outcome["files"]}
    if outcomes & _WRITTEN:
        return None
    if outcomes - {"unchanged"}:
        return _answer(action, "blocked", outcome)
    # a step that made directories alone names no file
    return None if outcome.get("steps") and not outcome["files"] else _answer(action, "unchanged", outcome)


def _token(action: Action, outcome: dict[str, Any]) -> str:
    return f"{outcome['plan']}.{_arguments(action)}"


def _arguments(action: Action) -> str:
    given = [action.tool, action.method, action.params]
    return sha256(orjson.dumps(given, option=orjson.OPT_SORT_KEYS)).hexdigest()[:8]


def _answer(action: Action, status: Status, outcome: dict[str, Any], **how: Any) -> Answer:
    """The answer with a status; `how` is as for `_changed`."""
    changed = _changed(action, status, outcome, **how)
    return Answer(changed, told(changed), is_error=status in ("blocked", "refused"))


def _changed(
    action: Action,
    status: Status,
    outcome: dict[str, Any],
    *,
    token: str | None = None,
    unanswered: bool = False,
    differs: bool = False,
) -> Changed:
    rows = sorted(outcome["files"], key=lambda row: _ORDER.get(row["outcome"], len(_ORDER)))
    left = sum(row["outcome"] in _ORDER for row in rows)
    details = outcome["details"]
    diff, cut_note = cut(details["diff"])
    return Changed(
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
        steps=[structure(step, Turned) for step in outcome["steps"]] if "steps" in outcome else None,
        before=outcome["before"] if status == "done" else None,
        unanswered=unanswered or None,
        differs=differs or None,
    )


def _question(action: Action, plan: dict[str, Any], *, again: bool) -> str:
    return question_text(action.tool, _changed(action, "planned", plan), again=again)
