"""Parses JSON with comments and trailing commas, with the position of each value in the text.

Settings files belong to users, so they are edited as text. No package does exactly that: those that keep comments
accept more than the agents do, or refuse valid JSON. Scalars are decoded by `json`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from snapd.model.errors import InvalidParams

BYTE_ORDER_MARK = "\ufeff"
_DEEPEST = 200
"""The deepest nesting of values."""
_SPACE = re.compile(r"[ \t\r\n]+")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"[-+.0-9A-Za-z_]+")


class BrokenText(InvalidParams):
    """A text is not JSON or has the wrong form; `data["line"]` is the line, from 1."""


@dataclass(frozen=True)
class Value:
    """A value and its place in the text: from `start` up to, not including, `end`, in characters."""

    start: int
    end: int


@dataclass(frozen=True)
class Scalar(Value):
    """A string, a number, true, false or null."""

    value: Any


@dataclass(frozen=True)
class Array(Value):
    """An array."""

    items: list[Value] = field(default_factory=list)


@dataclass(frozen=True)
class Member(Value):
    """A name and its value in an object."""

    name: str
    value: Value


@dataclass(frozen=True)
class Object(Value):
    """An object."""

    members: list[Member] = field(default_factory=list)

    def get(self, name: str) -> Value | None:
        """The value of a name; the last one if the name occurs twice, as in every JSON parser."""
        return next((member.value for member in reversed(self.members) if member.name == name), None)


def parse(text: str) -> Value | None:
    """Parses JSON with comments, trailing commas or a byte order mark; None if it has no value. Raises `BrokenText`."""
    reader = _Reader(text)
    at = reader.skip(len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0)
    if at == len(text):
        return None
    value = reader.value(at, 0)
    at = reader.skip(value.end)
    if at < len(text):
        raise broken(text, at, "expected nothing more")
    return value


def plain(value: Value | None) -> Any:
    """Converts a value to Python values as `json` does; None for no value."""
    if isinstance(value, Object):
        return {member.name: plain(member.value) for member in value.members}
    if isinstance(value, Array):
        return [plain(item) for item in value.items]
    return value.value if isinstance(value, Scalar) else None


def broken(text: str, at: int, message: str) -> BrokenText:
    """The error for a position in a text."""
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return BrokenText(
        f"line {line}, column {column}: {message}",
        hint="correct the file and try again; nothing was changed",
        line=line,
    )


def after_space(text: str, at: int) -> int:
    """The offset after space and comments. Raises `BrokenText` if a comment does not end."""
    return _Reader(text).skip(at)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, at: int) -> int:
        text = self._text
        while True:
            space = _SPACE.match(text, at)
            if space is not None:
                at = space.end()
            if text.startswith("//", at):
                end = text.find("\n", at)
                at = len(text) if end < 0 else end
            elif text.startswith("/*", at):
                end = text.find("*/", at + 2)
                if end < 0:
                    raise broken(text, at, "this comment does not end")
                at = end + 2
            elif space is None:
                return at

    def value(self, at: int, depth: int) -> Value:
        if depth > _DEEPEST:
            raise broken(self._text, at, "too many values are nested in each other")
        start = self._text[at : at + 1]
        if start == "{":
            return self._object(at, depth)
        if start == "[":
            return self._array(at, depth)
        if start == '"':
            return self._string(at)
        word = _WORD.match(self._text, at)
        if word is None:
            raise broken(self._text, at, "expected a value")
        return self._scalar(at, word.end(), "this is no value")

    def _string(self, at: int) -> Scalar:
        result = _STRING.match(self._text, at)
        if result is None:
            raise broken(self._text, at, "this string does not end")
        return self._scalar(at, result.end(), "this string has an escape that there is not")

    def _scalar(self, start: int, end: int, message: str) -> Scalar:
        try:
            value = json.loads(self._text[start:end], parse_constant=_refuse)
        except ValueError as error:
            raise broken(self._text, start, message) from error
        return Scalar(start, end, value)

    def _array(self, start: int, depth: int) -> Array:
        items: list[Value] = []
        at = self.skip(start + 1)
        while not self._text.startswith("]", at):
            item = self.value(at, depth + 1)
            items.append(item)
            at = self._next(item.end, "]")
        return Array(start, at + 1, items)

    def _object(self, start: int, depth: int) -> Object:
        members: list[Member] = []
        at = self.skip(start + 1)
        while not self._text.startswith("}", at):
            if not self._text.startswith('"', at):
                raise broken(self._text, at, "expected a name in quotes, or }")
            name = self._string(at)
            colon = self.skip(name.end)
            if not self._text.startswith(":", colon):
                raise broken(self._text, colon, "expected : after the name")
            value = self.value(self.skip(colon + 1), depth + 1)
            members.append(Member(at, value.end, str(name.value), value))
            at = self._next(value.end, "}")
        return Object(start, at + 1, members)

    def _next(self, at: int, closing: str) -> int:
        """The offset of the next value or of the closing bracket."""
        at = self.skip(at)
        if self._text.startswith(closing, at):
            return at
        if not self._text.startswith(",", at):
            raise broken(self._text, at, f"expected , or {closing}")
        return self.skip(at + 1)


def _refuse(word: str) -> None:
    raise ValueError(word)
