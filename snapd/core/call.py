"""What a running request carries with it: whether it was cancelled, and where its progress goes."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from .errors import Cancelled, Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Call:
    """One request under way, seen from the work that it asks for.

    Args:
        report: called with a message, the units done and the units in all (None where unknown); may be called
            from several threads and as often as the work likes.
        left_turn: called in the thread of the work each time it has given back the right to write.
    """

    def __init__(
        self,
        report: Callable[[str, int, int | None], None] | None = None,
        left_turn: Callable[[], None] | None = None,
    ) -> None:
        self._cancelled = threading.Event()
        self._committed = False
        self._report = report
        self._left_turn = left_turn
        self._stop_at: float | None = None
        self._lock = threading.Lock()
        self._ends: list[Callable[[], None]] = []

    def cancel(self) -> None:
        """Asks the work to stop at its next check; beyond the point of no return, only what `ended_by` names ends."""
        with self._lock:
            self._cancelled.set()
            ends = [*self._ends]
        for end in ends:
            end()

    def stop(self, grace: float) -> None:
        """Asks the work to stop, since the process is about to end: as `cancel`, but beyond the point of no return too.

        Args:
            grace: seconds that work beyond that point has. What it has not ended by then is ended by whoever
                opens the workspace next.
        """
        self._stop_at = monotonic() + grace
        self.cancel()

    def check(self) -> None:
        """Says whether to go on.

        Raises:
            Cancelled: the request was taken back and may still be.
            Interrupted: the process is about to end.
        """
        if not self._cancelled.is_set():
            return
        if not self._committed:
            raise Cancelled("the request was cancelled")
        if self._stop_at is not None and monotonic() >= self._stop_at:
            raise Interrupted("snapd was stopped in the middle of this", errno="EINTR")

    @contextmanager
    def ended_by(self, end: Callable[[], None]) -> Iterator[None]:
        """While the work waits for something else that only `end` can end: calls that when the work is to stop.

        Args:
            end: must not wait; may be called from another thread, and more than once.
        """
        with self._lock:
            self._ends.append(end)
            is_over = self._cancelled.is_set()
        try:
            if is_over:
                end()
            yield
        finally:
            with self._lock:
                self._ends.remove(end)

    @contextmanager
    def on_behalf_of_all(self) -> Iterator[Call]:
        """A call for what this request did not ask for and cannot take back: it ends only with the process."""
        other = Call()
        other._committed = True

        def pass_on() -> None:
            if self._stop_at is not None:
                other.stop(max(0.0, self._stop_at - monotonic()))

        with self.ended_by(pass_on):
            yield other

    @property
    def is_committed(self) -> bool:
        """Whether the point of no return is behind it."""
        return self._committed

    def commit(self) -> None:
        """The point of no return: checks a last time; from here on a cancel has no effect.

        Raises:
            Cancelled: the request was taken back before.
        """
        self.check()
        self._committed = True

    def progress(self, message: str, done: int, total: int | None = None) -> None:
        """Says how far the work is, and checks whether it is still wanted."""
        self.check()
        if self._report is not None:
            self._report(message, done, total)

    def leave_turn(self) -> None:
        """Says that the work has given back the right to write: the next request may begin while this one goes on."""
        if self._left_turn is not None:
            self._left_turn()


class SpareCall(Call):
    """Is over as soon as somebody else wants to work; has no point of no return.

    Args:
        is_wanted: whether somebody waits.
    """

    def __init__(self, is_wanted: Callable[[], bool]) -> None:
        super().__init__()
        self._is_wanted = is_wanted

    def check(self) -> None:
        """Raises `Cancelled` where somebody waits."""
        if self._is_wanted():
            raise Cancelled("somebody else wants to work")

    def commit(self) -> None:
        """Checks, and nothing else; raises `Cancelled`."""
        self.check()
