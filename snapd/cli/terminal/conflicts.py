"""Shows the lines that are in question where a file is in conflict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .layout import fit, terminal_width
from .naming import short
from .output import printable
from .reasons import whose, why

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .output import Painter

_LINES = 4
"""Lines that are shown of each side."""
_FILES = 3
"""Files whose lines are shown."""


def excerpts(painter: Painter, result: dict[str, Any]) -> list[str]:
    """The lines in question of the first files in conflict.

    Args:
        painter: colours.
        result: an answer with `details`.
    """
    lines: list[str] = []
    width = terminal_width()
    shown = [row for row in _in_conflict(result) if "dispute" in row][:_FILES]
    names = {step["stepId"]: f"step {short(step['stepId'])}" for step in result.get("steps", ())}
    for row in shown:
        dispute = row["dispute"]
        name = names.get(row["name"], "it")
        sides = {
            "now": (dispute["now"], "green"),
            f"left by {name}": (dispute["left"], "red"),
            "before that": (dispute["wanted"], ""),
        }
        room = max(map(len, sides))
        lines.append(f"{painter.paint(printable(row['file']), 'bold')}, line {dispute['line']}: {why(row)}")
        for title, (side, style) in sides.items():
            lines += _side(painter, title.ljust(room), side, style, width)
    return lines


def taken_away(painter: Painter, plan: dict[str, Any]) -> list[str]:
    """Whose work an undo would write over that was told to; a line for each, with the files."""
    files: dict[str, list[str]] = {}
    for row in plan.get("details", {}).get("contested", ()):
        if row.get("reason") == "unsavedInEditor":
            continue
        for each in row["by"] or [{"author": "user"}]:
            names = files.setdefault(whose(each), [])
            if row["file"] not in names:
                names.append(row["file"])
    return [f"{painter.paint('takes away', 'red')}    {name} in {_named(names)}" for name, names in files.items()]


def _named(names: list[str]) -> str:
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
