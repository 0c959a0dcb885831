"""The write lock of a workspace, which one request holds at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from snapd.model.call import Call, IdleCall
from snapd.model.errors import Cancelled, WorkspaceNotOpen


class WriteLock:
    """The write lock, which is available until the workspace is closed; `waiting` counts the waiting requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self.waiting = 0
        self._is_closed = False

    @contextmanager
    def held(self, call: Call) -> Iterator[None]:
        """Waits for the lock, and holds it for the block. Raises `WorkspaceNotOpen` if it was closed meanwhile."""
        with self._wanting():
            call.acquire(self._lock)
        with self._locked(call):
            yield

    @contextmanager
    def held_while_idle(self) -> Iterator[IdleCall]:
        """Holds the lock for the block; yields a call that is cancelled as soon as another request wants to write.

        Raises `Cancelled` if another one writes or waits, and `WorkspaceNotOpen` if the workspace is closed.
        """
        call = IdleCall(lambda: self.waiting > 0)
        if not self._lock.acquire(blocking=False):
            raise Cancelled("somebody else is writing")
        with self._locked(call):
            yield call

    @contextmanager
    def closing(self) -> Iterator[bool]:
        """Waits for the lock for the last time; yields whether this is the first time."""
        with self._wanting():
            self._lock.acquire()
        try:
            is_first, self._is_closed = not self._is_closed, True
            yield is_first
        finally:
            self._lock.release()

    @contextmanager
    def _locked(self, call: Call) -> Iterator[None]:
        # every holder passes here, so that no request writes to a closed workspace
        try:
            call.check()
            if self._is_closed:
                # the descriptor may have been reused by now, and another process may have the store
                raise WorkspaceNotOpen(
                    "the workspace was closed while the request waited", hint="open the folder again"
                )
            yield
        finally:
            self._lock.release()
            call.leave_turn()

    @contextmanager
    def _wanting(self) -> Iterator[None]:
        with self._counting:
            self.waiting += 1
        try:
            yield
        finally:
            with self._counting:
                self.waiting -= 1
