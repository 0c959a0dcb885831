"""Asks the person at the terminal."""

from __future__ import annotations

import sys


def confirmed(question: str) -> bool:
    """Whether somebody says yes; standard output is for what was done.

    Args:
        question: one line.
    """
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
