"""`snapd help`: the commands in groups, or all about one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.parser import build_parser
from snapd.cli.parsing.usage import subcommands

if TYPE_CHECKING:
    import argparse


def show_help(options: argparse.Namespace) -> int:
    """Prints what `--help` prints for the same words."""
    parser = build_parser()
    for word in options.words:
        below = subcommands(parser)
        if word not in below:
            parser.refuse("COMMAND", word, list(below))
        parser = below[word]
    parser.print_help()
    return DONE
