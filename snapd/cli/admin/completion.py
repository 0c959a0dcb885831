"""`snapd completion`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import shtab

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.parser import build_parser

if TYPE_CHECKING:
    import argparse


def completion(options: argparse.Namespace) -> int:
    """Prints the completion script of a shell."""
    print(shtab.complete(build_parser(), shell=options.shell))
    return DONE
