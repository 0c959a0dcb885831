"""The parsers of the commands that take snapshots out of the store, to be used elsewhere."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .shared_options import common

if TYPE_CHECKING:
    from collections.abc import Sequence

_BISECT = (
    "Finds the step of a session that broke a command, such as a test. The command runs on snapshots before, between "
    "and after the steps, in a temporary folder outside of the project ($TMPDIR), which is removed in the end; the "
    "project is not touched. The command's exit code says what it found, as for 'git bisect run': 0 is good, 125 skips "
    "the snapshot, another one up to 127 is bad, and a higher one stops the search. Ignored files and .git are in no "
    "snapshot: if the command needs installed packages, have it install them, and --reuse keeps them. It gets no input "
    "and no terminal, its output goes to standard error, and what it leaves running is ended. Steps of other sessions "
    "that ran at the same time are tried by themselves; steps that were undone are not tried."
)


def add_export(commands: argparse._SubParsersAction[argparse.ArgumentParser], snapshot: str) -> None:
    """Adds them; `snapshot` is the help of an argument that names a snapshot."""
    export = commands.add_parser(
        "export", parents=[common()], help="write the files of a snapshot to another folder, as plain files"
    )
    export.add_argument("hash", metavar="SNAPSHOT", help=snapshot)
    export.add_argument("to", metavar="DIR", help="a folder outside of the project that is empty or does not exist")
    bisect = commands.add_parser(
        "bisect",
        parents=[common()],
        help="find the step that broke a command",
        description=_BISECT,
        usage="snapd bisect [options] [SESSION] -- COMMAND ...",
    )
    bisect.set_defaults(session=None)
    bisect.add_argument(
        "--reuse",
        action="store_true",
        help="keep files that the command makes, such as build results, from run to run; files that a snapshot has "
        "are put right all the same",
    )
    bisect.add_argument(
        "words",
        metavar="[SESSION] -- COMMAND",
        nargs=argparse.REMAINDER,
        action=_Split,
        help="the session: its name or the beginning of it (default: the one with the latest change); the command and "
        "its arguments",
    )


class _Split(argparse.Action):
    """Takes the session, and the options behind it, from in front of the `--`."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002 - argparse's
    ) -> None:
        words = [str(value) for value in values or ()]
        at = words.index("--") if "--" in words else len(words)
        own = words[:at]
        if own and namespace.session is not None:
            parser.error(f"{own[0]!r} is one argument too many before the --")
        if own:
            namespace.session = own[0]
        if own[1:]:
            parser.parse_args([*own[1:], *words[at:]], namespace)
        else:
            namespace.words = words[at + 1 :]
