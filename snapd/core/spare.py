"""Work for which there is time as long as nobody wants anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .call import Call
from .errors import Cancelled

if TYPE_CHECKING:
    from collections.abc import Callable


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
