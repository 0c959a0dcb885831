"""Answers that come in pages: the next page is requested while this one is read."""

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
    """Iterates over the pages of an answer, and fetches at most one page ahead.

    It requests the next page as soon as its cursor arrives, before it parses the page that has the cursor, so that both
    processes work at the same time. It cancels a page that was requested but is not taken.

    Args:
        write: Returns the id and the frame of a new request, given the cursor of the page (None for the first) and the
            size in bytes of the answer that had the cursor. Also called in the reading thread.
        timeout: How many seconds to wait for each page; None to wait forever.
        on_progress: Called in the thread that takes the pages.
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
        """Yields the results of the pages in order.

        Raises:
            ClientError: A page failed; raised when the iteration reaches it.
        """
        connection = self._connection
        try:
            request_id, frame = self._write(None, 0)
            pending = connection.ask(request_id, frame, self._deadline(), self._fetch)
            while True:
                page = connection.take(pending, self._deadline(), self._on_progress)
                cursor = page.get("nextCursor")
                if cursor is None:
                    yield page
                    return
                if self._ahead is None:
                    self._fetch(cursor, pending.size)
                yield page
                assert self._ahead is not None
                pending, self._ahead = self._ahead, None
                pending.on_cursor = self._fetch
        finally:
            with self._lock:
                self._over = True
            if self._ahead is not None:
                connection.give_up(self._ahead)

    def _deadline(self) -> float | None:
        return None if self._timeout is None else monotonic() + self._timeout

    def _fetch(self, cursor: str, size: int) -> None:
        """Requests the page at a cursor."""
        with self._lock:
            if not self._over:
                self._ahead = self._connection.post(*self._write(cursor, size))
