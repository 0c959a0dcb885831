"""The permission to change a repository behind somebody's back, which can be withdrawn at any time."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Revoked(Exception):
    """The permission was withdrawn; nothing was dropped."""


class CancelToken:
    """Lets a consolidation drop files, until it is revoked. Safe to use from several threads."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._lock = threading.Lock()
        self._otherwise: Callable[[], None] | None = None
        self.revoked = False

    def revoke(self) -> None:
        """Withdraws it: nothing of the repository is changed once this returns. Waits for files that go right now."""
        self.withdraw()
        with self._changing:
            pass

    def withdraw(self) -> None:
        """As `revoke`, without the wait."""
        with self._lock:
            self.revoked = True
            if self._otherwise is not None:
                self._otherwise()

    def check(self) -> None:
        """Raises `Revoked` where it was withdrawn."""
        if self.revoked:
            raise Revoked

    @contextlib.contextmanager
    def on_cancel(self, end: Callable[[], None]) -> Iterator[None]:
        """While something works for it that only `end` can end: that is called where it is revoked.

        Raises:
            Revoked: it was withdrawn before.
        """
        with self._lock:
            self.check()
            self._otherwise = end
        try:
            yield
        finally:
            with self._lock:
                self._otherwise = None

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """While the repository is changed; raises `Revoked` where that may not be any more."""
        with self._changing:
            self.check()
            yield
