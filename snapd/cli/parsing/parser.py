"""The parser of the command line. A command's module is imported when its parser is requested."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from snapd._version import __version__
from snapd.model.errors import SnapdError, did_you_mean

from .command import COMMANDS, FAMILIES, FOLDER
from .index import INDEX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .command import Command

_CHOICE = re.compile(
    r"argument (?P<what>[^:]+): invalid choice: '(?P<given>.*)' \(choose from (?P<choices>.*)\)", re.DOTALL
)


class WrongUsage(SnapdError):
    """The words of the command line do not fit together; `data["usage"]` has the correct usage."""

    kind: ClassVar[str] = "wrongUsage"
    default_hint: ClassVar[str] = "'snapd help' lists the commands"

    def __init__(self, message: str, hint: str, parser: argparse.ArgumentParser) -> None:
        super().__init__(message, hint=hint, usage=parser.format_usage().removeprefix("usage: ").strip())
        self.command = parser.prog

    def in_full(self) -> str:
        """Returns the message for people."""
        return f"usage: {self.data['usage']}\n{self.command}: error: {self.message}\nhint: {self.hint}"


class Parser(argparse.ArgumentParser):
    """Raises wrong usage as an error with a hint; suggests similar words. Its help lists the commands in `groups`."""

    groups: Mapping[str, Sequence[str]] | None = None

    def argument(self, name: str, metavar: str, help: str, **more: Any) -> None:  # noqa: A002 - argparse's name
        """Adds an argument, or an option with a value."""
        self.add_argument(name, metavar=metavar, help=help, **more)

    def flag(self, *names: str, help: str) -> None:  # noqa: A002 - argparse's name
        """Adds an option without a value."""
        self.add_argument(*names, action="store_true", help=help)

    def repeated(self, name: str, metavar: str, dest: str, help: str) -> None:  # noqa: A002 - argparse's name
        """Adds an option that may be given several times."""
        self.add_argument(name, action="append", metavar=metavar, dest=dest, help=f"{help} (repeatable)")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Returns the parsed options; raises `WrongUsage` with the command that it is about."""
        options, rest = self.parse_known_args(args, namespace)
        if rest:
            _command_of(self, options)._refuse_more(rest[0])
        return options

    def error(self, message: str) -> NoReturn:
        """Raises `WrongUsage`."""
        wrong = _CHOICE.fullmatch(message)
        if wrong is not None:
            self.refuse(wrong["what"], wrong["given"], re.findall(r"'([^']*)'", wrong["choices"]))
        raise WrongUsage(message, self._more, self)

    def refuse(self, what: str, given: str, choices: Sequence[str]) -> NoReturn:
        """Raises `WrongUsage` for a word that is none of its choices; suggests a similar one."""
        raise WrongUsage(f"{what}: there is no {given!r}", did_you_mean(given, choices) + self._more, self)

    def _refuse_more(self, word: str) -> NoReturn:
        if not word.startswith("-"):
            raise WrongUsage(f"{word!r} is one argument too many", self._more, self)
        option = word.partition("=")[0]
        meant = did_you_mean(option, self._option_string_actions)
        raise WrongUsage(f"there is no option {option}", meant + self._more, self)

    @property
    def _more(self) -> str:
        return f"'{self.prog} --help' says more"

    def format_help(self) -> str:
        """Returns the help; if there are commands, only those for daily use."""
        return super().format_help() if self.groups is None else self._help(everything=False)

    def full_help(self) -> str:
        """Returns the help with all commands, in their groups."""
        return self._help(everything=True)

    def _help(self, *, everything: bool) -> str:
        assert self.groups is not None
        formatter = self._get_formatter()
        formatter.add_usage("snapd [-C DIR] COMMAND ...", (), ())
        formatter.add_text(self.description)
        commands = _subparsers(self)
        assert commands is not None
        lines = {line.dest: line for line in commands._choices_actions}
        for title, names in self.groups.items():
            _add_section(formatter, title, [lines[name] for name in names])
            if not everything:
                _add_section(formatter, "to begin", [lines["agent"], lines["run"]])
                break
        if everything:
            _add_section(formatter, "options", [action for action in self._actions if action is not commands])
            formatter.add_text(self.epilog)
        formatter.add_text(
            "'snapd help COMMAND' explains a command"
            + ("" if everything else ", and 'snapd help --all' lists all of them")
        )
        return formatter.format_help()


def subcommands(parser: argparse.ArgumentParser) -> dict[str, Parser]:
    """Returns the parsers of a command's own commands that the help lists, by name; empty if it has none."""
    found = _subparsers(parser)
    return {} if found is None else {line.dest: found.choices[line.dest] for line in found._choices_actions}


def _subparsers(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[Parser] | None:
    return next((action for action in parser._actions if isinstance(action, argparse._SubParsersAction)), None)


def _command_of(parser: Parser, options: argparse.Namespace) -> Parser:
    commands = _subparsers(parser)
    name = None if commands is None else getattr(options, commands.dest)
    return parser if commands is None or name is None else _command_of(commands.choices[name], options)


def _add_section(formatter: argparse.HelpFormatter, title: str, actions: Sequence[argparse.Action]) -> None:
    formatter.start_section(title)
    formatter.add_arguments(actions)
    formatter.end_section()


def wants_json(words: Sequence[str]) -> bool:
    """Whether the words of a command ask for JSON, which must be known before they are parsed."""
    own = words[: words.index("--")] if "--" in words else words
    return "--json" in own


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
    parser = Parser(
        prog=f"snapd {command.words}", description=command.about, usage=command.usage, add_help=bool(command.group)
    )
    command.arguments(parser)
    parser.set_defaults(definition=command)
    return parser
