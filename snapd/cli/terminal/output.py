"""Output for people: colours, summaries, diffs, outcomes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from snapd.wire.words import STATES, agent_colour

from . import errors
from .layout import STYLE, aligned, columns, fit_title, pad, terminal_width
from .layout import printable as printable
from .naming import agent_name, short, step_name
from .streams import Text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable
    from typing import TextIO

    from snapd_client.protocol import StatusResult

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
_STATE_STYLES = {"open": "green", "partly": "yellow", "undone": "dim"}
_HUNK_STYLES = {"@": "cyan", "+": "green", "-": "red"}
_BAR_WIDTH = 24
_LEAST = 8
"""The minimum number of columns for a file's name."""
_SOURCES = {
    "default": "default",
    "file": "config.toml",
    "environment": "environment",
    "client": "this command",
    "otherClient": "another connected editor or agent",
    "folder": "the folder's .snapd.toml",
}


class Painter:
    """Colours text, or leaves it as it is."""

    def __init__(self, options: argparse.Namespace, stream: TextIO | None = None) -> None:
        wanted = options.color
        terminal = (stream or sys.stdout).isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._escape = STYLE if isinstance(stream or sys.stdout, Text) else "\033"
        self._on = wanted == "always" or (wanted == "auto" and terminal)

    def paint(self, text: str, style: str) -> str:
        """Returns the text in a style: a word, or the number of a colour among the 256 of terminals."""
        code = f"38;5;{style}" if style.isdecimal() else _STYLES[style]
        return f"{self._escape}[{code}m{text}{self._escape}[0m" if self._on else text

    def diff(self, text: str) -> str:
        """Colours the lines of a unified diff by their kind."""
        if not self._on:
            return text
        lines = []
        in_hunk = text.startswith("@@ ")
        # not `splitlines`: contents may have other characters that it treats as line ends
        for line in text.split("\n"):
            if line.startswith("diff --git "):
                in_hunk = False
            elif line.startswith("@@ "):
                in_hunk = True
            style = _HUNK_STYLES.get(line[:1]) if in_hunk else "bold"
            lines.append(self.paint(line, style) if style and line else line)
        return "\n".join(lines)


def agent_style(session: Any) -> str:
    """Returns the style of the agent of a session; of one without an agent, one by its id."""
    return str(agent_colour(session.get("agent") or session["sessionId"]).terminal)


def summary(painter: Painter, diffs: Iterable[dict[str, Any]], width: int | None = None) -> str:
    """Returns a line for each file, with counts and a bar, and a total; as wide as the terminal, or as needed."""
    rows = list(diffs)
    width = width or terminal_width()
    most = max((row["additions"] + row["deletions"] for row in rows), default=0)
    widest = max((sum(len(text) for text, _ in count_words(row)) for row in rows), default=0)
    room = max(_LEAST, width - len("M ") - len("  ") - widest)
    names = [fit_title(row, room) for row in rows]
    column = aligned(names)
    lines = []
    for row, name in zip(rows, names, strict=True):
        start = f"{painter.paint(*letter_of(row))} {pad(name, column)}  "
        bar = max(0, min(_BAR_WIDTH, room - max(column, columns(name)) - 1))
        line = f"{start}{counts(painter, row)} {_bar(painter, row, bar, most)}"
        lines.append(line.rstrip())
    own = [row for row in rows if not row.get("byGit")]
    added, deleted = (sum(row[key] for row in own) for key in ("additions", "deletions"))
    files = counted(len(rows), "file")
    total = f"{files} changed, {painter.paint(f'+{added}', 'green')} {painter.paint(f'-{deleted}', 'red')}"
    return "\n".join([*lines, total])


def letter_of(row: dict[str, Any]) -> tuple[str, str]:
    """Returns the letter for what happened to a file, and its colour."""
    return ("R", "cyan") if "renamedFrom" in row else LETTERS[row["status"]]


def _bar(painter: Painter, row: dict[str, Any], width: int, most: int) -> str:
    """Draws the counts in so many columns, to scale with the largest; or describes what changed if no line did."""
    added, deleted = row["additions"], row["deletions"]
    if not added and not deleted and row.get("oldMode") != row.get("newMode") and row["status"] == "modified":
        return painter.paint(f"mode {row['oldMode']} → {row['newMode']}", "dim")
    scale = min(1.0, width / most) if most else 0.0
    plus, minus = (max(1, round(count * scale)) if count and width else 0 for count in (added, deleted))
    return painter.paint("+" * plus, "green") + painter.paint("-" * minus, "red")


def counts(painter: Painter, row: dict[str, Any]) -> str:
    """Formats how much of a file changed."""
    return "".join(painter.paint(text, style) if style else text for text, style in count_words(row))


def count_words(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns how much of a file changed, in parts with their styles."""
    if row["binary"] or row.get("tooLarge"):
        return [("binary" if row["binary"] else "over 10 MB", "dim")]
    by_git = [(" by git", "dim")] if row.get("byGit") else []
    return [(f"+{row['additions']}", "green"), (" ", ""), (f"-{row['deletions']}", "red"), *by_git]


def state_spans(state: str) -> list[tuple[str, str]]:
    """Returns the word for the state of a step with its style; nothing for the usual state."""
    word = STATES.get(state, state)
    return [(word, _STATE_STYLES.get(state, ""))] if word else []


def step_line(painter: Painter, step: dict[str, Any]) -> str:
    """Formats a step on one line: who, and what."""
    words = " ".join(filter(None, (agent_name(step), step_name(step))))
    return f"{painter.paint(short(step['stepId']), 'yellow')} {words}"


def counted(number: int, what: str) -> str:
    """Formats a number of things, in words."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def size(count: int) -> str:
    """Formats a size in bytes for people."""
    amount = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            return f"{f'{amount:.1f}'.removesuffix('.0')} {unit}"
        amount /= 1024
    raise AssertionError("unreachable")


def watching(status: StatusResult) -> str:
    """Describes how changes in a folder are noticed, from the answer of `snapshot/status`."""
    reason = status.get("watcherReason")
    return f"{status['watcher']} ({reason})" if reason else str(status["watcher"])


printed: set[str] = set()


def print_once(line: str) -> None:
    """Prints a line to standard error, unless this command printed it already."""
    if line not in printed:
        printed.add(line)
        print(line, file=sys.stderr)


def print_error(error: Exception, before: str = "", *, as_json: bool = False) -> None:
    """Prints an error and on a line of its own the hint to standard error; with `as_json`, to standard output.

    `before` says what the error prevented.
    """
    text = errors.readable(error)
    if as_json:
        print_json(errors.as_json(text))
    else:
        print(f"snapd: {before}{printable(text.message)}\nhint: {printable(text.hint)}", file=sys.stderr)


def print_json(value: Any) -> None:
    """Prints a result for programs."""
    import json

    print(json.dumps(value, indent=2, ensure_ascii=False))


def settings(status: StatusResult) -> list[tuple[str, str, str]]:
    """Returns the name of each setting, its value, and where that comes from."""
    return [
        (row["name"], printable(_setting_value(row["name"], row["value"])), _SOURCES.get(row["source"], row["source"]))
        for row in status.get("settings", [])
    ]


def _setting_value(name: str, value: Any) -> str:
    if name in _WORDS:
        return _WORDS[name](value)
    if isinstance(value, bool):
        return "on" if value else "off"
    # a newer daemon may have more settings
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)


def _days(count: float) -> str:
    return f"{count:g} day{'' if count == 1 else 's'}"


_WORDS: dict[str, Callable[[Any], str]] = {
    "max_file_size": size,
    "data_dir": lambda path: path or "the user's data directory",
    "retention": _days,
    "max_snapshots": lambda count: str(count or "no limit"),
    "max_store_size": lambda count: size(count) if count else "no limit",
}
"""Formats values that are unclear by themselves. Loading the table of settings would take longer than the answer."""
