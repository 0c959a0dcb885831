"""Text in the columns of a terminal."""

from __future__ import annotations

import shutil
from unicodedata import combining, east_asian_width

from .output import printable

_NARROWEST = 60


def terminal_width() -> int:
    """The columns that there are; 80 where nobody says."""
    return max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def columns(text: str) -> int:
    """The width of a text, in columns."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def pad(text: str, room: int) -> str:
    """Fills a text up with blanks to a width in columns; a longer one stays as it is."""
    return text + " " * (room - columns(text))


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


def one_line(text: str | None) -> str:
    """A text that a client gave, on one line and without tricks."""
    return printable(" ".join((text or "").split()))
