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
"""The width where nothing says one, as in a pipe: there, nothing is cut."""
_ALIGNED = 40
"""Columns of a name up to which what follows it stands below what follows the others."""
_MOVED = " → "


def terminal_width() -> int:
    """The columns of the terminal, 40 at least; `UNLIMITED` without one, unless COLUMNS says how many."""
    return max(_NARROWEST, shutil.get_terminal_size((UNLIMITED, 24)).columns)


def at_most(number: int) -> int:
    """So many rows of a list on a terminal, and all of them elsewhere."""
    return number if sys.stdout.isatty() else UNLIMITED


def columns(text: str) -> int:
    """The width of a text, in columns."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def pad(text: str, room: int) -> str:
    """Fills a text up with blanks to a width in columns; a longer one stays as it is."""
    return text + " " * (room - columns(text))


def cell(text: str, room: int, width: int) -> str:
    """A text in a column so wide; where the whole width is unlimited, a longer one is not cut."""
    return pad(text if width >= UNLIMITED else fit(text, room), room)


def aligned(names: Iterable[str]) -> int:
    """The columns of the widest of some names, but for long ones, which push away nothing of the others."""
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
    """The name of a file that changed in so many columns; of one that was moved both, each with half of them."""
    name = printable(row["file"])
    if "renamedFrom" not in row:
        return fit_name(name, room)
    old = printable(row["renamedFrom"])
    each = (room - columns(_MOVED)) // 2
    # what one of them does not need, the other gets
    first = fit_name(old, max(each, room - columns(_MOVED) - columns(name)))
    return f"{first}{_MOVED}{fit_name(name, room - columns(_MOVED) - columns(first))}"


def one_line(text: str | None) -> str:
    """A text that a client gave, on one line and without tricks."""
    return printable(" ".join((text or "").split()))
