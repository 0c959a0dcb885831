"""Makes the JSON schema of what the commands print, from the classes of their answers."""

from __future__ import annotations

import inspect
import json
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import attrs

from snapd.wire.converter import wire_name
from snapd.wire.generate.classes import is_optional, one_line, type_of, without_links
from snapd.wire.values import AtLeast, Hexadecimal, fields_of

from .answers import ANSWERS, Failure

_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}
_ABOUT = (
    "Each command prints one document. `#/$defs/NAME` describes it, where NAME is the words of the command, joined by "
    "'-' (`step-begin`). In place of it, a command that fails prints `#/$defs/Failure`; its exit code is not 0. Newer "
    "versions of snapd may add fields."
)


def schema() -> dict[str, Any]:
    """The schema, as JSON values."""
    definitions: dict[str, Any] = {}
    commands = {name_of(words): _type(answer, definitions) for words, answer in ANSWERS.items()}
    _type(Failure, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the commands of snapd print with --json",
        "description": _ABOUT,
        "$defs": {**commands, **dict(sorted(definitions.items()))},
    }


def text() -> str:
    """The schema as a file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def name_of(words: str) -> str:
    """The name of a command's answer in the schema."""
    return words.replace(" ", "-")


def _type(annotation: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        base, *marks = arguments
        return _type(base, definitions) | {key: value for mark in marks for key, value in _limits(mark).items()}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _type(arguments[0], definitions)}
    if origin in (Union, UnionType):
        return {"anyOf": [_type(part, definitions) for part in arguments]}
    if attrs.has(annotation):
        return _class(annotation, definitions)
    return {"type": _PLAIN[annotation]}


def _limits(mark: Any) -> dict[str, Any]:
    if isinstance(mark, Hexadecimal):
        return {"pattern": f"^[0-9a-f]{{{mark.digits}}}$"}
    return {"minimum": mark.minimum} if isinstance(mark, AtLeast) else {}


def _class(cls: type[attrs.AttrsInstance], definitions: dict[str, Any]) -> dict[str, Any]:
    name = cls.__name__
    if name not in definitions:
        # there before its fields are, which may be of the same class
        definitions[name] = {}
        definitions[name] = _definition(cls, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _definition(cls: type[attrs.AttrsInstance], definitions: dict[str, Any]) -> dict[str, Any]:
    fields = fields_of(cls)
    return {
        "type": "object",
        "description": without_links(one_line(inspect.cleandoc(cls.__doc__ or ""))),
        "properties": {
            wire_name(field.name): {
                **_type(type_of(field), definitions),
                "description": without_links(field.metadata["doc"]),
            }
            for field in fields
        },
        "required": [wire_name(field.name) for field in fields if not is_optional(field)],
    }
