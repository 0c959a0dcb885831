"""The process that a private daemon works for: when it is gone, nobody is left to answer.

The end of input says so in most cases. It does not where a child of that process, still alive, has the pipe open too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class ParentWatch:
    """Tells when one process has ended. To be used on one loop.

    Args:
        loop: on which it is told.
        ended: called once.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, ended: Callable[[], None]) -> None:
        self._loop = loop
        self._ended = ended
        self._descriptor = -1

    def watch(self, process: int) -> None:
        """Watches a process, which the client calls its own; a number that is not above us is of another namespace.

        Elsewhere than on Linux nothing is watched.

        Args:
            process: `processId` of `initialize`.
        """
        if self._descriptor >= 0 or not hasattr(os, "pidfd_open") or not _is_above(process):
            return
        try:
            self._descriptor = os.pidfd_open(process)
        except ProcessLookupError:
            self._ended()
        else:
            self._loop.add_reader(self._descriptor, self._tell)

    def close(self) -> None:
        """Watches no more."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _tell(self) -> None:
        self._loop.remove_reader(self._descriptor)
        self._ended()


def _is_above(process: int) -> bool:
    """Whether a process is one of those that started us, or started who did."""
    above = os.getppid()
    while above > 1:
        if above == process:
            return True
        try:
            with open(f"/proc/{above}/stat", "rb") as file:
                # the name before it may hold anything (proc(5))
                above = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            return False
    return False
