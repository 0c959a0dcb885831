"""The time, as far as a process that has run for a while can trust the system's clock.

A clock that somebody sets ahead, or a machine that wakes up with a wrong one, must not make anything expire.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_RUNNING = getattr(time, "CLOCK_BOOTTIME", None)


def running() -> float:
    """Seconds since some moment, including the machine's sleep where the system counts it."""
    return time.monotonic() if _RUNNING is None else time.clock_gettime(_RUNNING)


class Calendar:
    """A clock that runs no faster than the seconds that went by since it was made.

    Args:
        wall: the system's time, seconds since 1970.
        running: seconds since some moment.
    """

    def __init__(self, wall: Callable[[], float] = time.time, running: Callable[[], float] = running) -> None:
        self._wall = wall
        self._running = running
        self._ahead = wall() - running()

    def now(self) -> float:
        """Seconds since 1970. If the system's clock was slow when this one was made, this one stays slow."""
        return min(self._wall(), self._ahead + self._running())
