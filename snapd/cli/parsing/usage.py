"""A parser whose errors suggest what to do next, and whose help begins with what is used every day."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from snapd.model.errors import SnapdError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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

    @property
    def options(self) -> Mapping[str, argparse.Action]:
        """The action of each option, by its name with dashes."""
        return self._option_string_actions

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
        meant = did_you_mean(option, self.options)
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
    result = _subparsers(parser)
    return {} if result is None else {line.dest: result.choices[line.dest] for line in result._choices_actions}


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
