"""Processes that get in the way, and how long they are let do so."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.amounts import amount

if TYPE_CHECKING:
    from collections.abc import Iterator

SWAPPER = Path(__file__).with_name("swapper.py")


def rounds(short: int) -> int:
    """How many rounds a race has.

    Args:
        short: what `make test` has time for, of which `make test-long` does five times as many; `HAZARD_ROUNDS` in the
            environment says another number.
    """
    return amount(short, 5 * short, "HAZARD_ROUNDS")


@contextmanager
def swapping(kind: str, path: str | os.PathLike[str], aside: Path, other: str | os.PathLike[str]) -> Iterator[None]:
    """Has another process swap what lies at a path for as long as the block takes; see `swapper.py`."""
    aside.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-S", str(SWAPPER), kind, os.fspath(path), str(aside), os.fspath(other)],
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"swapping\n"
        yield
        assert process.poll() is None, "the other process ended by itself"
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
