"""JSON objects read field by field: what is missing, of another type or not known is an error."""

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
    """The fields of a JSON object; each is to be taken, once.

    Args:
        value: what was parsed.

    Raises:
        ValueError: it is not an object.
    """

    def __init__(self, value: object) -> None:
        if type(value) is not dict:
            raise ValueError("no object")
        self._left: dict[str, Any] = dict(value)

    def take(self, name: str, read: Callable[[object], T]) -> T:
        """The value of a field; raises `ValueError` if it is missing or `read` does."""
        if name not in self._left:
            raise ValueError(f"no {name}")
        return read(self._left.pop(name))

    def given(self, name: str, read: Callable[[object], T], otherwise: T) -> T:
        """The same of a field that older versions did not write."""
        return self.take(name, read) if name in self._left else otherwise

    def end(self) -> None:
        """Raises `ValueError` if a field was not taken."""
        if self._left:
            raise ValueError(f"unknown {min(self._left)}")


def number(value: object) -> int:
    """A number from 0 on; raises `ValueError`."""
    if type(value) is not int or value < 0:
        raise ValueError("no number")
    return value


def boolean(value: object) -> bool:
    """True or false; raises `ValueError`."""
    if type(value) is not bool:
        raise ValueError("neither true nor false")
    return value


def text(value: object) -> str:
    """Text; raises `ValueError`."""
    if type(value) is not str:
        raise ValueError("no text")
    value.encode()
    return value


def one_of(*choices: T) -> Callable[[object], T]:
    """Reads one of these; it raises `ValueError`."""

    def read(value: object) -> T:
        for choice in choices:
            if type(value) is type(choice) and value == choice:
                return choice
        raise ValueError(f"none of {choices}")

    return read


def optional(read: Callable[[object], T]) -> Callable[[object], T | None]:
    """Reads null, or what `read` does."""
    return lambda value: None if value is None else read(value)


def several(read: Callable[[object], T]) -> Callable[[object], tuple[T, ...]]:
    """Reads a list of what `read` does; raises `ValueError`."""

    def read_all(value: object) -> tuple[T, ...]:
        if type(value) is not list:
            raise ValueError("no list")
        return tuple([read(item) for item in value])

    return read_all


def path(value: object) -> RelPath:
    """A path as `shown_path` wrote it; raises `ValueError`."""
    if type(value) is not str:
        raise ValueError("no path")
    return value.encode("utf-8", "surrogateescape")


def object_id(value: object) -> ObjectId:
    """The id of an object; raises `ValueError`."""
    if type(value) is not str or _OID.fullmatch(value) is None:
        raise ValueError("no object id")
    return bytes.fromhex(value)


def snapshot_id(value: object) -> SnapshotId:
    """Which snapshot, as `shown_snapshot` wrote it; raises `ValueError`."""
    if type(value) is not list or len(value) != 2:
        raise ValueError("no snapshot")
    return SnapshotId(object_id(value[0]), object_id(value[1]))


def entry(value: object) -> Entry:
    """A file, as `shown_entry` wrote it; raises `ValueError`."""
    mode, _, oid = text(value).partition(" ")
    if mode not in _MODES:
        raise ValueError("no mode of a file")
    return Entry(_MODES[mode], object_id(oid))


def shown_text(value: str | None, name: str) -> str | None:
    """Text that JSON and the database can hold.

    Args:
        value: the text.
        name: what the error calls it.

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
    """A path in JSON; a byte that is no UTF-8 is half a surrogate pair."""
    return value.decode("utf-8", "surrogateescape")


def shown_snapshot(value: SnapshotId | None) -> list[str] | None:
    """Which snapshot, in JSON: tree and coverage."""
    return None if value is None else [value.tree.hex(), value.coverage.hex()]


def shown_entry(value: Entry | None) -> str | None:
    """A file in JSON: mode and blob."""
    return None if value is None else f"{value.mode:o} {value.oid.hex()}"
