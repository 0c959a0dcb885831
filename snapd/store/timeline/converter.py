"""Converts between JSON values and the classes of the timeline, strictly: it coerces nothing.

An object becomes a JSON object with a field for each attribute: `sessionId` for `session_id`. A field is left out if
the attribute has its default, and may be missing, as in data of older versions. A `Shape` describes where a class
differs. `bytes` are paths. Hooks that read raise `ValueError` for anything that no hook writes; hooks that write raise
`InvalidParams` for a text that is not valid Unicode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter, call
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import attrs
from cattrs import Converter, override
from cattrs.gen import (
    make_dict_structure_fn_from_attrs,
    make_dict_unstructure_fn_from_attrs,
    make_hetero_tuple_unstructure_fn,
)

from snapd.model.errors import InvalidParams
from snapd.model.snapshot import EXECUTABLE, REGULAR, SYMLINK, Entry, ObjectId, RelPath
from snapd.model.timeline import SnapshotId

_Read = Callable[[Any, Any], Any]
"""Converts a JSON value to a type (the second argument)."""
_Write = Callable[[Any], Any]
"""Converts a value to its JSON value."""

_MODES = {f"{mode:o}": mode for mode in (REGULAR, EXECUTABLE, SYMLINK)}


@attrs.frozen
class Shape:
    """How a class is written."""

    names: Mapping[str, str] = {}  # field names that do not follow from the attribute, by attribute
    always: tuple[str, ...] = ()  # the attributes whose fields are never left out
    row: tuple[str, ...] = ()  # the attributes that are written as a list; empty for an object


def make_converter(shapes: Mapping[type, Shape], parameters: Mapping[str, str]) -> Converter:
    """Makes a converter; `parameters` maps attributes to differing names of request parameters, for `InvalidParams`."""
    converter = Converter(detailed_validation=False)
    # cattrs would coerce what has no hook here; it asks the factory first that is registered last
    converter.register_structure_hook_factory(lambda _: True, _refuse)
    converter.register_structure_hook(float, lambda _, kind: _refuse(kind))
    converter.register_structure_hook(Any, lambda value, _: value)
    converter.register_structure_hook_factory(attrs.has, partial(_class_reader, shapes))
    converter.register_structure_hook_factory(_is(Union, UnionType), _optional_reader)
    converter.register_structure_hook_factory(_is(tuple), _tuple_reader)
    converter.register_structure_hook_factory(_is(Literal), _choice_reader)
    converter.register_structure_hook(str, _read_text)
    converter.register_structure_hook(int, _read_number)
    converter.register_structure_hook(bool, _read_boolean)
    converter.register_structure_hook(bytes, _read_path)
    converter.register_structure_hook(Entry, read_file)
    converter.register_structure_hook(SnapshotId, _read_snapshot)
    converter.register_unstructure_hook_factory(attrs.has, partial(_class_writer, shapes, parameters))
    converter.register_unstructure_hook(bytes, _write_path)
    converter.register_unstructure_hook(Entry, write_file)
    converter.register_unstructure_hook(SnapshotId, lambda value: [value.tree.hex(), value.coverage.hex()])
    return converter


def _refuse(kind: Any) -> _Read:
    raise TypeError(f"no type of the timeline: {kind!r}")


def _is(*origins: Any) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) in origins


# -- classes


def _class_reader(shapes: Mapping[type, Shape], cls: Any, converter: Converter) -> _Read:
    shape = shapes.get(cls, Shape())
    if shape.row:
        return _row_reader(cls, _types_in_row(cls, shape), converter)
    written = _written(cls, shape)
    keys: Any = {each.name: override(rename=key) for key, each in written.items()}
    read = make_dict_structure_fn_from_attrs([*written.values()], cls, converter, **keys)
    required = {key for key, each in written.items() if each.default is attrs.NOTHING}

    def read_object(value: Any, _: Any) -> Any:
        if type(value) is not dict:
            raise ValueError("not an object")
        if not required <= value.keys() <= written.keys():
            missing, unknown = sorted(required - value.keys()), len(value.keys() - written.keys())
            raise ValueError(f"of its fields, {missing} are missing and {unknown} are unknown")
        return read(value, cls)

    return read_object


def _class_writer(
    shapes: Mapping[type, Shape], parameters: Mapping[str, str], cls: Any, converter: Converter
) -> _Write:
    shape = shapes.get(cls, Shape())
    if shape.row:
        split = attrgetter(*shape.row)
        write_parts = make_hetero_tuple_unstructure_fn(tuple, converter, tuple, _types_in_row(cls, shape))
        return lambda value: write_parts(split(value))
    written = _written(cls, shape)
    keys: Any = {}
    for key, each in written.items():
        is_text = each.type in (str, str | None, tuple[str, ...])
        write_text = partial(_write_text, parameters.get(each.name) or _camel_case(each.name))
        keys[each.name] = override(rename=key, unstruct_hook=write_text if is_text else None)
    return make_dict_unstructure_fn_from_attrs(
        [*written.values()], cls, converter, _cattrs_omit_if_default=True, **keys
    )


def _types_in_row(cls: Any, shape: Shape) -> tuple[Any, ...]:
    attributes = attrs.fields_dict(attrs.resolve_types(cls))
    return tuple([attributes[name].type for name in shape.row])


def _written(cls: Any, shape: Shape) -> dict[str, Any]:
    """Returns the attributes by field, without a default if the field is never left out."""
    return {
        shape.names.get(each.name) or _camel_case(each.name): each.evolve(default=attrs.NOTHING)
        if each.name in shape.always
        else each
        for each in attrs.fields(attrs.resolve_types(cls))
    }


def _camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(map(str.capitalize, rest))


# -- values of others


def _optional_reader(kind: Any, converter: Converter) -> _Read:
    (inner,) = [each for each in get_args(kind) if each is not NoneType]
    read = converter.get_structure_hook(inner)
    return lambda value, _: None if value is None else read(value, inner)


def _tuple_reader(kind: Any, converter: Converter) -> _Read:
    inner, *others = get_args(kind)
    if others != [...]:
        return _row_reader(lambda *parts: parts, get_args(kind), converter)
    read = converter.get_structure_hook(inner)

    def read_all(value: Any, _: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise ValueError("not a list")
        return tuple([read(each, inner) for each in value]) if value else ()

    return read_all


def _row_reader(made: Callable[..., Any], kinds: tuple[Any, ...], converter: Converter) -> _Read:
    reads = [converter.get_structure_hook(kind) for kind in kinds]

    def read_row(value: Any, _: Any) -> Any:
        if type(value) is not list or len(value) != len(reads):
            raise ValueError(f"not a list of {len(reads)}")
        return made(*map(call, reads, value, kinds))

    return read_row


# -- plain values


def _choice_reader(kind: Any, _: Converter) -> _Read:
    choices = get_args(kind)

    def read_choice(value: Any, _: Any) -> Any:
        if value not in choices:
            raise ValueError(f"not one of {choices}")
        return value

    return read_choice


def _read_text(value: Any, _: Any) -> str:
    if type(value) is not str:
        raise ValueError("not a text")
    value.encode()
    return value


def _write_text(parameter: str, value: str | tuple[str, ...] | None) -> Any:
    try:
        if isinstance(value, str):
            value.encode()
        elif value:
            "".join(value).encode()
    except UnicodeEncodeError as error:
        # it holds half a surrogate pair
        raise InvalidParams(f"{parameter} is not valid Unicode", field=parameter) from error
    return value


def _read_number(value: Any, _: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("not a number")
    return value


def _read_boolean(value: Any, _: Any) -> bool:
    if type(value) is not bool:
        raise ValueError("not true or false")
    return value


def _read_path(value: Any, _: Any) -> RelPath:
    if type(value) is not str:
        raise ValueError("not a path")
    return value.encode("utf-8", "surrogateescape")


def _write_path(path: RelPath) -> str:
    # a byte that is not UTF-8 becomes a lone surrogate
    return path.decode("utf-8", "surrogateescape")


def _read_object_id(value: Any) -> ObjectId:
    oid = bytes.fromhex(value) if type(value) is str else b""
    if len(oid) != 20 or oid.hex() != value:
        raise ValueError("not an object id")
    return oid


def _read_snapshot(value: Any, _: Any) -> SnapshotId:
    if type(value) is not list or len(value) != 2:
        raise ValueError("not a snapshot")
    return SnapshotId(_read_object_id(value[0]), _read_object_id(value[1]))


def read_file(value: Any, _: Any = None) -> Entry | None:
    """Reads the result of `write_file`; raises `ValueError` for anything else."""
    if value is None:
        return None
    mode, _, oid = value.partition(" ") if type(value) is str else ("", "", "")
    if mode not in _MODES:
        raise ValueError("not the mode of a file")
    return Entry(_MODES[mode], _read_object_id(oid))


def write_file(file: Entry | None) -> str | None:
    """Returns the text form of a file: its mode and its blob; None for no file."""
    return None if file is None else f"{file.mode:o} {file.oid.hex()}"
