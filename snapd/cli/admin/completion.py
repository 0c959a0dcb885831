"""`snapd completion`, and `snapd complete`, which its scripts call."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from snapd.cli.completing.scripts import SCRIPTS
from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.parser import build_parser

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def completion(options: argparse.Namespace) -> int:
    """Prints the completion script of a shell."""
    if options.shell in SCRIPTS:
        print(SCRIPTS[options.shell], end="")
    else:
        import shtab

        print(shtab.complete(build_parser(), shell=options.shell))
    return DONE


def complete(options: argparse.Namespace) -> int:
    """Prints what the command line may go on with, one on a line; nothing after any trouble: the user has not asked.

    A candidate that is a whole word ends with a blank. For zsh and fish, a tab and a description follow.
    """
    with suppress(Exception):
        sys.stdout.write("".join(_lines(options.shell, options.words)))
    return DONE


def _lines(shell: str, words: list[str]) -> Iterator[str]:
    from snapd.cli.completing.candidates import candidates

    parser = build_parser()
    if shell == "bash":
        from snapd.cli.completing.bash_line import Line

        breaks, text = words
        line = Line(text, breaks)
        return (f"{line.reply(candidate)}\n" for candidate, _ in candidates(parser, line.words[1:]))
    return (f"{candidate}\t{description}\n" for candidate, description in candidates(parser, words))
