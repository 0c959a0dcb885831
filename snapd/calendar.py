"""What time it is, as far as a process that has run for a while can believe it.

A clock that somebody sets ahead, or a machine that wakes up with a wrong one, is not to make anything expire.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_RUNNING = getattr(time, "CLOCK_BOOTTIME", None)


def running() -> float:
    """Seconds that went by since some moment; those that the machine slept count where the system tells them."""
    return time.monotonic() if _RUNNING is None else time.clock_gettime(_RUNNING)


class Calendar:
    """The time since a moment at which the system was believed: later than what went by since, it is not.

    Args:
        wall: seconds since 1970, as the system has it.
        running: seconds that went by.
    """

    def __init__(self, wall: Callable[[], float] = time.time, running: Callable[[], float] = running) -> None:
        self._wall = wall
        self._running = running
        self._ahead = wall() - running()

    def now(self) -> float:
        """Seconds since 1970. Where the system was behind when it was believed, it stays behind."""
        return min(self._wall(), self._ahead + self._running())
