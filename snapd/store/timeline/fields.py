"""How values are written as JSON and read again; missing and unknown fields and wrong types are errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar

import attrs

from snapd.core.errors import InvalidParams
from snapd.core.model import EXECUTABLE, REGULAR, SYMLINK, Entry, ObjectId, RelPath
from snapd.core.timeline.model import Effect, SnapshotId

T = TypeVar("T")

_OID = re.compile(r"[0-9a-f]{40}")
_MODES = {f"{mode:o}": mode for mode in (REGULAR, EXECUTABLE, SYMLINK)}
_REQUIRED = object()


@attrs.frozen
class Kind(Generic[T]):
    """A kind of value.

    Attributes:
        show: returns the JSON value.
        read: returns what `show` wrote; raises `ValueError` for anything else.
    """

    show: Callable[[T], Any]
    read: Callable[[Any], T]


def plain(read: Callable[[Any], T]) -> Kind[T]:
    """The kind of values that JSON has too."""
    return Kind(lambda value: value, read)


def optional(kind: Kind[T]) -> Kind[T | None]:
    """Null, or a value of another kind."""
    show, read = kind.show, kind.read
    return Kind(
        lambda value: None if value is None else show(value), lambda value: None if value is None else read(value)
    )


def several(kind: Kind[T]) -> Kind[tuple[T, ...]]:
    """A list of values of another kind."""
    show, read = kind.show, kind.read

    def read_all(value: object) -> tuple[T, ...]:
        if type(value) is not list:
            raise ValueError("not a list")
        return tuple([read(item) for item in value])

    return Kind(lambda values: [show(value) for value in values], read_all)


def row(made: Callable[..., T], split: Callable[[T], Sequence[Any]], *kinds: Kind[Any]) -> Kind[T]:
    """A list with one value of each kind.

    Args:
        made: makes the value of its parts.
        split: the parts of a value.
        kinds: of the parts.
    """
    shows, reads = [kind.show for kind in kinds], [kind.read for kind in kinds]

    def read(value: object) -> T:
        if type(value) is not list or len(value) != len(kinds):
            raise ValueError(f"not a list of {len(kinds)}")
        return made(*[read_part(part) for read_part, part in zip(reads, value, strict=True)])

    return Kind(lambda value: [show(part) for show, part in zip(shows, split(value), strict=True)], read)


def one_of(*choices: T) -> Kind[T]:
    """One of some values."""

    def read(value: object) -> T:
        for choice in choices:
            if type(value) is type(choice) and value == choice:
                return choice
        raise ValueError(f"not one of {choices}")

    return plain(read)


def text(name: str) -> Kind[str]:
    """Text that JSON and the database can hold; `show` raises `InvalidParams` if it is not Unicode.

    Args:
        name: of the parameter, for the error message.
    """

    def show(value: str) -> str:
        try:
            value.encode()
        except UnicodeEncodeError as error:
            # it holds half a surrogate pair
            raise InvalidParams(f"{name} is not valid Unicode", field=name) from error
        return value

    return Kind(show, _read_text)


def _read_text(value: object) -> str:
    if type(value) is not str:
        raise ValueError("not a text")
    value.encode()
    return value


def _read_number(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("not a number")
    return value


def _read_path(value: object) -> RelPath:
    if type(value) is not str:
        raise ValueError("not a path")
    return value.encode("utf-8", "surrogateescape")


def _read_object_id(value: object) -> ObjectId:
    if type(value) is not str or _OID.fullmatch(value) is None:
        raise ValueError("not an object id")
    return bytes.fromhex(value)


def _read_entry(value: object) -> Entry:
    mode, _, oid = _read_text(value).partition(" ")
    if mode not in _MODES:
        raise ValueError("not the mode of a file")
    return Entry(_MODES[mode], _read_object_id(oid))


ANYTHING: Kind[Any] = plain(lambda value: value)
NUMBER = plain(_read_number)
"""A whole number from 0 on."""
BOOLEAN = one_of(False, True)
# a byte that is not UTF-8 becomes a lone surrogate
PATH: Kind[RelPath] = Kind(lambda path: path.decode("utf-8", "surrogateescape"), _read_path)
PATHS = several(PATH)
OBJECT_ID: Kind[ObjectId] = Kind(lambda oid: oid.hex(), _read_object_id)
SNAPSHOT = row(SnapshotId, attrgetter("tree", "coverage"), OBJECT_ID, OBJECT_ID)
ENTRY: Kind[Entry] = Kind(lambda entry: f"{entry.mode:o} {entry.oid.hex()}", _read_entry)
EFFECT = row(Effect, attrgetter("path", "old", "new"), PATH, optional(ENTRY), optional(ENTRY))
FILE: Kind[tuple[RelPath, Entry | None]] = row(lambda *file: file, tuple, PATH, optional(ENTRY))
PAIR: Kind[tuple[RelPath, RelPath]] = row(lambda *pair: pair, tuple, PATH, PATH)


@attrs.frozen
class Field:
    """A field of a JSON object.

    Attributes:
        name: of the field.
        kind: of its value.
        attribute: the name of the attribute that it holds; empty if it is that of the field.
        missing: the value if the field is missing, because older versions did not write it.
    """

    name: str
    kind: Kind[Any]
    attribute: str = ""
    missing: Any = _REQUIRED


class Record(Generic[T]):
    """A JSON object that stands for an object of a class: the kind `Kind(record.show, record.read)`.

    Args:
        made: the class; its attributes are passed by name.
        fields: all fields, in their order.

    Attributes:
        made: as given.
    """

    def __init__(self, made: Callable[..., T], *fields: Field) -> None:
        self.made = made
        self._fields = [
            (field.name, field.attribute or field.name, field.kind.show, field.kind.read, field.missing)
            for field in fields
        ]

    def show(self, value: T) -> dict[str, Any]:
        """The JSON object, without fields that have the value for a missing one; raises as the kinds of the fields."""
        found = ((name, getattr(value, attribute), show, missing) for name, attribute, show, _, missing in self._fields)
        return {name: show(each) for name, each, show, missing in found if each != missing}

    def read(self, value: object) -> T:
        """What `show` wrote; raises `ValueError` for anything else."""
        if type(value) is not dict:
            raise ValueError("not an object")
        values = {}
        unknown = len(value)
        for name, attribute, _, read, missing in self._fields:
            if name in value:
                values[attribute] = read(value[name])
                unknown -= 1
            elif missing is _REQUIRED:
                raise ValueError(f"field {name} is missing")
            else:
                values[attribute] = missing
        if unknown:
            raise ValueError(f"{unknown} of its fields are unknown")
        return self.made(**values)

    @property
    def kind(self) -> Kind[T]:
        """The kind of value for which this object stands."""
        return Kind(self.show, self.read)
