"""JSON by the C parts of `json`, without loading the package, which takes a third of a hook's time."""

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
    """The scanner's options, as of `json.JSONDecoder(strict=False)`."""

    strict = False
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


# typeshed accepts only a JSONDecoder
_scan = make_scanner(_Options)  # type: ignore[arg-type]


def decode(text: str) -> Any:
    """Decodes JSON, with raw control characters allowed. Raises `ValueError` or `RecursionError`."""
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
    """Encodes a value as compact JSON; characters outside ASCII are not escaped."""
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
"""The most bytes of a string in an event; the rest, of a large file for example, is dropped."""
_MOST_BYTES = 16 << 20
"""The most bytes of an event after that."""
_ESCAPE = 5
"""The most characters of an escape sequence after its backslash."""
_AFTER = b" \t\r\n\0"


def read_event() -> dict[str, Any]:
    """Reads the event on standard input, which not every agent closes. Raises `NotAnEvent` if there is none."""
    data = b""
    while len(data) <= LONGEST and (chunk := os.read(0, _READ_BYTES)):
        data += chunk
        if len(data) <= LONGEST and data.rstrip(_AFTER).endswith(b"}"):
            try:
                return _parsed(data)
            except NotAnEvent:
                # not the last brace
                continue
    return _parsed(b"".join(_shortened(data)) if len(data) > LONGEST else data)


def _parsed(data: bytes) -> dict[str, Any]:
    if data[:1] == b"{" and b"\0" not in data[:4]:
        text = data.decode("utf-8", "replace")
    else:
        # other encodings and byte order marks; imported late, as hardly any agent uses them
        import json

        text = data.decode(json.detect_encoding(data), "replace").lstrip("\ufeff")
    try:
        # some agents send raw control characters in strings
        payload = decode(text.rstrip("\0"))
    except (ValueError, RecursionError) as error:
        raise NotAnEvent(f"the event is not JSON: {error}") from error
    if not isinstance(payload, dict):
        raise NotAnEvent("the event is not a JSON object")
    return payload


def _shortened(chunk: bytes) -> Iterator[bytes]:
    """The JSON from `chunk` and standard input, with long strings truncated."""
    # imported late, as above
    import re

    # pass short strings on with their surroundings: one iteration for each would be too slow
    outside = re.compile(rb'(?:[^"{}\[\]]++|"[^"\\]{0,999}+")*+')
    inside = re.compile(rb'(?:[^"\\]++|\\(?:u[0-9a-fA-F]{4}|[^u]))*+', re.DOTALL)
    in_string, depth, length, kept = False, 0, 0, 0
    while chunk:
        at = 0
        while at < len(chunk):
            result = (inside if in_string else outside).match(chunk, at)
            assert result is not None
            piece, at = result[0], result.end()
            mark, at = chunk[at : at + 1], at + 1
            if in_string:
                room = max(0, LONGEST - length)
                length += len(piece)
                if len(piece) > room and (cut := inside.match(piece, 0, room)) is not None:
                    # do not cut an escape sequence
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
    """Reads the rest: some agents fail if nothing reads it."""
    while os.read(0, _READ_BYTES):
        continue
