"""What this process has open, and which processes are there because of it or of another."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def descriptors() -> dict[str, str]:
    """What this process has open: where each descriptor, by its number, leads to."""
    found = {}
    for number in os.listdir("/proc/self/fd"):
        # the one that the listing itself had open
        with contextlib.suppress(FileNotFoundError):
            found[number] = os.readlink(f"/proc/self/fd/{number}")
    return found


def children(pid: int) -> set[int]:
    """The processes that a process has started and not waited for."""
    found: set[int] = set()
    for task in os.listdir(f"/proc/{pid}/task"):
        # a thread may end while we look
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found |= {int(child) for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split()}
    return found


def own_children() -> set[int]:
    """Those of this process."""
    return children(os.getpid())
