"""Reads JSON objects field by field; missing and unknown fields and wrong types are errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from snapd.core.errors import InvalidParams
from snapd.core.model import EXECUTABLE, REGULAR, SYMLINK, Entry, ObjectId, RelPath
from snapd.core.timeline.model import SnapshotId

T = TypeVar("T")

_OID = re.compile(r"[0-9a-f]{40}")
_MODES = {f"{mode:o}": mode for mode in (REGULAR, EXECUTABLE, SYMLINK)}


class Fields:
    """The fields of a JSON object; each must be taken once.

    Args:
        value: the parsed JSON.

    Raises:
        ValueError: it is not an object.
    """

    def __init__(self, value: object) -> None:
        if type(value) is not dict:
            raise ValueError("not an object")
        self._left: dict[str, Any] = dict(value)

    def take(self, name: str, read: Callable[[object], T]) -> T:
        """The value of a field; raises `ValueError` if it is missing or `read` does."""
        if name not in self._left:
            raise ValueError(f"field {name} is missing")
        return read(self._left.pop(name))

    def given(self, name: str, read: Callable[[object], T], otherwise: T) -> T:
        """As `take`, for a field that older versions did not write."""
        return self.take(name, read) if name in self._left else otherwise

    def end(self) -> None:
        """Raises `ValueError` if a field was not taken."""
        if self._left:
            raise ValueError(f"unknown field {min(self._left)}")


def number(value: object) -> int:
    """A number from 0 on; raises `ValueError`."""
    if type(value) is not int or value < 0:
        raise ValueError("not a number")
    return value


def boolean(value: object) -> bool:
    """True or false; raises `ValueError`."""
    if type(value) is not bool:
        raise ValueError("not true or false")
    return value


def text(value: object) -> str:
    """Text; raises `ValueError`."""
    if type(value) is not str:
        raise ValueError("not a text")
    value.encode()
    return value


def one_of(*choices: T) -> Callable[[object], T]:
    """Returns a reader of one of these values; it raises `ValueError`."""

    def read(value: object) -> T:
        for choice in choices:
            if type(value) is type(choice) and value == choice:
                return choice
        raise ValueError(f"not one of {choices}")

    return read


def optional(read: Callable[[object], T]) -> Callable[[object], T | None]:
    """Returns a reader of null, or of what `read` reads."""
    return lambda value: None if value is None else read(value)


def several(read: Callable[[object], T]) -> Callable[[object], tuple[T, ...]]:
    """Returns a reader of a list of what `read` reads; it raises `ValueError`."""

    def read_all(value: object) -> tuple[T, ...]:
        if type(value) is not list:
            raise ValueError("not a list")
        return tuple([read(item) for item in value])

    return read_all


def path(value: object) -> RelPath:
    """A path as `shown_path` wrote it; raises `ValueError`."""
    if type(value) is not str:
        raise ValueError("not a path")
    return value.encode("utf-8", "surrogateescape")


def object_id(value: object) -> ObjectId:
    """The id of an object; raises `ValueError`."""
    if type(value) is not str or _OID.fullmatch(value) is None:
        raise ValueError("not an object id")
    return bytes.fromhex(value)


def snapshot_id(value: object) -> SnapshotId:
    """The id of a snapshot as `shown_snapshot` wrote it; raises `ValueError`."""
    if type(value) is not list or len(value) != 2:
        raise ValueError("not a snapshot")
    return SnapshotId(object_id(value[0]), object_id(value[1]))


def entry(value: object) -> Entry:
    """A file, as `shown_entry` wrote it; raises `ValueError`."""
    mode, _, oid = text(value).partition(" ")
    if mode not in _MODES:
        raise ValueError("not the mode of a file")
    return Entry(_MODES[mode], object_id(oid))


def shown_text(value: str | None, name: str) -> str | None:
    """Text that JSON and the database can hold.

    Args:
        value: the text.
        name: for the error message.

    Raises:
        InvalidParams: it is no Unicode: it holds half a surrogate pair.
    """
    if value is not None:
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidParams(f"{name} is not valid Unicode", field=name) from error
    return value


def shown_path(value: RelPath) -> str:
    """A path for JSON; a byte that is not UTF-8 becomes a lone surrogate."""
    return value.decode("utf-8", "surrogateescape")


def shown_snapshot(value: SnapshotId | None) -> list[str] | None:
    """The id of a snapshot for JSON: tree and coverage."""
    return None if value is None else [value.tree.hex(), value.coverage.hex()]


def shown_entry(value: Entry | None) -> str | None:
    """A file for JSON: mode and blob."""
    return None if value is None else f"{value.mode:o} {value.oid.hex()}"
