"""Makes the JSON schema of what the commands print, from the classes of their answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from snapd.wire.generate.json_schema import object_schema, type_schema

from .answers import ANSWERS, Failure

if TYPE_CHECKING:
    from snapd.wire.generate.classes import WireClass

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
    def refer(cls: WireClass) -> dict[str, Any]:
        name = cls.__name__
        if name not in definitions:
            # there before its fields are, which may be of the same class
            definitions[name] = {}
            definitions[name] = object_schema(cls, refer)
        return {"$ref": f"#/$defs/{name}"}

    return type_schema(annotation, refer)
