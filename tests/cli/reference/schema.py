"""Checks a JSON value against a schema: as much of JSON Schema as `docs/cli.schema.json` uses, and more strictly.

Newer versions may add properties; this version must have described all that it has.
"""

from __future__ import annotations

import re
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_KNOWN = {
    *("$schema", "$defs", "$ref", "title", "description", "type", "enum", "anyOf"),
    *("pattern", "minimum", "items", "properties", "required"),
}


def problems(value: Any, schema: dict[str, Any], root: dict[str, Any], more: bool = False) -> list[str]:
    """What is wrong with a value, each with where it is; empty where nothing is.

    Args:
        value: of JSON.
        schema: what it is to be.
        root: the document with the definitions.
        more: whether an object may have properties that are not described.
    """
    assert set(schema) <= _KNOWN, f"this check does not know {set(schema) - _KNOWN}"
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        return problems(value, schema, root, more)
    if "anyOf" in schema:
        found = [problems(value, each, root, more) for each in schema["anyOf"]]
        return [] if [] in found else min(found, key=len)
    if "enum" in schema:
        return [] if value in schema["enum"] else [f": {value!r} is none of {schema['enum']}"]
    types = _TYPES[schema["type"]]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        return [f": expected {schema['type']}, got {value!r}"]
    if isinstance(value, dict):
        return _in_object(value, schema, root, more)
    if isinstance(value, list):
        return [
            f"[{at}]{text}" for at, item in enumerate(value) for text in problems(item, schema["items"], root, more)
        ]
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return [f": {value!r} does not match {schema['pattern']}"]
    return [f": {value} is too small"] if "minimum" in schema and value < schema["minimum"] else []


def _in_object(value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], more: bool) -> list[str]:
    found = [f": {name} is missing" for name in schema["required"] if name not in value]
    for name, item in value.items():
        if name in schema["properties"]:
            found += [f".{name}{text}" for text in problems(item, schema["properties"][name], root, more)]
        elif not more:
            found.append(f": {name} is not described")
    return found
