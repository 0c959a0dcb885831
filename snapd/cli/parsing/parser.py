"""The parser of the command line. A command's module is imported when its parser is requested."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from snapd._version import __version__

from .command import COMMANDS, FAMILIES, FOLDER
from .index import INDEX
from .usage import Parser

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from .command import Command

DAILY = "every day"
GROUPS = (
    DAILY,
    "look closer",
    "choose what stays",
    "try and commit",
    "connect agents",
    "other machines",
    "space and secrets",
    "snapd itself",
)
"""The titles of the groups of commands in the help."""
_EVERY_DAY = ("log", "show", "undo", "redo", "review", "status")
_DESCRIPTION = "Shows what AI agents changed in a folder, and undoes it."
_EPILOG = (
    "exit codes: 0 done; 1 failed, nothing changed; 2 wrong usage or settings; 3 done, but not for every file; "
    "4 cannot reach the daemon; 130 interrupted; 141 the reader of the output is gone. "
    "The code says what was done even if the output could not be written"
)


def grouped() -> dict[str, list[str]]:
    """Returns the commands of each group, in the order in which they are listed."""
    return {
        title: [*_EVERY_DAY] if title == DAILY else sorted(name for name in INDEX if INDEX[name].group == title)
        for title in GROUPS
    }


@cache
def build_parser() -> Parser:
    """Returns the parser of all commands. It is built once, since parsing does not change it."""
    parser = Parser(prog="snapd", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"snapd {__version__}")
    parser.add_argument("-C", dest="directory", metavar="DIR", default=".", help=FOLDER)
    base: argparse.ArgumentParser = parser
    commands = base.add_subparsers(dest="command", metavar="COMMAND")
    commands._choices_actions += [
        commands._ChoicesPseudoAction(name, (), entry.help) for name, entry in INDEX.items() if entry.group
    ]
    commands.choices = commands._name_parser_map = _Parsers()  # type: ignore[assignment] # it reads them by name alone
    parser.groups = grouped()
    return parser


class _Parsers(Mapping[str, Parser]):
    """The parsers of the commands, each created on first use."""

    def __init__(self) -> None:
        self._made: dict[str, Parser] = {}

    def __getitem__(self, name: str) -> Parser:
        if name not in INDEX:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = _make(name)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in INDEX

    def __iter__(self) -> Iterator[str]:
        return iter(INDEX)

    def __len__(self) -> int:
        return len(INDEX)


def _make(name: str) -> Parser:
    import_module(f"snapd.cli.commands.{INDEX[name].module}")
    if name not in FAMILIES:
        return _filled(COMMANDS[name])
    parser = Parser(prog=f"snapd {name}")
    base: argparse.ArgumentParser = parser
    actions = base.add_subparsers(dest="action", metavar="ACTION", required=True)
    for words, command in COMMANDS.items():
        first, _, action = words.partition(" ")
        if first == name:
            actions._choices_actions.append(actions._ChoicesPseudoAction(action, (), command.help))
            actions._name_parser_map[action] = _filled(command)
    return parser


def _filled(command: Command) -> Parser:
    description = command.about or f"{command.help[:1].upper()}{command.help[1:]}."
    parser = Parser(
        prog=f"snapd {command.words}", description=description, usage=command.usage, add_help=bool(command.group)
    )
    command.arguments(parser)
    parser.set_defaults(definition=command)
    return parser
