"""Decides which texts go to the worker process, shares it among requests, and outlives it."""

from __future__ import annotations

import logging
import threading
from time import monotonic
from typing import TYPE_CHECKING

import attrs

from snapd.core.compare.text import compare_lines, hunks, known_changes
from snapd.core.errors import IoError

from .frames import COUNT, COUNTS, HUNKS, QUESTION
from .process import WorkerEnded, WorkerProcess, can_start

if TYPE_CHECKING:
    from snapd.core.call import Call

logger = logging.getLogger(__name__)

_QUEUE_SECONDS = 0.02
_RETRY_SECONDS = 60.0
"""How long nothing is started after a worker could not be."""


@attrs.frozen
class Limits:
    """Which texts go to the worker. Of random lines from few, 8,000 take 5 ms; of 1 MiB the hash alone takes as long.

    Attributes:
        large_bytes: both sides together; from here on in any case.
        large_lines: likewise, lines.
        idle_seconds: after which a worker that is not asked is ended.
    """

    large_bytes: int = 1 << 20
    large_lines: int = 8000
    idle_seconds: float = 60.0

    def are_reached(self, old: bytes, new: bytes) -> bool:
        """Whether a comparison may take long."""
        size = len(old) + len(new)
        if size >= self.large_bytes:
            return True
        # lines that differ from others have two bytes at least
        return size >= 2 * self.large_lines and old.count(b"\n") + new.count(b"\n") >= self.large_lines


class ProcessDiffer:
    """A `snapd.core.ports.TextDiffer` with a process of its own; safe to use from several threads.

    Args:
        limits: which texts go there.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._turn = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._used = 0.0
        self._not_before = 0.0
        self._closed = not can_start()
        if self._closed:
            logger.warning("no process can be started here to compare texts in: large ones hold up other requests")

    @property
    def pid(self) -> int | None:
        """The worker's process id, None where there is none."""
        worker = self._worker
        return None if worker is None else worker.pid

    def line_changes(self, old: bytes, new: bytes, call: Call) -> tuple[int, int]:
        """See `ports.TextDiffer.line_changes`."""
        known = known_changes(old, new)
        if known is not None:
            return known
        answer = self._ask(COUNT, old, new, call)
        if answer is None:
            return compare_lines(old, new)
        additions, deletions = COUNTS.unpack(answer)
        return additions, deletions

    def hunks(self, old: bytes, new: bytes, call: Call) -> bytes:
        """See `ports.TextDiffer.hunks`."""
        answer = self._ask(HUNKS, old, new, call)
        return hunks(old, new) if answer is None else answer

    def close(self) -> None:
        """Ends the worker when its question is answered; what is asked from now on is compared here."""
        with self._turn:
            self._closed = True
            self._drop()

    # -- inside; who holds the turn may start, ask and end the worker

    def _ask(self, kind: int, old: bytes, new: bytes, call: Call) -> bytes | None:
        """The worker's answer; None where the texts are small, or there is no worker to be had.

        Raises:
            Cancelled: the request was taken back.
            IoError: two workers in a row ended over the question.
        """
        if not self._limits.are_reached(old, new):
            return None
        data = b"".join((QUESTION.pack(kind, len(old), len(new)), old, new))
        while not self._turn.acquire(timeout=_QUEUE_SECONDS):
            call.check()
        try:
            return self._surely(data, call)
        except BaseException:
            # in the middle of what nobody waits for any more
            self._drop()
            raise
        finally:
            self._used = monotonic()
            self._turn.release()

    def _surely(self, data: bytes, call: Call) -> bytes | None:
        worker = self._start(call)
        if worker is None:
            return None
        try:
            return worker.ask(data, call.check)
        except WorkerEnded as error:
            logger.warning("the process that compares texts is gone: %s; another takes its place", error)
        self._drop()
        worker = self._start(call)
        try:
            if worker is None:
                # not here: what ended it might end this process too
                raise WorkerEnded("another could not be started")
            return worker.ask(data, call.check)
        except WorkerEnded as error:
            raise IoError(f"the process that compares texts is gone: {error}", hint="try again") from error

    def _drop(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def _start(self, call: Call) -> WorkerProcess | None:
        """The worker, ready; None where there is none to be had."""
        if self._worker is not None:
            return self._worker
        if self._closed or monotonic() < self._not_before:
            return None
        try:
            worker = self._worker = WorkerProcess()
            worker.wait_ready(call.check)
        except (OSError, WorkerEnded) as error:
            self._drop()
            self._not_before = monotonic() + _RETRY_SECONDS
            logger.warning("no process to compare texts in: %s; they are compared here instead", error)
            return None
        threading.Thread(target=self._tend, args=(worker,), name="snapd-differ", daemon=True).start()
        return worker

    def _tend(self, worker: WorkerProcess) -> None:
        """Ends a worker that is idle."""
        while not worker.ended.wait(self._limits.idle_seconds):
            if self._turn.acquire(blocking=False):
                try:
                    if worker is self._worker and monotonic() - self._used >= self._limits.idle_seconds:
                        self._drop()
                finally:
                    self._turn.release()
