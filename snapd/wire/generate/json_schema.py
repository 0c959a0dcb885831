"""JSON schemas of classes that are defined like those of the wire."""

from __future__ import annotations

import inspect
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import attrs

from snapd.wire.converter import wire_name
from snapd.wire.values import AtLeast, Hexadecimal, fields_of

from .classes import WireClass, is_optional, one_line, type_of, without_links

if TYPE_CHECKING:
    from collections.abc import Callable

_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}


def object_schema(cls: WireClass, refer: Callable[[WireClass], dict[str, Any]]) -> dict[str, Any]:
    """Returns the schema of a class, with its docstring and the annotations of its fields as descriptions.

    `refer` returns the schema for a field of another class: a reference, or that class's own.
    """
    fields = fields_of(cls)
    return {
        "type": "object",
        "description": without_links(one_line(inspect.cleandoc(cls.__doc__ or ""))),
        "properties": {
            wire_name(field.name): {
                **type_schema(type_of(field), refer),
                "description": without_links(field.metadata["doc"]),
            }
            for field in fields
        },
        "required": [wire_name(field.name) for field in fields if not is_optional(field)],
    }


def type_schema(annotation: Any, refer: Callable[[WireClass], dict[str, Any]]) -> dict[str, Any]:
    """Returns the schema of the type of a field; `refer` is that of `object_schema`."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        base, *marks = arguments
        return type_schema(base, refer) | {key: value for mark in marks for key, value in _limits(mark).items()}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": type_schema(arguments[0], refer)}
    if origin is dict:
        return {"type": "object", "additionalProperties": type_schema(arguments[1], refer)}
    if origin in (Union, UnionType):
        return {"anyOf": [type_schema(part, refer) for part in arguments]}
    if attrs.has(annotation):
        return refer(annotation)
    return {"type": _PLAIN[annotation]}


def _limits(mark: Any) -> dict[str, Any]:
    if isinstance(mark, Hexadecimal):
        return {"pattern": f"^[0-9a-f]{{{mark.count()}}}$"}
    return {"minimum": mark.minimum} if isinstance(mark, AtLeast) else {}
