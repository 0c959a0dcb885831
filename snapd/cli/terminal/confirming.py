"""Asks the person at the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import FAILED
from snapd.core.errors import InvalidParams

from .output import print_json
from .streams import can_be_asked

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable


def confirmed(
    question: str, would: str, hint: str, lines: Iterable[str] = (), show: Callable[[], None] | None = None
) -> bool:
    """Whether somebody says yes; standard output is for what was done.

    Args:
        question: one line.
        would: what they are asked about, for the error where nobody can be asked.
        hint: of that error.
        lines: what they should know first.
        show: shows more for the answer "d", after which the question is asked again; None where there is no more.

    Raises:
        InvalidParams: it cannot be asked.
    """
    if not sys.stdin.isatty():
        raise InvalidParams(f"{would}, and standard input is no terminal to ask on", hint=hint, field="--yes")
    for line in lines:
        print(line, file=sys.stderr)
    while True:
        print(f"{question} [{'y/N' if show is None else 'y/N/d'}] ", end="", file=sys.stderr, flush=True)
        check_asked()
        answer = sys.stdin.readline().strip().lower()
        if show is None or answer not in ("d", "diff"):
            return answer in ("y", "yes")
        show()


def declined(options: argparse.Namespace) -> int:
    """Says that nothing was done since the person said no; gives the exit code.

    Args:
        options: of the command; `json` is read.
    """
    if options.json:
        message, hint = "nothing was changed: the answer was no", "run the command again to be asked again"
        print_json({"error": {"kind": "declined", "message": message, "hint": hint}})
    else:
        print("snapd: nothing was changed", file=sys.stderr)
    return FAILED


def check_asked() -> None:
    """Makes sure that what was printed to standard error got there; raises `InvalidParams`."""
    if not can_be_asked():
        raise InvalidParams(
            "cannot ask: standard error cannot be written to", hint="confirm with --yes instead", field="--yes"
        )
