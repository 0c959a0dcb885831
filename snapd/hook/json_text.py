"""JSON for a hook: `json` loads `re` and `enum`, which takes a third of a hook's time.

The parts in C that `json` itself has do the work. `json` takes over what they refuse, and says what is wrong with it.
"""

from __future__ import annotations

import os
from _json import encode_basestring, make_scanner

from .event import NotAnEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_BLANKS = " \t\n\r"


class _Options:
    """What the scanner asks for, as `json.JSONDecoder(strict=False)` has it."""

    strict = False
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


# typeshed knows the scanner's own attributes alone as what it may be given
_scan = make_scanner(_Options)  # type: ignore[arg-type]


def decode(text: str) -> Any:
    """The value that a JSON text stands for; raw control characters in its strings are allowed.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it is nested too deeply.
    """
    stripped = text.strip(_BLANKS)
    try:
        value, end = _scan(stripped, 0)
    except StopIteration:
        end = -1
    if end == len(stripped):
        return value
    import json

    return json.loads(text, strict=False)


def encode(value: Any) -> str:
    """The JSON text of a value, without blanks; other characters than those of ASCII stay as they are."""
    if isinstance(value, str):
        return str(encode_basestring(value))
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return "{" + ",".join([f"{encode_basestring(name)}:{encode(each)}" for name, each in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([encode(each) for each in value]) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if type(value) is int:
        return str(value)
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_READ_BYTES = 1 << 20
LONGEST = 1 << 20
"""Bytes of a text in an event; what is beyond them, of a large file for example, is left out."""
_MOST_BYTES = 16 << 20
"""Bytes of an event without that."""
_ESCAPE = 5
"""Characters of an escape sequence behind its backslash, at most."""
_AFTER = b" \t\r\n\0"


def read_event() -> dict[str, Any]:
    """The event on standard input, as soon as it is complete: not every agent closes its end.

    Raises:
        NotAnEvent: there is none.
    """
    data = b""
    while len(data) <= LONGEST and (chunk := os.read(0, _READ_BYTES)):
        data += chunk
        if len(data) <= LONGEST and data.rstrip(_AFTER).endswith(b"}"):
            try:
                return _parsed(data)
            except NotAnEvent:
                # a brace in the middle
                continue
    return _parsed(b"".join(_shortened(data)) if len(data) > LONGEST else data)


def _parsed(data: bytes) -> dict[str, Any]:
    if data[:1] == b"{" and b"\0" not in data[:4]:
        text = data.decode("utf-8", "replace")
    else:
        # other encodings, and marks of their byte order; imported late: hardly any agent uses them
        import json

        text = data.decode(json.detect_encoding(data), "replace").lstrip("\ufeff")
    try:
        # some agents put raw control characters into their texts
        payload = decode(text.rstrip("\0"))
    except (ValueError, RecursionError) as error:
        raise NotAnEvent(f"the event is not JSON: {error}") from error
    if not isinstance(payload, dict):
        raise NotAnEvent("the event is not a JSON object")
    return payload


def _shortened(chunk: bytes) -> Iterator[bytes]:
    """The JSON that begins with a chunk and goes on in standard input, with the ends of long strings left out."""
    # imported late, as above
    import re

    # short texts go along with what is around them: one turn of the loop for each would take too long
    outside = re.compile(rb'(?:[^"{}\[\]]++|"[^"\\]{0,999}+")*+')
    inside = re.compile(rb'(?:[^"\\]++|\\(?:u[0-9a-fA-F]{4}|[^u]))*+', re.DOTALL)
    in_string, depth, length, kept = False, 0, 0, 0
    while chunk:
        at = 0
        while at < len(chunk):
            found = (inside if in_string else outside).match(chunk, at)
            assert found is not None
            piece, at = found[0], found.end()
            mark, at = chunk[at : at + 1], at + 1
            if in_string:
                room = max(0, LONGEST - length)
                length += len(piece)
                if len(piece) > room and (cut := inside.match(piece, 0, room)) is not None:
                    # no escape sequence is cut in two
                    piece = cut[0]
            if mark == b"\\":
                if len(chunk) - at > _ESCAPE:
                    raise NotAnEvent("the event is not JSON: an escape sequence is wrong")
                # the rest of the escape sequence is in the next chunk
                at -= 1
                yield piece
                break
            if mark == b'"':
                in_string, length = not in_string, 0
            depth += (mark in b"{[") - (mark in b"}]") if mark else 0
            kept += len(piece) + len(mark)
            yield piece + mark
            if kept > _MOST_BYTES:
                _skip_rest()
                raise NotAnEvent(f"the event has more than {_MOST_BYTES} bytes")
            if mark and mark in b"}]" and depth == 0:
                return
        more = os.read(0, _READ_BYTES)
        chunk = more and chunk[at:] + more


def _skip_rest() -> None:
    """Reads what is left: an agent may not bear that nobody does."""
    while os.read(0, _READ_BYTES):
        continue
