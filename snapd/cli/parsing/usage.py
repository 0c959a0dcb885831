"""A parser whose errors say what to do next, and the options that several commands share."""

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
FOLDER = "where to begin (default: here): the folder around it that has a history, or is the root of a git work tree"


class WrongUsage(SnapdError):
    """The words of the command line do not fit together; `data["usage"]` shows how they would."""

    kind: ClassVar[str] = "wrongUsage"
    default_hint: ClassVar[str] = "'snapd help' lists the commands"

    def __init__(self, message: str, hint: str, parser: argparse.ArgumentParser) -> None:
        super().__init__(message, hint=hint, usage=parser.format_usage().removeprefix("usage: ").strip())
        self.command = parser.prog

    def in_full(self) -> str:
        """What people read of it."""
        return f"usage: {self.data['usage']}\n{self.command}: error: {self.message}\nhint: {self.hint}"


class Parser(argparse.ArgumentParser):
    """Raises wrong usage as an error with a hint; suggests what the user may have meant.

    Attributes:
        groups: where it has commands, their names in the groups in which the help lists them.
    """

    groups: Mapping[str, Sequence[str]] | None = None

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The options that the words say; raises `WrongUsage`, by the command that it is about."""
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
        """Raises `WrongUsage` for a word that is none of its choices; suggests one that is like it.

        Args:
            what: the name of the argument.
            given: the word.
            choices: what it may be.
        """
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
        """The help, with the commands in their groups."""
        if self.groups is None:
            return super().format_help()
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        commands = _subparsers(self)
        lines = {line.dest: line for line in commands._choices_actions} if commands is not None else {}
        options = [action for action in self._actions if action is not commands]
        for title, names in self.groups.items():
            _add_section(formatter, title, [lines[name] for name in names if name in lines])
        _add_section(formatter, "options", options)
        formatter.add_text(self.epilog)
        return formatter.format_help()


def subcommands(parser: argparse.ArgumentParser) -> dict[str, Parser]:
    """The parsers of a command's own commands that the help lists, by their names; empty if it has none."""
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
    """Whether the words of a command ask for JSON, which has to be known before they are understood."""
    own = words[: words.index("--")] if "--" in words else words
    return "--json" in own


def common(*, alone: bool = True, asks: bool = True) -> argparse.ArgumentParser:
    """The options of every command that works on a folder.

    Args:
        alone: whether the command can do without the daemon.
        asks: whether the command sends requests; otherwise it reads the stores itself.
    """
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("-C", dest="directory", metavar="DIR", default=argparse.SUPPRESS, help=FOLDER)
    shared.add_argument(
        "--here", action="store_true", help="use this very folder, not the one around it that has snapshots of it"
    )
    if asks:
        shared.add_argument("--socket", metavar="PATH", help="the daemon's socket (default: the user's own)")
    if alone and asks:
        shared.add_argument("--no-daemon", action="store_true", help="do the work in this process")
    if alone:
        shared.add_argument("--json", action="store_true", help="print the answer as JSON")
    shared.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="when to use colour (default: on a terminal)",
    )
    return shared


def looking() -> argparse.ArgumentParser:
    """The options of the commands that show something, which may be long."""
    shared = common()
    shared.add_argument("--no-pager", action="store_true", help="do not show the output in a pager")
    return shared


def changing(conflicts: str) -> argparse.ArgumentParser:
    """The options of the commands that change the folder.

    Args:
        conflicts: the help of `--on-conflict`.
    """
    shared = common()
    shared.add_argument("-n", "--dry-run", action="store_true", help="only show what would be done")
    shared.add_argument("-y", "--yes", action="store_true", help="do not ask")
    shared.add_argument(
        "--expect", metavar="PLAN", help="do not ask, but do only just this: the `plan` that --dry-run --json printed"
    )
    shared.add_argument("--on-conflict", choices=("overwrite", "merge", "fail", "keep"), help=conflicts)
    shared.add_argument(
        "--all-files", action="store_true", help="show all files of the plan, even if they do not fit on the screen"
    )
    return shared
