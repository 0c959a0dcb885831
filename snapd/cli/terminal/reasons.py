"""Reasons of the wire contract, as people say them: why a file is left as it is, and who changed it."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from .times import clock, local_now, moment

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

_WORDS = {
    "changedMeanwhile": "it changed while this ran",
    "changedSince": "changed since",
    "clash": "another of the files is in its way",
    "conflictsElsewhere": "because of the conflicts",
    "deletedSince": "deleted since",
    "directoryNotEmpty": "the folder has other files",
    "ignored": "it is ignored",
    "inTheWay": "something is in its way",
    "occupied": "something else has its name",
    "permissions": "its permissions cannot be set",
    "purged": "it was purged",
    "renamedSince": "moved since",
    "shared": "another agent may have written it too",
    "special": "it is neither a file nor a link",
    "storeCorrupt": "its contents in the store are damaged",
    "tooLarge": "too large",
    "unreadable": "it cannot be read",
    "unsavedInEditor": "it has unsaved text in an editor",
    "unstable": "it changes all the time",
    "unsupportedName": "its name cannot be stored",
}
_SOMEBODY_DID = frozenset({"changedSince", "deletedSince", "renamedSince"})
_NAMED = 2
"""How many authors a line names."""
_PRINTED_ID = 8


def in_words(reason: str) -> str:
    """Says a reason in words: also the name of an error of the system. One that only a newer daemon knows stays."""
    number = getattr(errno, reason, None)
    return os.strerror(number).lower() if isinstance(number, int) else _WORDS.get(reason, reason)


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
