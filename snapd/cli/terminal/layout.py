"""Text for a terminal: names that are safe to show, and text that fits into columns."""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any
from unicodedata import combining, east_asian_width

if TYPE_CHECKING:
    from collections.abc import Iterable

STYLE = "\ud800"
"""How `Painter` begins a style, instead of ESC: no text from elsewhere contains it."""
_OBEYED = re.compile(
    f"({STYLE})(?=\\[[0-9;]*m)|[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What a terminal interprets instead of showing it, or reorders; bytes that are not UTF-8 may be either."""
_PLAIN = re.compile(r"[\w@%+=:,./-]+")


def printable(name: str) -> str:
    """Returns a name, or another foreign text, without characters that affect a terminal."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode("ascii") for char in name
    )


def visible(text: str) -> str:
    """Returns lines for a terminal, with control characters made visible, except our own styles."""
    return _OBEYED.sub(_as_seen, text)


def _as_seen(match: re.Match[str]) -> str:
    char = match[0]
    if match[1]:
        return "\033"
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    # the lower ones are escaped in JSON already, so this keeps it valid
    return f"\\u{ord(char):04x}" if char >= "\x7f" else char.encode("unicode_escape").decode("ascii")


def shell_name(name: str | bytes) -> str:
    """Returns a name as it is, quoted if needed for a shell or a terminal; surrogates are bytes that are not UTF-8."""
    text = os.fsdecode(name)
    if _PLAIN.fullmatch(text):
        return text
    return shlex.quote(text) if text.isprintable() else f"$'{''.join(map(_escaped, text))}'"


def file_name(name: str, folder: str) -> str:
    """Returns the exact name of a file in an answer, with surrogates for bytes that are not UTF-8.

    It is relative to `folder`, which is absolute and canonical. In an answer, a name that is not UTF-8 is a `file:`
    URI.
    """
    if not name.startswith("file:///"):
        return name
    from snapd.model.paths import from_uri

    return os.path.relpath(os.fsdecode(from_uri(name, "file")), folder)


def _escaped(char: str) -> str:
    if char in "'\\":
        return f"\\{char}"
    if char.isprintable():
        return char
    known = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return known.get(char) or "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))


_NARROWEST = 40
UNLIMITED = 1 << 20
"""The width where none is known, as in a pipe: nothing is cut there."""
_ALIGNED = 40
"""The maximum columns of names for which the texts after them are aligned."""
_MOVED = " → "


def terminal_width() -> int:
    """Returns the columns of the terminal, at least 40; `UNLIMITED` without one, unless COLUMNS is set."""
    from shutil import get_terminal_size

    return max(_NARROWEST, get_terminal_size((UNLIMITED, 24)).columns)


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
