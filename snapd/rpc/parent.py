"""Ends a private daemon with its client's process, even if a child of that still holds the input pipe open."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class ParentWatch:
    """Calls `ended` once when a process has ended. Use it on one loop only."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ended: Callable[[], None]) -> None:
        self._loop = loop
        self._ended = ended
        self._descriptor = -1

    def watch(self, process: int) -> None:
        """Watches the client's process, on Linux, if it is an ancestor: others are in another namespace."""
        if self._descriptor >= 0 or not hasattr(os, "pidfd_open") or not _is_above(process):
            return
        try:
            self._descriptor = os.pidfd_open(process)
        except ProcessLookupError:
            self._ended()
        else:
            self._loop.add_reader(self._descriptor, self._process_ended)

    def close(self) -> None:
        """Stops watching."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _process_ended(self) -> None:
        self._loop.remove_reader(self._descriptor)
        self._ended()


def _is_above(process: int) -> bool:
    above = os.getppid()
    while above > 1:
        if above == process:
            return True
        try:
            with open(f"/proc/{above}/stat", "rb") as file:
                # the name before it may contain anything: see proc(5)
                above = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            return False
    return False
