"""Describes for people why a file is in conflict, who changed or signed something, and what no snapshot has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.wire.words import SIGNATURES, agent_title, reason_text

from .layout import fit, printable, terminal_width
from .naming import short
from .times import clock, local_now, moment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from .output import Painter

_SOMEBODY_DID = frozenset({"changedSince", "deletedSince", "renamedSince"})
_NAMED = 2
"""The maximum number of authors on a line."""
_LINES = 4
"""The maximum number of lines shown for each side."""
_FILES = 3
"""The maximum number of files whose lines are shown."""
_LOST_FILES = 5
"""The maximum number of deleted files, and of changed files, that are named."""
STYLES = {"good": "green", "partial": "yellow", "unknown": "yellow", "bad": "red", "unchecked": "yellow"}
"""The colours of the states."""


def why(contested: dict[str, Any]) -> str:
    """Describes why a file is in conflict, and who caused it, if known."""
    reason = contested.get("reason", "changedSince")
    by = [each for each in contested["by"] if not each.get("elsewhere")]
    if reason == "shared" and by:
        return f"shared with {_listed(_name(each) for each in by)}: both were at work"
    text = reason_text(reason)
    if reason in _SOMEBODY_DID and by:
        return f"{text} by {_listed(_author(each) for each in by)}"
    return text


def whose(changed_by: dict[str, Any]) -> str:
    """Describes whose work something is: "your changes of 14:36", "step 3f2a9c of Claude Code"."""
    whose_own = {"user": "your", "unknown": "someone's"}.get(changed_by["author"])
    if whose_own is None:
        return _name(changed_by)
    at = changed_by.get("at")
    return f"{whose_own} changes of {clock(moment(at), local_now())}" if at else f"{whose_own} changes"


def sharing(step_id: str, agent: str | None) -> str:
    """Reports that another step was working, too."""
    return f"shared with {_step(step_id, agent)}: both were at work"


def _author(changed_by: dict[str, Any]) -> str:
    at = changed_by.get("at")
    name = _name(changed_by)
    if at is None or changed_by["author"] == "step":
        return name
    when = clock(moment(at), local_now())
    return f"{name} at {when}" if ":" in when[:3] else f"{name} on {when}"


def _name(changed_by: dict[str, Any]) -> str:
    if changed_by["author"] == "step":
        return _step(changed_by["stepId"], changed_by.get("agent"))
    return {"user": "you", "unknown": "someone"}.get(changed_by["author"]) or f"the {changed_by['kind']}"


def _step(step_id: str, agent: str | None) -> str:
    from .layout import one_line
    from .naming import short

    name = f"step {short(step_id)}"
    return f"{name} of {one_line(agent_title(agent))}" if agent else name


def _listed(names: Iterable[str]) -> str:
    every = list(dict.fromkeys(names))
    shown = every[:_NAMED]
    if len(every) > _NAMED:
        return f"{', '.join(shown)} and others"
    return " and ".join(shown)


def excerpts(painter: Painter, result: dict[str, Any]) -> list[str]:
    """Returns the conflicting lines of the first files in conflict."""
    shown = [row["file"] for row in _in_conflict(result) if "dispute" in row][:_FILES]
    return [line for file in shown for line in excerpt(painter, result, file)]


def excerpt(painter: Painter, result: dict[str, Any], file: str) -> list[str]:
    """Returns why a file is in conflict, and the conflicting lines, if any."""
    row = next((row for row in _in_conflict(result) if row["file"] == file), None)
    if row is None or "dispute" not in row:
        return [] if row is None else [f"{painter.paint(printable(file), 'bold')}: {why(row)}"]
    dispute = row["dispute"]
    ids = {step["stepId"] for step in result.get("steps", ())}
    name = f"step {short(row['name'])}" if row["name"] in ids else "it"
    sides = {
        "now": (dispute["now"], "green"),
        f"left by {name}": (dispute["left"], "red"),
        "before that": (dispute["wanted"], ""),
    }
    room = max(map(len, sides))
    lines = [f"{painter.paint(printable(file), 'bold')}, line {dispute['line']}: {why(row)}"]
    for title, (side, style) in sides.items():
        lines += _side(painter, title.ljust(room), side, style, terminal_width())
    return lines


def format_overwritten(painter: Painter, plan: dict[str, Any], overwritten: Collection[str] = ()) -> list[str]:
    """Returns a line for each author whose work in `overwritten` files (none for all in conflict) an undo removes."""
    files: dict[str, list[str]] = {}
    for row in plan.get("details", {}).get("contested", ()):
        if row.get("reason") == "unsavedInEditor" or (overwritten and row.get("uri", row["file"]) not in overwritten):
            continue
        for each in row["by"] or [{"author": "user"}]:
            names = files.setdefault(whose(each), [])
            if row["file"] not in names:
                names.append(row["file"])
    return [
        f"{painter.paint('takes away', 'red')}    {name} in {_shorten_list(names)}" for name, names in files.items()
    ]


def _shorten_list(names: list[str]) -> str:
    shown = ", ".join(printable(name) for name in names[:_FILES])
    return f"{shown} and {len(names) - _FILES} more" if len(names) > _FILES else shown


def _in_conflict(result: dict[str, Any]) -> Iterable[dict[str, Any]]:
    in_conflict = {row["file"] for row in result["files"] if row["outcome"] == "conflict"}
    rows = result.get("details", {}).get("contested", ())
    return {row["file"]: row for row in reversed(rows) if row["file"] in in_conflict}.values()


def _side(painter: Painter, title: str, lines: list[str], style: str, width: int) -> Iterator[str]:
    shown = [printable(line.expandtabs(4)) for line in lines[:_LINES]] or ["(nothing)"]
    if len(lines) > _LINES:
        shown[-1:] = [f"… {len(lines) - _LINES + 1} more lines"]
    for at, line in enumerate(shown):
        text = fit(line, width - len(title) - 5)
        painted = painter.paint(text, style) if style and lines else painter.paint(text, "dim") if not lines else text
        yield f"  {painter.paint(title if at == 0 else ' ' * len(title), 'dim')} | {painted}"


def format_uncaptured(steps: Iterable[dict[str, Any]]) -> str | None:
    """Describes what happened to files that no snapshot has while steps were open."""
    happened = {each["file"]: each["change"] for step in steps for each in step.get("uncaptured", ())}
    parts = []
    for change in ("deleted", "changed"):
        files = sorted(file for file, what in happened.items() if what == change)
        if files:
            more = f" and {len(files) - _LOST_FILES} more" if len(files) > _LOST_FILES else ""
            verb = "was" if len(files) == 1 else "were"
            parts.append(f"{', '.join(map(printable, files[:_LOST_FILES]))}{more} {verb} {change}")
    return f"not in snapshots: {'; '.join(parts)}" if parts else None


def signature_words(signature: Mapping[str, Any] | None) -> str:
    """Describes in one line who signed something, and what is wrong with the signature; None if unsigned."""
    if signature is None:
        return "not signed"
    state, reason = signature["state"], printable(signature.get("reason", ""))
    if state in ("bad", "unchecked"):
        return f"{SIGNATURES[state]}: {reason}"
    who = f"by {printable(signature['signer'])}" if "signer" in signature else f"with {printable(signature['key'])}"
    when = f" at {clock(moment(signature['signedAt']), local_now())}"
    if state == "good":
        return f"signed {who}{when}"
    if state == "partial":
        return f"signed {who}{when}, but {reason}"
    return f"signed {who}{when}: {reason}"


def signature_word(signature: dict[str, Any]) -> str:
    """Returns the same for a list, where there is little room."""
    state = signature["state"]
    words = SIGNATURES.get(state, state)
    return f"{words} by {printable(signature['signer'])}" if state == "good" else words
