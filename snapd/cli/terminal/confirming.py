"""Asks the person at the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from snapd.core.errors import InvalidParams

from .streams import can_be_asked

if TYPE_CHECKING:
    from collections.abc import Callable


def confirmed(question: str, show: Callable[[], None] | None = None) -> bool:
    """Whether somebody says yes; standard output is for what was done.

    Args:
        question: one line.
        show: shows more for the answer "d", after which the question is asked again; None where there is no more.

    Raises:
        InvalidParams: it cannot be asked.
    """
    while True:
        print(f"{question} [{'y/N' if show is None else 'y/N/d'}] ", end="", file=sys.stderr, flush=True)
        check_asked()
        answer = sys.stdin.readline().strip().lower()
        if show is None or answer not in ("d", "diff"):
            return answer in ("y", "yes")
        show()


def check_asked() -> None:
    """Makes sure that what was printed to standard error got there; raises `InvalidParams`."""
    if not can_be_asked():
        raise InvalidParams(
            "cannot ask: standard error cannot be written to", hint="confirm with --yes instead", field="--yes"
        )
