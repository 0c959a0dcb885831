"""The declaration of a command in `snapd/cli/commands`, and what several commands share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Annotated

    from .usage import Parser

FOLDER = "where to begin (default: here): the folder around it that has a history, or is the root of a git work tree"
SNAPSHOT = (
    "a snapshot: its hash or the beginning of it (6 digits or more), 'last', STEP (before that step), STEP+ (after "
    "it), or @2h (as of two hours ago), @14:30, @2026-11-20, @2026-11-20T14:30; what may be a step or a hash is the "
    "step; 'snapd snapshots' lists them"
)
STEP = "a step: its id, the beginning of its id, or 'last'; 'snapd log' shows them"
SESSION = "a session: its id or the beginning of its id; 'snapd sessions' lists them"
REMOTE = "a git repository: a URL, host:path, a folder, or the name of a remote of the project's git"


class Command:
    """A command; as a decorator, it registers the function that does the work and returns the exit code.

    The first line of the function's docstring is the help in the list of commands; the rest (`about`) is for the
    command's own help. An empty group is for a command that only programs call.

    Args:
        words: what is typed, such as `step begin`.
        group: its title in the help.
        arguments: adds its arguments and options to its parser.
        usage: its usage, where argparse cannot write it.
        answer: the type of what it prints with `--json`, as an annotation; names are those of `snapd.wire` and of
            classes derived from `Answer`. Empty if it has no `--json`.
        without_json: why it has none.
        example: what to type, without `snapd`; `{first}` is a snapshot of the example project, `{step}` a step.
        plays: whether `make generate` runs the example and shows its output.
        shows: whether output is its only purpose: it stops when nobody reads that any more.
    """

    def __init__(
        self,
        words: str,
        group: str,
        arguments: Callable[[Parser], object],
        *,
        usage: str | None = None,
        answer: str = "",
        without_json: str = "",
        example: str = "",
        plays: bool = True,
        shows: bool = False,
    ) -> None:
        self.words = words
        self.group = group
        self.arguments = arguments
        self.usage = usage
        self.answer = answer
        self.without_json = without_json
        self.example = example
        self.plays = plays
        self.shows = shows

    def __call__(self, run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
        """Registers the command."""
        first, _, rest = (run.__doc__ or "").partition("\n")
        self.run = run
        self.help = first[:1].lower() + first[1:].removesuffix(".")
        self.about = " ".join(rest.split()) or None
        COMMANDS[self.words] = self
        return run


class Entry(NamedTuple):
    """A command, or a family of them, in the index: its module in `snapd/cli/commands`, its group and its help."""

    module: str
    group: str
    help: str


COMMANDS: dict[str, Command] = {}
"""The commands of the imported modules, by their words; `index.INDEX` names the modules of all."""
FAMILIES: dict[str, tuple[str, str]] = {}
"""The group and the help of each first word that several commands share."""


def family(name: str, group: str, help: str) -> None:  # noqa: A002 - argparse's name
    """Registers the first word of two-word commands."""
    FAMILIES[name] = (group, help)


class Answer:
    """Describes what a command prints with `--json`: a field for each key, whose annotation documents it.

    It is never instantiated, and only `make generate` resolves the annotations, so that commands start fast. A class
    argument `base` names a class of `snapd.wire` whose fields it has as well.
    """

    base = ""

    def __init_subclass__(cls, base: str = "") -> None:
        cls.base = base


class Error(Answer):
    """What is wrong, as `error` tells it."""

    kind: Annotated[
        str,
        "A stable name: one of the error kinds of docs/protocol.md, or `wrongUsage` (the words of the command do not "
        "fit together), or `declined` (the person said no), or of `stage`: `noGitRepository`, `gitOperationUnderWay`, "
        "`indexLocked`, `indexChanged`, `gitFailed`, `stagingConflict` (with `files`, each with its `reason`).",
    ]
    message: Annotated[str, "What is wrong, for people."]
    hint: Annotated[str, "What to do next, for people."]


class Failure(Answer):
    """What any command prints in place of its answer when it fails. The exit code says what kind of failure it is.

    A kind may add fields to `error`, as docs/protocol.md says.
    """

    error: Annotated[Error, "What is wrong."]


# -- arguments that several commands have


def positive(text: str) -> int:
    """Parses a number from 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("expected a number, at least 1")
    return number


def common(parser: Parser, *, alone: bool = True, asks: bool = True) -> None:
    """Adds the options of commands that work on a folder: `alone` without the daemon, `asks` with requests."""
    parser.add_argument("-C", dest="directory", metavar="DIR", default=argparse.SUPPRESS, help=FOLDER)
    parser.flag("--here", help="use this very folder, not the one around it that has snapshots of it")
    if asks:
        socket_option(parser)
    if alone and asks:
        parser.flag("--no-daemon", help="do the work in this process")
    if alone:
        parser.flag("--json", help="print the answer as JSON")
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="when to use colour (default: on a terminal)",
    )


def socket_option(parser: Parser) -> None:
    """Adds the option for the daemon's socket."""
    parser.add_argument("--socket", metavar="PATH", help="the daemon's socket (default: the user's own)")


def looking(parser: Parser) -> None:
    """Adds the options of commands that show output that may be long."""
    common(parser)
    parser.flag("--no-pager", help="do not show the output in a pager")


def changing(parser: Parser, conflicts: str) -> None:
    """Adds the options of the commands that change the folder; `conflicts` is the help of `--on-conflict`."""
    common(parser)
    parser.flag("-n", "--dry-run", help="only show what would be done")
    parser.flag("-y", "--yes", help="do not ask")
    parser.add_argument(
        "--expect", metavar="PLAN", help="do not ask; do exactly this `plan`, which --dry-run --json printed, or fail"
    )
    parser.add_argument("--on-conflict", choices=("overwrite", "merge", "fail", "keep"), help=conflicts)
    parser.flag("--all-files", help="show all files of the plan, even if they do not fit on the screen")
