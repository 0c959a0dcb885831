"""Looks again and again at what may have changed: soon after a change, and not too often."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING

import attrs

from snapd.core.call import Call
from snapd.core.errors import Cancelled

if TYPE_CHECKING:
    from collections.abc import Callable

QUIET_SECONDS = 0.08
"""How long nothing may change before the feed looks."""
PATIENCE_SECONDS = 0.4
"""When the feed looks even though changes do not stop."""
INTERVAL_SECONDS = 0.25
"""The time between two looks, at least: four looks a second."""


@attrs.define
class Pace:
    """Decides when to look at the work tree: soon after changes stop, not too late, not too often.

    Times are in seconds, of a monotonic clock.
    """

    _first: float | None = None
    _latest: float = 0.0
    _looked: float = -math.inf

    def hear(self, now: float) -> None:
        """Notes that something may have changed."""
        if self._first is None:
            self._first = now
        self._latest = now

    @property
    def due(self) -> float | None:
        """When to look; None if nothing changed since the last look."""
        if self._first is None:
            return None
        settled = min(self._latest + QUIET_SECONDS, self._first + PATIENCE_SECONDS)
        return max(settled, self._looked + INTERVAL_SECONDS)

    def look(self, now: float) -> None:
        """Notes that a look begins, which covers all changes up to now."""
        self._first = None
        self._looked = now


class PacedThread:
    """A thread that looks once when it starts, and then whenever somebody reports a change.

    Args:
        name: of the thread.
        look: looks; gives whether the look is complete. Its call is cancelled when the thread is to stop.
        on_trouble: called, in the thread, with what a look raises, once for each reason in a row.
    """

    def __init__(self, name: str, look: Callable[[Call], bool], on_trouble: Callable[[Exception], None]) -> None:
        self._look = look
        self._on_trouble = on_trouble
        self._trouble: str | None = None
        self._wake = threading.Condition()
        self._pace = Pace()
        self._pace.hear(time.monotonic())
        self._stopping = False
        self._call = Call()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Starts the thread; raises `RuntimeError` if none is left."""
        self._thread.start()

    def stop(self) -> None:
        """Stops the thread; waits for a look to end."""
        self._call.cancel()
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    def hear(self) -> None:
        """Makes the thread look when a look is due."""
        with self._wake:
            was_idle = self._pace.due is None
            self._pace.hear(time.monotonic())
            if was_idle:
                self._wake.notify()

    def _run(self) -> None:
        while self._wait():
            try:
                if not self._look(self._call):
                    self.hear()
            except Cancelled:
                return
            except Exception as error:
                self._report_trouble(error)
            else:
                self._trouble = None

    def _wait(self) -> bool:
        """Waits until a look is due; False once the thread is to stop."""
        with self._wake:
            while not self._stopping:
                due, now = self._pace.due, time.monotonic()
                if due is not None and due <= now:
                    self._pace.look(now)
                    return True
                self._wake.wait(None if due is None else due - now)
        return False

    def _report_trouble(self, error: Exception) -> None:
        trouble = f"{type(error).__name__}: {error}"
        if trouble != self._trouble:
            self._trouble = trouble
            self._on_trouble(error)
