"""Lets a background job change a repository until somebody else takes that right back."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Revoked(Exception):
    """The token was revoked; nothing was dropped."""


class CancelToken:
    """Lets a repack drop files until the token is revoked. Safe to use from several threads."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._lock = threading.Lock()
        self._on_cancel: Callable[[], None] | None = None
        self.revoked = False

    def revoke(self) -> None:
        """Revokes the token, and waits for a change under way: afterwards the job changes nothing any more."""
        self.cancel()
        with self._changing:
            pass

    def cancel(self) -> None:
        """Revokes the token without waiting."""
        with self._lock:
            self.revoked = True
            if self._on_cancel is not None:
                self._on_cancel()

    def check(self) -> None:
        """Raises `Revoked` if the token was revoked."""
        if self.revoked:
            raise Revoked

    @contextlib.contextmanager
    def on_cancel(self, end: Callable[[], None]) -> Iterator[None]:
        """Calls `end` if the token is revoked while the block runs.

        Raises:
            Revoked: it was revoked before.
        """
        with self._lock:
            self.check()
            self._on_cancel = end
        try:
            yield
        finally:
            with self._lock:
                self._on_cancel = None

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Surrounds a change of the repository, for which `revoke` waits; raises `Revoked` if the token was revoked."""
        with self._changing:
            self.check()
            yield
