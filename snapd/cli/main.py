"""Entry point: parses, runs a command, and turns errors into one line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from snapd.cli.parsing.parser import COMMANDS, HIDDEN, SHOWING, build_parser
from snapd.cli.requests.connection import NoDaemon
from snapd.cli.terminal.output import print_error
from snapd.cli.terminal.streams import take_over
from snapd.core.errors import Cancelled, SnapdError

from .exit_codes import CANNOT_REACH, FAILED, INTERRUPTED, NOBODY_READS, USAGE

if TYPE_CHECKING:
    from snapd.cli.terminal.streams import Output


def main(arguments: list[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: without the program's name; default: those of the process.

    Returns:
        The exit code; see `exit_codes`.
    """
    output = take_over()
    # help and completion are for showing too
    output.stops = True
    try:
        code = _run(arguments, output)
        sys.stdout.flush()
    except OSError as error:
        if error is not output.lost:
            print_error(error)
            return FAILED
        code = FAILED
    if output.lost is None:
        return code
    return _without_output(code, output.lost, stopped=output.stops)


def _without_output(code: int, lost: OSError, *, stopped: bool) -> int:
    """The exit code where standard output could not be written to.

    Args:
        code: what was done.
        lost: why.
        stopped: whether the command was about nothing but its output.
    """
    if lost.errno == errno.EPIPE:
        # the reader has seen enough
        return NOBODY_READS if stopped else code
    print(f"snapd: standard output: {os.strerror(lost.errno or 0)}", file=sys.stderr)
    return FAILED if stopped else code


def _run(arguments: list[str] | None, output: Output) -> int:
    """Runs one command; raises `OSError` where the system failed it, or its output."""
    parser = build_parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit as ending:
        # help, the version, or wrong usage, all of which was told
        return ending.code if isinstance(ending.code, int) else USAGE
    if options.command is None:
        parser.print_help(sys.stderr)
        return USAGE
    output.stops = options.command in SHOWING
    module, function = (COMMANDS | HIDDEN)[options.command]
    try:
        code: int = getattr(import_module(f"snapd.cli.{module}"), function)(options)
    except (KeyboardInterrupt, Cancelled):
        return INTERRUPTED
    except SnapdError as error:
        print_error(error)
        if error.kind == "invalidParams":
            return USAGE
        unreachable = isinstance(error, NoDaemon) or error.data.get("errno") in ("ECONNREFUSED", "EPIPE")
        return CANNOT_REACH if unreachable else FAILED
    return code
