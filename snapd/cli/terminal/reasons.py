"""Why a file is in conflict, as people say it, and who changed it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.reasons import in_words

from .times import clock, local_now, moment

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

_SOMEBODY_DID = frozenset({"changedSince", "deletedSince", "renamedSince"})
_NAMED = 2
"""How many authors a line names."""
_PRINTED_ID = 8


def why(contested: dict[str, Any], now: datetime | None = None) -> str:
    """Says why a file is in conflict, and who is the cause as far as that is known.

    Args:
        contested: a row of `details.contested`.
        now: where the user is; default: as of now.
    """
    reason = contested.get("reason", "changedSince")
    by = [each for each in contested["by"] if not each.get("elsewhere")]
    if reason == "shared" and by:
        return f"shared with {_listed(_name(each) for each in by)}: both were at work"
    said = in_words(reason)
    if reason in _SOMEBODY_DID and by:
        return f"{said} by {_listed(_told(each, now or local_now()) for each in by)}"
    return said


def whose(changed_by: dict[str, Any], now: datetime | None = None) -> str:
    """Names somebody's work: "your changes of 14:36", "step 3f2a9c11 of claude"."""
    if changed_by["author"] == "user":
        at = changed_by.get("at")
        return f"your changes of {clock(moment(at), now or local_now())}" if at else "your changes"
    return _name(changed_by)


def sharing(step_id: str, agent: str | None) -> str:
    """Says that another step was at work, too."""
    return f"shared with {_step(step_id, agent)}: both were at work"


def _told(changed_by: dict[str, Any], now: datetime) -> str:
    at = changed_by.get("at")
    name = "you" if changed_by["author"] == "user" else _name(changed_by)
    if at is None or changed_by["author"] == "step":
        return name
    when = clock(moment(at), now)
    return f"{name} at {when}" if ":" in when[:3] else f"{name} on {when}"


def _name(changed_by: dict[str, Any]) -> str:
    if changed_by["author"] == "step":
        return _step(changed_by["stepId"], changed_by.get("agent"))
    return "you" if changed_by["author"] == "user" else f"the {changed_by['kind']}"


def _step(step_id: str, agent: str | None) -> str:
    from .layout import one_line

    name = f"step {step_id[:_PRINTED_ID]}"
    return f"{name} of {one_line(agent)}" if agent else name


def _listed(names: Iterable[str]) -> str:
    every = list(dict.fromkeys(names))
    shown = every[:_NAMED]
    if len(every) > _NAMED:
        return f"{', '.join(shown)} and others"
    return " and ".join(shown)
