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
    """The columns that a text takes."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def pad(text: str, room: int) -> str:
    """A text that takes so many columns, or more where it is longer."""
    return text + " " * (room - columns(text))


def fit(text: str, room: int) -> str:
    """The beginning of a text, so that it takes so many columns at most."""
    if columns(text) <= room:
        return text
    while text and columns(text) > room - 1:
        text = text[:-1]
    return f"{text.rstrip()}…" if room > 0 else ""


def fit_name(name: str, room: int) -> str:
    """The end of a file's name, likewise: that says more than its beginning."""
    if columns(name) <= room:
        return name
    while name and columns(name) > room - 1:
        name = name[1:]
    return f"…{name}" if room > 0 else ""


def one_line(text: str | None) -> str:
    """A text that a client gave, on one line and without tricks."""
    return printable(" ".join((text or "").split()))
