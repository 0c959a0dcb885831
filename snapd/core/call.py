"""What a running request carries with it: whether it was cancelled, and where its progress goes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .errors import Cancelled

if TYPE_CHECKING:
    from collections.abc import Callable


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

    def cancel(self) -> None:
        """Asks the work to stop at its next check; without effect after the point of no return."""
        self._cancelled.set()

    def check(self) -> None:
        """Raises `Cancelled` where the request was taken back and may still be."""
        if self._cancelled.is_set() and not self._committed:
            raise Cancelled("the request was cancelled")

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
