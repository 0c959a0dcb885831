"""Answers that come in pages: the next one is asked for while this one is being read."""

from __future__ import annotations

import threading
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from snapd_client.connection import Connection, Pending
    from snapd_client.notifications import OnProgress

__all__ = ["Pages"]


class Pages:
    """Goes through the pages of one question, at most one page ahead of whoever takes them.

    The daemon is asked for the next page when its cursor arrives, before the page that brings it is parsed: so the two
    processes work at the same time. A page that was asked for and is not taken is cancelled.

    Args:
        connection: Where to ask.
        write: Gives a new request's id and frame, from the cursor of a page (None for the first) and the bytes that the
            answer with that cursor had. Is called in the reading thread too.
        timeout: How many seconds to wait for each page; None for without end.
        on_progress: Is called in the thread that takes the pages.
    """

    def __init__(
        self,
        connection: Connection,
        write: Callable[[str | None, int], tuple[int, bytes]],
        timeout: float | None,
        on_progress: OnProgress | None,
    ) -> None:
        self._connection = connection
        self._write = write
        self._timeout = timeout
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._over = False
        self._ahead: Pending | None = None

    def __iter__(self) -> Iterator[Any]:
        """Gives the results of the pages in their order.

        Raises:
            ClientError: As of a request, when the page is reached that has failed.
        """
        connection = self._connection
        try:
            request_id, frame = self._write(None, 0)
            pending = connection.ask(request_id, frame, self._deadline(), self._turn)
            while True:
                page = connection.take(pending, self._deadline(), self._on_progress)
                cursor = page.get("nextCursor")
                if cursor is None:
                    yield page
                    return
                if self._ahead is None:
                    self._turn(cursor, pending.size)
                yield page
                assert self._ahead is not None
                pending, self._ahead = self._ahead, None
                pending.on_cursor = self._turn
        finally:
            with self._lock:
                self._over = True
            if self._ahead is not None:
                connection.give_up(self._ahead)

    def _deadline(self) -> float | None:
        return None if self._timeout is None else monotonic() + self._timeout

    def _turn(self, cursor: str, size: int) -> None:
        """Asks for the page at a cursor."""
        with self._lock:
            if not self._over:
                self._ahead = self._connection.post(*self._write(cursor, size))
