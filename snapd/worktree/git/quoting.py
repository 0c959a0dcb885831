"""Paths as git quotes them."""

from __future__ import annotations

import re

_QUOTED = re.compile(rb'"((?:[^"\\]|\\(?:[abfnrtv"\\]|[0-3][0-7]{2}))*)"')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_CONTROLS = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))


def unquoted(line: bytes) -> bytes:
    """The path that a line begins with, if that is quoted; else the line itself."""
    quoted = _QUOTED.match(line)
    return _ESCAPE.sub(_unescaped, quoted[1]) if quoted else line


def _unescaped(found: re.Match[bytes]) -> bytes:
    text = found[1]
    return bytes((int(text, 8) if len(text) == 3 else _CONTROLS.get(text[0], text[0]),))
