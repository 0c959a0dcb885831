"""Makes file names safe to display, in a form that users can pass to a shell again."""

from __future__ import annotations

import os
import re
import shlex

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


def _as_seen(found: re.Match[str]) -> str:
    char = found[0]
    if found[1]:
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
