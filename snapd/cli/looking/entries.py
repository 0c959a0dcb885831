"""The history as a list, for `snapd log --oneline` and `-p`: a line for each entry, the latest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.cli.terminal.layout import columns, fit, one_line, pad
from snapd.cli.terminal.naming import beginning, changed, prompt_of, said_of, short, step_name
from snapd.cli.terminal.output import printable
from snapd.cli.terminal.times import moment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from snapd.cli.terminal.output import Painter

_NAME = 8
_WHEN = len("20 Nov")
_WHO = 10
_STATES = {"open": ("open", "green"), "undone": ("undone", "dim"), "partly": ("partly undone", "yellow")}
_COUNTED = (("+", "additions"), ("-", "deletions"))
_BETWEEN = "  "
_LEAST = 12
"""Columns for what it was, at least."""


def entry_line(
    entry: dict[str, Any], sessions: Mapping[str, dict[str, Any]], painter: Painter, width: int, now: datetime
) -> str:
    """An entry of `session/history` on one line: its name, when, who, what, and how much.

    Args:
        entry: of the history.
        sessions: of `session/list`, by their names.
        painter: colours.
        width: columns that there are.
        now: where the user is.
    """
    name, who, what = _words(entry, sessions)
    state = [_STATES[entry["step"]["state"]]] if entry["kind"] == "step" and entry["step"]["state"] in _STATES else []
    when = moment(entry["at"])
    clock = f"{when:%H:%M}" if when.date() == now.date() else f"{when.day} {when:%b}"
    start = [(pad(name, _NAME), "yellow" if entry["kind"] == "step" else "dim"), (pad(clock, _WHEN), "dim")]
    author = (pad(fit(who, _WHO), _WHO), "dim" if entry["kind"] in ("user", "message") else "cyan")
    count = (" ".join(f"{sign}{_total(entry, key)}" for sign, key in _COUNTED), "")
    counted = [count] if entry["files"] and not _is_counted(entry) else []
    # what a narrow terminal goes without: first who it was, then how much
    for before, after in (([author], [*counted, *state]), ([], [*counted, *state]), ([], state)):
        room = width - sum(columns(text) + len(_BETWEEN) for text, _ in [*start, *before, *after])
        if room >= _LEAST:
            break
    line = [*start, *before, (fit(what, room), ""), *after]
    return _BETWEEN.join(painter.paint(text, style) if style else text for text, style in line).rstrip()


def _is_counted(entry: dict[str, Any]) -> bool:
    """Whether what the entry is called has the numbers of its lines: it is named after its only file."""
    if entry["kind"] == "step":
        return not said_of(entry["step"]) and len(entry["step"].get("files") or ()) == 1
    return entry["kind"] == "user" and len(entry["files"]) == 1


def _words(entry: dict[str, Any], sessions: Mapping[str, dict[str, Any]]) -> tuple[str, str, str]:
    """The name of an entry, who did it, and what that was."""
    if entry["kind"] == "step":
        step = entry["step"]
        return short(step["stepId"]), _agent(sessions[step["sessionId"]]), step_name(step)
    if entry["kind"] == "message":
        return printable(beginning(entry["messageId"])), "you", prompt_of(entry)
    # nothing but the snapshot after it names it
    name = entry["after"][:_NAME]
    if entry["kind"] == "user":
        return name, "unknown" if "unknown" in entry else "you", changed(entry["files"])
    who = _agent(sessions[entry["sessionId"]]) if "sessionId" in entry else "you"
    said = ", ".join(map(short, entry.get("steps") or ()))
    return name, who, f"{entry['kind']} {said}".rstrip()


def _agent(session: dict[str, Any]) -> str:
    return one_line(session.get("agent")) or printable(short(session["sessionId"]))


def _total(entry: dict[str, Any], key: str) -> int:
    return sum(int(row[key]) for row in entry["files"])
