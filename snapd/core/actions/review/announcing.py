"""Notifies of how much is pending."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from snapd.core.feed.events import Reviewed
from snapd.core.feed.pacing import PacedThread
from snapd.core.review.choice import Choice

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.core.call import Call
    from snapd.core.feed.event_log import EventLog, NumberedNotice

    from .review import Review


class PendingFeed:
    """Notifies when more or less is pending, once somebody has asked what is: until then it costs nothing.

    Args:
        review: knows what is pending.
        event_log: reports what may change that, and gets the notifications.
        on_trouble: called with what keeps notifications from being sent.
    """

    def __init__(self, review: Review, event_log: EventLog, on_trouble: Callable[[Exception], None]) -> None:
        self._review = review
        self._event_log = event_log
        self._on_trouble = on_trouble
        self._switching = threading.Lock()
        self._running: PacedThread | None = None
        self._closed = False
        self._announced: Reviewed | None = None
        event_log.listen(self._hear)

    def begin(self) -> None:
        """Notifies from now on."""
        with self._switching:
            if self._running is None and not self._closed:
                running = PacedThread("snapd-review", self._look, self._on_trouble)
                try:
                    running.start()
                except RuntimeError as error:
                    self._on_trouble(error)
                    return
                self._running = running

    def close(self) -> None:
        """Stops for good. Do not call this with the right to write: a look may be waiting for it."""
        with self._switching:
            self._closed = True
            running, self._running = self._running, None
        if running is not None:
            running.stop()

    def _hear(self, notice: NumberedNotice) -> None:
        running = self._running
        if running is not None and not isinstance(notice.event, Reviewed):
            running.hear()

    def _look(self, call: Call) -> bool:
        page = self._review.page(Choice(), call, limit=0)
        now = Reviewed(page.count, page.additions, page.deletions)
        if now != self._announced:
            self._announced = now
            self._event_log.publish(now)
        return True
