"""Text in the columns of a terminal."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any
from unicodedata import combining, east_asian_width

from .filenames import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

_NARROWEST = 40
UNLIMITED = 1 << 20
"""The width where none is known, as in a pipe: nothing is cut there."""
_ALIGNED = 40
"""The maximum columns of names for which the texts after them are aligned."""
_MOVED = " → "


def terminal_width() -> int:
    """Returns the columns of the terminal, at least 40; `UNLIMITED` without one, unless COLUMNS is set."""
    return max(_NARROWEST, shutil.get_terminal_size((UNLIMITED, 24)).columns)


def at_most(number: int) -> int:
    """Returns how many rows of a list to show: so many on a terminal, all elsewhere."""
    return number if sys.stdout.isatty() else UNLIMITED


def columns(text: str) -> int:
    """Returns the width of a text, in columns."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def pad(text: str, room: int) -> str:
    """Pads a text with blanks to a width in columns; a longer one stays as it is."""
    return text + " " * (room - columns(text))


def cell(text: str, room: int, width: int) -> str:
    """Fits a text into a column; where the whole `width` is unlimited, a longer one is not cut."""
    return pad(text if width >= UNLIMITED else fit(text, room), room)


def aligned(names: Iterable[str]) -> int:
    """Returns the columns of the widest name, ignoring long ones, which must not push the others' texts away."""
    return max((width for width in map(columns, names) if width <= _ALIGNED), default=0)


def fit(text: str, room: int) -> str:
    """Cuts the end of a text that is wider than so many columns."""
    if columns(text) <= room:
        return text
    while text and columns(text) > room - 1:
        text = text[:-1]
    return f"{text.rstrip()}…" if room > 0 else ""


def fit_name(name: str, room: int) -> str:
    """Cuts the beginning of a file's name that is wider than so many columns: its end says more."""
    if columns(name) <= room:
        return name
    while name and columns(name) > room - 1:
        name = name[1:]
    return f"…{name}" if room > 0 else ""


def fit_middle(text: str, room: int) -> str:
    """Cuts the middle of a text that is wider than so many columns; a path keeps the name of its file if that fits."""
    if columns(text) <= room:
        return text
    head, most = text, (room - 1) // 3
    if "/" in text and " " not in text.strip():
        most = min(most, room - 1 - columns(text[text.rindex("/") :]))
    while head and columns(head) > most:
        head = head[:-1]
    return f"{head}{fit_name(text, room - columns(head))}"


def fit_title(row: dict[str, Any], room: int) -> str:
    """Fits the name of a changed file into so many columns; both names of a moved one share them."""
    name = printable(row["file"])
    if "renamedFrom" not in row:
        return fit_name(name, room)
    old = printable(row["renamedFrom"])
    each = (room - columns(_MOVED)) // 2
    # room that one does not need goes to the other
    first = fit_name(old, max(each, room - columns(_MOVED) - columns(name)))
    return f"{first}{_MOVED}{fit_name(name, room - columns(_MOVED) - columns(first))}"


def one_line(text: str | None) -> str:
    """Returns a client's text on one line, without control characters."""
    return printable(" ".join((text or "").split()))
