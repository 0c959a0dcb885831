"""What an operation would do, or did: a line for each step and file, as many as fit on the screen, and a total."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from snapd.wire.words import reason_text

from .layout import columns, terminal_width
from .naming import file_title
from .output import Painter, step_line
from .reasons import why
from .times import clock, local_now, moment

if TYPE_CHECKING:
    from datetime import datetime

_STYLES = {
    "restored": "green",
    "deleted": "red",
    "merged": "green",
    "unchanged": "dim",
    "conflict": "yellow",
    "kept": "cyan",
    "skipped": "yellow",
    "failed": "red",
}
_WOULD = {
    "restored": "would restore",
    "deleted": "would delete",
    "merged": "would merge",
    "kept": "would keep",
    "skipped": "would skip",
}
_TOTALS = {"restored": "restore", "merged": "merge", "deleted": "delete", "kept": "keep", "skipped": "skip"}
_CHANGING = frozenset({"restored", "deleted", "merged"})
_DONE, _PLANNED = 9, 13
"""The columns of the words for what was done, and for what would be."""
_LEAST = 3
"""The files shown on the smallest screen."""


def visible_file_count(lines: int, *, everything: bool, terminal: bool) -> int | None:
    """Returns how many files fit on the screen; None for all."""
    if everything or not terminal:
        return None
    return max(_LEAST, shutil.get_terminal_size((80, 24)).lines - lines)


def file_lines(painter: Painter, result: dict[str, Any], most: int | None, *, planned: bool) -> list[str]:
    """Returns a line for each file of an operation; if not all fit, those not done as requested come first."""
    rows = rows_of(result)
    contested = reasons(result)
    more: list[str] = []
    if most is not None and len(rows) > most:
        rows = sorted(rows, key=lambda row: row["outcome"] in ("restored", "deleted", "merged", "unchanged"))
        left = len(rows) - (most - 1)
        rows = rows[: most - 1]
        more = [painter.paint(f"… and {left} more files; --all-files shows them", "dim")]
    return [*(_file(painter, row, contested, planned=planned) for row in rows), *more]


def rows_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the files of an operation; a moved one is one, for both of its names."""
    sources = {row["renamedFrom"] for row in result["files"] if "renamedFrom" in row}
    return [row for row in result["files"] if row["outcome"] != "deleted" or row["file"] not in sources]


def changing_rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns those that the operation changes."""
    return [row for row in rows_of(result) if row["outcome"] in _CHANGING]


def reasons(result: dict[str, Any]) -> dict[str, str]:
    """Returns why files are in conflict, by name; if a file conflicts for several steps, the reason for the first."""
    answer: dict[str, str] = {}
    for row in result.get("details", {}).get("contested", ()):
        answer.setdefault(row["file"], why(row))
    return answer


def _file(painter: Painter, row: dict[str, Any], contested: dict[str, str], *, planned: bool) -> str:
    outcome = row["outcome"]
    word = _WOULD.get(outcome, outcome).ljust(_PLANNED) if planned else outcome.ljust(_DONE)
    name = file_title(row)
    line = f"{painter.paint(word, _STYLES[outcome])} {name}"
    if "reason" not in row:
        return line
    text = contested.get(row["file"]) if outcome in ("conflict", "kept") else None
    reason = f"({text or reason_text(row['reason'], row.get('branch'))})"
    # a reason that does not fit goes below; names are never cut
    fits = len(word) + 1 + columns(name) + 2 + columns(reason) <= terminal_width()
    return line + ("  " if fits else "\n" + " " * (len(word) + 1)) + reason


def total(painter: Painter, result: dict[str, Any]) -> str:
    """Summarizes what would be done: "would restore 3 files, delete 1: +12 -40"."""
    outcomes = [row["outcome"] for row in rows_of(result)]
    counted = [(verb, outcomes.count(outcome), "") for outcome, verb in _TOTALS.items()]
    counted.append(("leave", outcomes.count("conflict"), " in conflict"))
    parts: list[str] = []
    for verb, number, state in counted:
        if number:
            files = "" if parts else " file" if number == 1 else " files"
            parts.append(f"{verb} {number}{files}{state}")
    if not parts:
        return "would change nothing"
    text = f"would {', '.join(parts)}"
    details = result.get("details")
    if details is None:
        return text
    added, deleted = f"+{details['additions']}", f"-{details['deletions']}"
    return f"{text}: {painter.paint(added, 'green')} {painter.paint(deleted, 'red')}"


def unit_lines(painter: Painter, result: dict[str, Any], words: dict[str, str] | str) -> list[str]:
    """Returns a line for each step and operation of an undo or redo."""
    units = [(step["state"], step_line(painter, step)) for step in result.get("steps", [])]
    units += [
        (operation["state"], painter.paint(operation_name(operation, local_now()), "yellow"))
        for operation in result.get("operations", [])
    ]
    text = words if isinstance(words, dict) else dict.fromkeys(("applied", "partly", "undone", "open"), words)
    width = _DONE if isinstance(words, dict) else _PLANNED
    return [f"{painter.paint(text[state].ljust(width), 'cyan')} {line}" for state, line in units]


def operation_name(operation: dict[str, Any], now: datetime) -> str:
    """Names an operation, whose id users do not use, by its kind and its time."""
    kind = "revert of hunks" if operation["kind"] == "hunks" else operation["kind"]
    return f"the {kind} of {clock(moment(operation['at']), now)}"
