"""The context of a running request: its cancellation and its progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from snapd.model.errors import Cancelled, Interrupted

_LOCK = threading.Lock()  # one for all calls: thousands may wait, and each extra object slows down garbage collection

_POLL_SECONDS = 0.02  # how soon a request that waits for a lock notices its cancellation


class Call:
    """A running request, as seen by the code that does its work.

    `report` is called with a message, the units done and the total (None if unknown), from any thread; `left_turn` in
    the working thread each time that it releases the right to write.
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
        """Asks the work to stop at its next check; after the point of no return, only ends waits in `ended_by`."""
        with _LOCK:
            self._cancelled = True
            ends = self._ends
        for end in ends:
            end()

    def stop(self, grace: float) -> None:
        """Asks the work to stop because the process exits; work past the point of no return has `grace` seconds."""
        self._stop_at = monotonic() + grace
        self.cancel()

    def check(self) -> None:
        """Raises `Cancelled` if cancelled before the point of no return, or `Interrupted` if the process exits."""
        if not self._cancelled:
            return
        if not self._committed:
            raise Cancelled("the request was cancelled")
        if self._stop_at is not None and monotonic() >= self._stop_at:
            raise Interrupted("snapd was stopped in the middle of this", errno="EINTR")

    def acquire(self, lock: threading.Lock) -> None:
        """Acquires a lock that may be held for a while; raises as `check`, without the lock."""
        while not lock.acquire(timeout=_POLL_SECONDS):
            self.check()

    @contextmanager
    def holding(self, lock: threading.Lock) -> Iterator[None]:
        """Holds a lock for the block; raises as `check`, without the lock."""
        self.acquire(lock)
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def ended_by(self, end: Callable[[], None]) -> Iterator[None]:
        """Calls `end`, perhaps repeatedly and from another thread, to end a wait in the block; it must not block."""
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
        """Yields a call for work that other requests share: only `stop` ends it, not a cancellation of this request."""
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
        """Reports progress; raises as `check`."""
        self.check()
        if self._report is not None:
            self._report(message, done, total)

    def leave_turn(self) -> None:
        """Reports that the work released the right to write, so that the next request may begin."""
        if self._left_turn is not None:
            self._left_turn()


class IdleCall(Call):
    """The call of idle work: cancelled as soon as another request `is_wanted`; has no point of no return."""

    def __init__(self, is_wanted: Callable[[], bool]) -> None:
        super().__init__()
        self._is_wanted = is_wanted

    def check(self) -> None:
        """Raises `Cancelled` if another request waits."""
        if self._is_wanted():
            raise Cancelled("another request wants to write")

    def commit(self) -> None:
        """Only checks; raises `Cancelled`."""
        self.check()
