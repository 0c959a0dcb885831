"""The tables that the commands make up: the index, and the JSON schema of what they print with `--json`."""

from __future__ import annotations

import json
import pkgutil
import typing
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import attrs

from snapd import wire
from snapd.cli import commands
from snapd.cli.parsing.command import COMMANDS, FAMILIES, Answer, Failure
from snapd.wire.generate.classes import BANNER
from snapd.wire.generate.json_schema import object_schema, type_schema
from snapd.wire.values import ALIASES

if TYPE_CHECKING:
    from snapd.cli.parsing.command import Command
    from snapd.wire.generate.classes import WireClass

_INTRODUCTION = (
    "Each command prints one document. `#/$defs/NAME` describes it, where NAME is the words of the command, joined by "
    "'-' (`step-begin`). In place of it, a command that fails prints `#/$defs/Failure`; its exit code is not 0. Newer "
    "versions of snapd may add fields."
)
_INDEX = f'''"""The commands: {BANNER}."""

from __future__ import annotations

from .command import Entry

INDEX = {{'''
_WIDTH = 120


def load_all() -> dict[str, Command]:
    """Imports all commands; returns them sorted by their words."""
    for module in pkgutil.iter_modules(commands.__path__):
        import_module(f"{commands.__name__}.{module.name}")
    return dict(sorted(COMMANDS.items()))


def index() -> str:
    """Returns the text of `snapd/cli/parsing/index.py`."""
    every = load_all()
    modules = {words.split()[0]: command.run.__module__.rpartition(".")[2] for words, command in every.items()}
    rows = FAMILIES | {words: (command.group, command.help) for words, command in every.items() if " " not in words}
    lines = []
    for name, row in sorted(rows.items()):
        values = [*map(json.dumps, (modules[name], *row))]
        # as the formatter breaks lines that are too long
        joined = ", ".join(values)
        each_alone = "".join(f"        {value},\n" for value in values)
        ways = (joined, f"\n        {joined}\n    ", f"\n{each_alone}    ")
        entries = [f'    "{name}": Entry({way}),' for way in ways]
        lines.append(next((each for each in entries if max(map(len, each.split("\n"))) <= _WIDTH), entries[-1]))
    return "\n".join([_INDEX, *lines, "}\n"])


def schema() -> dict[str, Any]:
    """Returns the schema, as JSON values."""
    names = _names()
    definitions: dict[str, Any] = {}
    answers = {
        name_of(words): _type(_resolved(command.answer, names), definitions)
        for words, command in load_all().items()
        if command.answer
    }
    _type(names[Failure.__name__], definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the commands of snapd print with --json",
        "description": _INTRODUCTION,
        "$defs": {**answers, **dict(sorted(definitions.items()))},
    }


def text() -> str:
    """Returns the schema as the text of a file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def name_of(words: str) -> str:
    """Returns the name of a command's answer in the schema."""
    return words.replace(" ", "-")


def _names() -> dict[str, Any]:
    """Returns the classes that annotations of answers may name: those of the wire, and those of the commands."""
    load_all()
    names: dict[str, Any] = {"Annotated": Annotated, "Literal": typing.Literal}
    for module in pkgutil.iter_modules(wire.__path__):
        names |= {
            name: value
            for name, value in vars(import_module(f"{wire.__name__}.{module.name}")).items()
            if attrs.has(value) or name in ALIASES
        }
    # in the order of definition, so that a class comes after those that it names
    for cls in Answer.__subclasses__():
        fields = {name: _resolved(annotation, names) for name, annotation in cls.__annotations__.items()}
        defaults = {name: None for name in fields if name in vars(cls)}
        members = {"__doc__": cls.__doc__, "__annotations__": fields, **defaults}
        base = (names[cls.base],) if cls.base else ()
        names[cls.__name__] = attrs.frozen(kw_only=True)(type(cls.__name__, base, members))
    return names


def _resolved(annotation: str, names: dict[str, Any]) -> Any:
    return eval(annotation, {}, names)  # noqa: S307 - of this repository


def _type(annotation: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    def refer(cls: WireClass) -> dict[str, Any]:
        name = cls.__name__
        if name not in definitions:
            # first, because its fields may be of the same class
            definitions[name] = {}
            definitions[name] = object_schema(cls, refer)
        return {"$ref": f"#/$defs/{name}"}

    return type_schema(annotation, refer)
