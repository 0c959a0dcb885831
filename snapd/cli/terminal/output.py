"""What people see: colours, summaries, diffs, outcomes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from snapd.core.errors import SnapdError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable
    from typing import TextIO

_RESET = "\033[0m"
_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
LETTERS = {"added": ("A", "green"), "deleted": ("D", "red"), "modified": ("M", "yellow")}
_HUNK_STYLES = {"@": "cyan", "+": "green", "-": "red"}
_BAR_WIDTH = 24


class Painter:
    """Colours text, or leaves it as it is.

    Args:
        options: of the command; `color` says when.
        stream: where the text goes; default: standard output.
    """

    def __init__(self, options: argparse.Namespace, stream: TextIO | None = None) -> None:
        wanted = options.color
        terminal = (stream or sys.stdout).isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._on = wanted == "always" or (wanted == "auto" and terminal)

    def paint(self, text: str, style: str) -> str:
        """The text in a style."""
        return f"\033[{_STYLES[style]}m{text}{_RESET}" if self._on else text

    def diff(self, text: str) -> str:
        """A unified diff, its lines coloured by what they are."""
        if not self._on:
            return text
        lines = []
        in_hunk = text.startswith("@@ ")
        # a line ends at a line feed alone: contents may hold everything else that Python takes for an end
        for line in text.split("\n"):
            if line.startswith("diff --git "):
                in_hunk = False
            elif line.startswith("@@ "):
                in_hunk = True
            style = _HUNK_STYLES.get(line[:1]) if in_hunk else "bold"
            lines.append(self.paint(line, style) if style and line else line)
        return "\n".join(lines)


def printable(name: str) -> str:
    """A file name that cannot play tricks on a terminal."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode("ascii") for char in name
    )


def summary(painter: Painter, diffs: Iterable[dict[str, Any]]) -> str:
    """A line for each file, with its counts and a bar, and a line for all."""
    rows = list(diffs)
    most = max((row["additions"] + row["deletions"] for row in rows), default=0)
    width = max((len(_title(row)) for row in rows), default=0)
    lines = [_row(painter, row, width, most) for row in rows]
    added, deleted = (sum(row[key] for row in rows) for key in ("additions", "deletions"))
    files = "1 file" if len(rows) == 1 else f"{len(rows)} files"
    total = f"{files} changed, {painter.paint(f'+{added}', 'green')} {painter.paint(f'-{deleted}', 'red')}"
    return "\n".join([*lines, total])


def _title(row: dict[str, Any]) -> str:
    name = printable(row["file"])
    return f"{printable(row['renamedFrom'])} → {name}" if "renamedFrom" in row else name


def _row(painter: Painter, row: dict[str, Any], width: int, most: int) -> str:
    letter, style = ("R", "cyan") if "renamedFrom" in row else LETTERS[row["status"]]
    start = f"{painter.paint(letter, style)} {_title(row).ljust(width)}"
    if row["binary"] or row.get("tooLarge"):
        return f"{start}  {painter.paint('binary' if row['binary'] else 'over 10 MB', 'dim')}"
    added, deleted = row["additions"], row["deletions"]
    scale = min(1.0, _BAR_WIDTH / most) if most else 0.0
    plus, minus = (max(1, round(count * scale)) if count else 0 for count in (added, deleted))
    bar = painter.paint("+" * plus, "green") + painter.paint("-" * minus, "red")
    if not added and not deleted and row.get("oldMode") != row.get("newMode") and row["status"] == "modified":
        bar = painter.paint(f"mode {row['oldMode']} → {row['newMode']}", "dim")
    return f"{start}  {painter.paint(f'+{added}', 'green')} {painter.paint(f'-{deleted}', 'red')} {bar}".rstrip()


def counts(painter: Painter, row: dict[str, Any]) -> str:
    """How much of a file changed."""
    if row["binary"]:
        return painter.paint("binary", "dim")
    added, deleted = f"+{row['additions']}", f"-{row['deletions']}"
    return f"{painter.paint(added, 'green')} {painter.paint(deleted, 'red')}"


def step_line(painter: Painter, step: dict[str, Any]) -> str:
    """A step on one line: who, and what."""
    words = [printable(" ".join(step[key].split())) for key in ("tool", "description") if step.get(key)]
    agent = [printable(step["agent"])] if step.get("agent") else []
    said = " ".join([*agent, *(words or [f"step {step['index'] + 1}"])])
    return f"{painter.paint(step['stepId'][:8], 'yellow')} {said}"


def size(count: int) -> str:
    """Bytes for people."""
    amount = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1024
    raise AssertionError("unreachable")


def watching(status: dict[str, Any]) -> str:
    """How changes in a folder are noticed, by the answer of `snapshot/status`."""
    reason = status.get("watcherReason")
    return f"{status['watcher']} ({reason})" if reason else str(status["watcher"])


_SOURCES = {
    "default": "default",
    "file": "config.toml",
    "environment": "environment",
    "client": "this command",
    "otherClient": "another connected editor or agent",
    "folder": "the folder's .snapd.toml",
}


def settings(status: dict[str, Any]) -> list[str]:
    """Each setting with its value, as `config.toml` would say it, and where that comes from; of `snapshot/status`."""
    import json

    return [
        f"{row['name']} = {'nothing' if row['value'] is None else printable(json.dumps(row['value']))}"
        f" ({_SOURCES.get(row['source'], row['source'])})"
        for row in status.get("settings", [])
    ]


_printed: set[str] = set()


def print_once(line: str) -> None:
    """Prints a line to standard error, unless this command printed it already."""
    if line not in _printed:
        _printed.add(line)
        print(line, file=sys.stderr)


def print_error(error: Exception, before: str = "") -> None:
    """Prints an error to standard error: what is wrong, then on a line of its own what to do next.

    Args:
        error: of snapd; or any other, which has no hint.
        before: what the error prevented, in front of its message.
    """
    if isinstance(error, SnapdError):
        lines = f"{printable(error.message)}\nhint: {printable(error.hint)}"
    else:
        lines = printable(str(error))
    print(f"snapd: {before}{lines}", file=sys.stderr)


def print_json(value: Any) -> None:
    """A result for programs."""
    import json

    print(json.dumps(value, indent=2, ensure_ascii=False))
