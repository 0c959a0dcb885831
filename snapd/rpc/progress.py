"""LSP work done progress for requests that take a while."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

_QUIET_SECONDS = 0.5
_INTERVAL_SECONDS = 0.1


class Progress:
    """Reports to the client how far a request is, once it has taken half a second. To be made on the loop.

    Args:
        token: that the client gave.
        title: of the work.
        loop: on which `send` may be called.
        send: sends the params of a `$/progress`.
    """

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
        # not at a report: the work may wait for its turn, or for one large file
        self._timer = loop.call_later(_QUIET_SECONDS, self._begin)

    def report(self, message: str, done: int, total: int | None) -> None:
        """Takes note; may be called from any thread, as often as one likes."""
        now = time.monotonic()
        with self._lock:
            if now < self._next:
                return
            self._next = now + _INTERVAL_SECONDS
            value: dict[str, Any] = {"message": f"{message}: {done}" + (f" of {total}" if total is not None else "")}
            if total:
                value["percentage"] = min(100, done * 100 // total)
            self._latest = value
        self._loop.call_soon_threadsafe(self._tell, value)

    def end(self) -> None:
        """The work is over; to be called on the loop, before the answer is sent."""
        self._timer.cancel()
        if self._begun:
            self._tell({"kind": "end"})

    def _begin(self) -> None:
        self._begun = True
        self._tell({"kind": "begin", "title": self._title, **self._latest})

    def _tell(self, value: dict[str, Any]) -> None:
        if self._begun:
            self._send({"token": self._token, "value": {"kind": "report", **value}})
