"""Asks the person at the terminal."""

from __future__ import annotations

import sys

from snapd.core.errors import InvalidParams

from .streams import can_be_asked


def confirmed(question: str) -> bool:
    """Whether somebody says yes; standard output is for what was done.

    Args:
        question: one line.

    Raises:
        InvalidParams: it cannot be asked.
    """
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    check_asked()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def check_asked() -> None:
    """Makes sure that what was printed to standard error got there; raises `InvalidParams`."""
    if not can_be_asked():
        raise InvalidParams(
            "cannot ask: standard error cannot be written to", hint="confirm with --yes instead", field="--yes"
        )
