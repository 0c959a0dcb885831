"""What a running request carries along: whether it was cancelled, and where its progress goes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from snapd.model.errors import Cancelled, Interrupted

_LOCK = threading.Lock()
"""One for all calls: thousands of requests may wait, and each object that belongs to one costs every collection."""

_POLL_SECONDS = 0.02
"""How soon a request that waits for a lock notices that it was cancelled."""


class Call:
    """A running request, as the work for it sees it.

    Args:
        report: called with a message, the units done and the units in all (None if unknown); may be called from several
            threads, any number of times.
        left_turn: called in the thread of the work each time that it gives back the right to write.
    """

    def __init__(
        self,
        report: Callable[[str, int, int | None], None] | None = None,
        left_turn: Callable[[], None] | None = None,
    ) -> None:
        self._cancelled = False
        self._committed = False
        self._report = report
        self._left_turn = left_turn
        self._stop_at: float | None = None
        self._ends: tuple[Callable[[], None], ...] = ()

    def cancel(self) -> None:
        """Asks the work to stop at its next check; after the point of no return, ends what `ended_by` waits for."""
        with _LOCK:
            self._cancelled = True
            ends = self._ends
        for end in ends:
            end()

    def stop(self, grace: float) -> None:
        """Asks the work to stop because the process is about to end, even after the point of no return.

        Work after that point still has `grace` seconds. Whoever opens the workspace next finishes the rest.
        """
        self._stop_at = monotonic() + grace
        self.cancel()

    def check(self) -> None:
        """Raises if the work is to stop.

        Raises:
            Cancelled: the request was cancelled before the point of no return.
            Interrupted: the process is about to end.
        """
        if not self._cancelled:
            return
        if not self._committed:
            raise Cancelled("the request was cancelled")
        if self._stop_at is not None and monotonic() >= self._stop_at:
            raise Interrupted("snapd was stopped in the middle of this", errno="EINTR")

    def acquire(self, lock: threading.Lock) -> None:
        """Acquires a lock that others may hold for a while; raises as `check`, without the lock."""
        while not lock.acquire(timeout=_POLL_SECONDS):
            self.check()

    @contextmanager
    def holding(self, lock: threading.Lock) -> Iterator[None]:
        """Holds a lock that others may hold for a while; raises as `check`, without the lock."""
        self.acquire(lock)
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def ended_by(self, end: Callable[[], None]) -> Iterator[None]:
        """Calls `end` if the work is to stop while it waits for something that only `end` can end.

        It must not block; it may be called from another thread, and more than once.
        """
        with _LOCK:
            self._ends += (end,)
            is_over = self._cancelled
        try:
            if is_over:
                end()
            yield
        finally:
            with _LOCK:
                self._ends = tuple(other for other in self._ends if other is not end)

    @contextmanager
    def shared(self) -> Iterator[Call]:
        """Gives a call for work that is not this request's own and that it cannot cancel: only `stop` ends it."""
        other = Call()
        other._committed = True

        def pass_on() -> None:
            if self._stop_at is not None:
                other.stop(max(0.0, self._stop_at - monotonic()))

        with self.ended_by(pass_on):
            yield other

    @property
    def is_committed(self) -> bool:
        """Whether the work is past the point of no return."""
        return self._committed

    def commit(self) -> None:
        """Passes the point of no return: checks a last time; from here on `cancel` has no effect."""
        self.check()
        self._committed = True

    def progress(self, message: str, done: int, total: int | None = None) -> None:
        """Reports how far the work is; raises as `check`."""
        self.check()
        if self._report is not None:
            self._report(message, done, total)

    def leave_turn(self) -> None:
        """Notes that the work gave back the right to write: the next request may begin while this one goes on."""
        if self._left_turn is not None:
            self._left_turn()


class IdleCall(Call):
    """The call of idle work, cancelled as soon as somebody else `is_wanted` to write; has no point of no return."""

    def __init__(self, is_wanted: Callable[[], bool]) -> None:
        super().__init__()
        self._is_wanted = is_wanted

    def check(self) -> None:
        """Raises `Cancelled` if somebody waits."""
        if self._is_wanted():
            raise Cancelled("somebody else wants to write")

    def commit(self) -> None:
        """Only checks; raises `Cancelled`."""
        self.check()
