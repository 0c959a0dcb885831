"""Entry point: parses, runs a command, and turns errors into one line and an exit code."""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module

from snapd.core.errors import Cancelled, SnapdError

from .asking import NoDaemon
from .exit_codes import CANNOT_REACH, FAILED, INTERRUPTED, USAGE
from .output import printable
from .parser import COMMANDS, build_parser


def main(arguments: list[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: without the program's name; default: those of the process.

    Returns:
        The exit code; see `exit_codes`.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # file names and diffs are UTF-8 whatever the locale says
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help(sys.stderr)
        return USAGE
    module, function = COMMANDS[options.command]
    try:
        run = getattr(import_module(f"snapd.cli.{module}"), function)
        code: int = run(options)
        sys.stdout.flush()
    except (KeyboardInterrupt, Cancelled):
        return INTERRUPTED
    except BrokenPipeError:
        # the reader has seen enough; nothing more may be written at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except SnapdError as error:
        print(f"snapd: {printable(error.message)}", file=sys.stderr)
        if error.kind == "invalidParams":
            return USAGE
        unreachable = isinstance(error, NoDaemon) or error.data.get("errno") in ("ECONNREFUSED", "EPIPE")
        return CANNOT_REACH if unreachable else FAILED
    except OSError as error:
        print(f"snapd: {printable(str(error))}", file=sys.stderr)
        return FAILED
    return code
