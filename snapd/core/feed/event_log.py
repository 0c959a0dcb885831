"""What a workspace tells of by itself: numbered, in one order for everyone, the latest kept for who comes late."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

import attrs

from snapd.core.feed.events import MovedAway, Reverted, SessionMoved

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.core.feed.events import Notice

KEPT = 1000
"""News that are kept, at most."""
KEPT_FILES = 50_000
"""Files that these name, at most."""
_BLOCK = 4000
_AHEAD = 1000


@attrs.frozen
class NumberedNotice:
    """Something that happened.

    Attributes:
        seq: grows by one with each of a workspace.
        event: what.
    """

    seq: int
    event: Notice


class EventLog:
    """Numbers what happens, keeps the latest of it, and tells who listens. Safe to use from several threads.

    Args:
        reserve: gives numbers that were never given out, not even before a crash: the first of so many.
    """

    def __init__(self, reserve: Callable[[int], int]) -> None:
        self._reserve = reserve
        self._lock = threading.Lock()
        self._listeners: list[Callable[[NumberedNotice], None]] = []
        self._kept: deque[NumberedNotice] = deque()
        self._files = 0
        # until the first of them is needed, none is taken
        self._next = self._end = 0

    def listen(self, listener: Callable[[NumberedNotice], None]) -> None:
        """Has all that happens from now on told, in its order, from the thread that caused it."""
        with self._lock:
            self._listeners.append(listener)

    def prepare(self, count: int = _AHEAD) -> None:
        """Takes numbers before they are needed: what was done must be told, also where there is no space left by then.

        Args:
            count: how many may be needed.

        Raises:
            StorageFull, IoError: they cannot be had.
        """
        with self._lock:
            self._renew(count)

    def publish(self, event: Notice) -> None:
        """Something happened; raises `StorageFull`, `IoError` where no number was taken ahead and none can be had."""
        with self._lock:
            self._renew(1)
            numbered = NumberedNotice(self._next, event)
            self._next += 1
            self._kept.append(numbered)
            self._files += _weight(event)
            while len(self._kept) > KEPT or (self._files > KEPT_FILES and len(self._kept) > 1):
                self._files -= _weight(self._kept.popleft().event)
            for listener in self._listeners:
                listener(numbered)

    @property
    def latest(self) -> int:
        """The number of the last that happened, or one below the first that will."""
        with self._lock:
            self._renew(0)
            return self._next - 1

    def since(self, seq: int) -> tuple[tuple[NumberedNotice, ...] | None, int]:
        """What happened after a number was given out.

        Returns:
            All of it, None where some of it is not kept any more or the number was not given out; and the last number.
        """
        with self._lock:
            self._renew(0)
            latest = self._next - 1
            first = self._kept[0].seq if self._kept else self._next
            if not first - 1 <= seq <= latest:
                return None, latest
            return tuple(numbered for numbered in self._kept if numbered.seq > seq), latest

    def _renew(self, count: int) -> None:
        if not self._end or self._end - self._next < count:
            size = max(_BLOCK, count)
            first = self._reserve(size)
            # a block that continues the one before leaves no gap
            if first != self._end or self._next == self._end:
                self._next = first
            self._end = first + size


def _weight(event: Notice) -> int:
    if isinstance(event, Reverted):
        return len(event.outcome.files)
    if isinstance(event, SessionMoved):
        return len(event.step.files or ()) if event.step is not None else 0
    return len(event.files) if isinstance(event, MovedAway) else 0
