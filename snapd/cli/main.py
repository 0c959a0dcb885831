"""Entry point: parses, runs a command, and turns errors into an exit code, a line and a hint."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

from snapd.cli.parsing.parser import build_parser
from snapd.cli.parsing.usage import WrongUsage, wants_json
from snapd.cli.requests.connection import NoDaemon
from snapd.cli.terminal.errors import readable
from snapd.cli.terminal.output import print_error
from snapd.cli.terminal.streams import take_over
from snapd.model.errors import Cancelled, SnapdError

from .exit_codes import CANNOT_REACH, FAILED, INTERRUPTED, NOBODY_READS, USAGE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from snapd.cli.terminal.streams import Output


def main(arguments: list[str] | None = None) -> int:
    """Runs one command, by default with the arguments of the process. `arguments` come without the program's name."""
    output = take_over()
    # help and completion only show something, too
    output.stops = True
    words = sys.argv[1:] if arguments is None else arguments
    # needed for errors of parsing
    as_json = wants_json(words)
    try:
        options = _parse(words)
        if isinstance(options, int):
            code = options
        else:
            as_json = getattr(options, "json", False)
            output.stops = options.definition.shows
            code = options.definition.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _failed(Cancelled("interrupted"), output, as_json=as_json)
    except (SnapdError, OSError) as error:
        code = FAILED if error is output.lost else _failed(error, output, as_json=as_json)
    if output.lost is None:
        return code
    return _without_output(code, output.lost, stopped=output.stops)


def _parse(words: Sequence[str]) -> argparse.Namespace | int:
    """Returns the parsed options, or an exit code if the help or the version was printed."""
    parser = build_parser()
    try:
        options: argparse.Namespace = parser.parse_args(words)
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else USAGE
    if options.command is None:
        parser.print_help(sys.stderr)
        return USAGE
    return options


def _failed(error: Exception, output: Output, *, as_json: bool) -> int:
    """Prints an error; returns its exit code, even if the output fails."""
    output.stops = False
    if isinstance(error, WrongUsage) and not as_json:
        print(error.in_full(), file=sys.stderr)
    elif as_json or not isinstance(error, Cancelled):
        print_error(error, as_json=as_json)
    sys.stdout.flush()
    return _code(error)


def _code(error: Exception) -> int:
    if isinstance(error, Cancelled):
        return INTERRUPTED
    if not isinstance(error, SnapdError):
        return FAILED
    if error.kind in ("invalidParams", "wrongUsage"):
        return USAGE
    unreachable = isinstance(error, NoDaemon) or error.data.get("errno") in ("ECONNREFUSED", "EPIPE")
    return CANNOT_REACH if unreachable else FAILED


def _without_output(code: int, lost: OSError, *, stopped: bool) -> int:
    """Returns the exit code when standard output is lost: `code`, unless output was the command's only purpose."""
    if lost.errno == errno.EPIPE:
        # the reader closed the pipe, as `head` does
        return NOBODY_READS if stopped else code
    text, hint = os.strerror(lost.errno or 0), readable(lost).hint
    print(f"snapd: standard output: {text}\nhint: {hint}", file=sys.stderr)
    return FAILED if stopped else code
