"""What a stream of bytes says, worked out from the whole of it, with the standard library alone."""

from __future__ import annotations

import json
import math
import re
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import attrs

from snapd.wire.converter import wire_name
from snapd.wire.methods import METHODS
from snapd.wire.values import AtLeast, Hexadecimal, NotEmpty, fields_of

MAX_HEADER_BYTES = 16 << 10
_LINE_BYTES = 4 * MAX_HEADER_BYTES
_INTEGERS = range(-(2**63), 2**64)
_DEEPEST = 200
_HEADER_BLOCK = re.compile(rb"(?:[A-Za-z0-9_.-]+[ \t]*:[^\r\n]*\r\n)+\r\n")
_HTTP = re.compile(rb"[A-Z]+ |[A-Za-z-]+ [^ ]+ HTTP/")

END, ERROR, HTTP = "the end", "an error", "HTTP"


class Unclear(Exception):
    """JSON that readers of JSON do not agree on: any answer but silence will do."""


def frames(data: bytes, limit: int) -> tuple[list[bytes], str]:
    """The bodies in a stream, and how it ends for the one who reads it."""
    bodies: list[bytes] = []
    while True:
        block = _HEADER_BLOCK.match(data)
        first_line, line_end, _ = data.partition(b"\n")
        # of a line that is longer than a reader keeps, the beginning alone is looked at
        if _HTTP.match((first_line + line_end)[: 64 if len(first_line) > _LINE_BYTES else None]):
            return bodies, HTTP
        if not line_end and len(data) <= _LINE_BYTES and not data.strip():
            return bodies, END
        if block is None or len(block[0]) - 2 > MAX_HEADER_BYTES:
            return bodies, ERROR
        rest = data[block.end() :]
        fields = [line.split(b":", 1) for line in block[0].split(b"\r\n")[:-2]]
        lengths = [value.strip() for name, value in fields if name.strip().lower() == b"content-length"]
        if len(lengths) != 1 or not re.fullmatch(rb"[0-9]{1,19}", lengths[0]) or int(lengths[0]) > limit:
            return bodies, ERROR
        length = int(lengths[0])
        if len(rest) < length:
            return bodies, END
        bodies.append(rest[:length])
        data = rest[length:]


def answered_under(body: bytes) -> Any:
    """The id that the answer to a body has, `...` where there must be none."""
    try:
        message = json.loads(body.decode("utf-8"), parse_constant=_refuse)
        _check_clear(message, _DEEPEST)
    except RecursionError:
        raise Unclear from None
    except ValueError:
        return None
    if not isinstance(message, dict):
        return None
    known = _id_of(message)
    if message.get("jsonrpc") != "2.0":
        return known
    if "method" not in message:
        return ... if "result" in message or "error" in message else known
    if not isinstance(message["method"], str):
        return known
    return known if "id" in message else ...


def is_exit(body: bytes) -> bool:
    """Whether a body ends its connection."""
    try:
        message = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    return message.get("method") == "exit" and "id" not in message


def _id_of(message: dict[str, Any]) -> Any:
    given = message.get("id")
    if isinstance(given, str):
        return given
    return given if type(given) is int and given in _INTEGERS else None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _check_clear(value: Any, deepest: int) -> None:
    if deepest == 0:
        raise Unclear
    if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        raise Unclear
    if isinstance(value, float) and not math.isfinite(value):
        raise Unclear
    if isinstance(value, dict):
        for key, each in value.items():
            _check_clear(key, deepest)
            _check_clear(each, deepest - 1)
    elif isinstance(value, list):
        for each in value:
            _check_clear(each, deepest - 1)


def fits(value: Any, annotation: Any) -> bool:
    """Whether a JSON value is one of a type of the wire."""
    origin = get_origin(annotation)
    if annotation is type(None):
        return value is None
    if annotation in (str, bool):
        return type(value) is annotation
    if annotation is int:
        return type(value) is int and value in _INTEGERS
    if annotation is float:
        return type(value) in (int, float)
    if origin is Literal:
        return any(type(value) is type(each) and value == each for each in get_args(annotation))
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in get_args(annotation))
    if origin is list:
        return isinstance(value, list) and all(fits(each, get_args(annotation)[0]) for each in value)
    if value == [] and (origin is dict or attrs.has(annotation)):
        # some languages cannot tell an empty object from an empty array
        value = {}
    if origin is dict:
        return isinstance(value, dict) and all(fits(each, get_args(annotation)[1]) for each in value.values())
    if origin is Annotated:
        base, *marks = get_args(annotation)
        return fits(value, base) and all(_is_marked(value, mark) for mark in marks)
    assert attrs.has(annotation), annotation
    return isinstance(value, dict) and all(
        fits(value[wire_name(each.name)], each.type)
        if value.get(wire_name(each.name)) is not None
        else each.default is not attrs.NOTHING
        for each in fields_of(annotation)
    )


def _is_marked(value: Any, mark: Any) -> bool:
    if isinstance(mark, Hexadecimal):
        return re.fullmatch(rf"[0-9a-f]{{{mark.digits}}}", value) is not None
    if isinstance(mark, NotEmpty):
        return value != ""
    assert isinstance(mark, AtLeast)
    return bool(value >= mark.minimum)


def fits_method(method: str, params: Any) -> bool:
    """Whether params are those of a method, as far as their types say."""
    return fits(params, METHODS[method].params)
