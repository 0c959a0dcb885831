"""LSP work done progress for requests that take a while."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

QUIET_SECONDS = 0.5
INTERVAL_SECONDS = 0.1


class Progress:
    """Reports the progress of a request after half a second, by `send` on the loop. Create it on the loop."""

    def __init__(
        self,
        token: str | int,
        title: str,
        loop: asyncio.AbstractEventLoop,
        send: Callable[[dict[str, Any]], None],
    ) -> None:
        self._token = token
        self._title = title
        self._loop = loop
        self._send = send
        self._lock = threading.Lock()
        self._next = 0.0
        self._latest: dict[str, Any] = {}
        self._begun = False
        # by a timer: no report comes while the work waits for its turn or for one large file
        self._timer = loop.call_later(QUIET_SECONDS, self._begin)

    def report(self, message: str, done: int, total: int | None) -> None:
        """Receives a report, in any thread and at any rate."""
        now = time.monotonic()
        with self._lock:
            if now < self._next:
                return
            self._next = now + INTERVAL_SECONDS
            value: dict[str, Any] = {"message": f"{message}: {done}" + (f" of {total}" if total is not None else "")}
            if total:
                value["percentage"] = min(100, done * 100 // total)
            self._latest = value
        self._loop.call_soon_threadsafe(self._send_value, value)

    def end(self) -> None:
        """Ends the report. Call it on the loop before the answer is sent."""
        self._timer.cancel()
        if self._begun:
            self._send_value({"kind": "end"})

    def _begin(self) -> None:
        self._begun = True
        self._send_value({"kind": "begin", "title": self._title, **self._latest})

    def _send_value(self, value: dict[str, Any]) -> None:
        if self._begun:
            self._send({"token": self._token, "value": {"kind": "report", **value}})
