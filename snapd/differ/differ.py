"""Compares large texts in a worker process, which requests share and which is replaced when it dies."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from time import monotonic

import attrs

from snapd.core.compare.text import compare_lines, hunks, known_changes
from snapd.model.call import Call
from snapd.model.errors import IoError
from snapd.workers import processes
from snapd.workers.processes import ChildProcess, WorkerLost, WorkerPool

from .worker import ANSWER, COUNT, COUNTS, HUNKS, QUESTION

logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.02  # how soon a cancelled request stops waiting
_START_SECONDS = 30.0
_RETRY_SECONDS = 60.0  # until a worker is started again after a failure


@attrs.frozen
class Limits:
    """Which texts go to the worker: to compare 8,000 random lines takes 5 ms, and so does the hash of 1 MiB."""

    large_bytes: int = 1 << 20  # of both sides together, from which on the worker compares
    large_lines: int = 8000  # of both sides together, from which on the worker compares
    idle_seconds: float = 60.0  # after which the worker is ended

    def are_reached(self, old: bytes, new: bytes) -> bool:
        """Returns whether a comparison may take long."""
        size = len(old) + len(new)
        if size >= self.large_bytes:
            return True
        # lines that differ from each other have at least two bytes
        return size >= 2 * self.large_lines and old.count(b"\n") + new.count(b"\n") >= self.large_lines


class ProcessDiffer:
    """A `TextDiffer` with a worker process for texts that reach the limits; thread-safe."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self.turn = threading.Lock()
        self._worker: _Worker | None = None
        self._used = 0.0
        self._not_before = 0.0
        # other systems cannot poll a pipe
        self._closed = not (os.name == "posix" and processes.can_start())
        if self._closed:
            logger.warning("no process can be started here to compare texts in: large texts hold up other requests")

    @property
    def pid(self) -> int | None:
        """The worker's process id; None while there is none."""
        worker = self._worker
        return None if worker is None else next(iter(worker.pids), None)

    def line_changes(self, old: bytes, new: bytes, call: Call) -> tuple[int, int]:
        """See `text.TextDiffer.line_changes`."""
        known = known_changes(old, new)
        if known is not None:
            return known
        answer = self._ask(COUNT, old, new, call)
        if answer is None:
            return compare_lines(old, new)
        additions, deletions = COUNTS.unpack(answer)
        return additions, deletions

    def hunks(self, old: bytes, new: bytes, call: Call) -> bytes:
        """See `text.TextDiffer.hunks`."""
        answer = self._ask(HUNKS, old, new, call)
        return hunks(old, new) if answer is None else answer

    def close(self) -> None:
        """Ends the worker once it has answered; later texts are compared in this process."""
        with self.turn:
            self._closed = True
            self._drop()

    # -- only the holder of the turn may start, ask and end the worker

    def _ask(self, kind: int, old: bytes, new: bytes, call: Call) -> bytes | None:
        """Returns the worker's answer; None if the texts are small or no worker starts."""
        if not self._limits.are_reached(old, new):
            return None
        question = b"".join((QUESTION.pack(kind, len(old), len(new)), old, new))
        call.acquire(self.turn)
        try:
            return self._ask_with_retry(question, call)
        except BaseException:
            # the worker may be busy with an answer that is no longer needed
            self._drop()
            raise
        finally:
            self._used = monotonic()
            self.turn.release()

    def _ask_with_retry(self, question: bytes, call: Call) -> bytes | None:
        worker = self._start(call)
        if worker is None:
            return None
        try:
            return worker.ask_once(question, call.check)
        except WorkerLost as error:
            logger.warning("the process that compares texts has ended (%s): starting another", error)
        self._drop()
        worker = self._start(call)
        try:
            if worker is None:
                # not compared here: what ended the worker might end this process too
                raise WorkerLost("no other process could be started")
            return worker.ask_once(question, call.check)
        except WorkerLost as error:
            raise IoError(f"the process that compares texts has ended: {error}", hint="try again") from error

    def _drop(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()
            worker.ended.set()

    def _start(self, call: Call) -> _Worker | None:
        """Returns a ready worker; None if none can be started."""
        if self._worker is not None:
            return self._worker
        if self._closed or monotonic() < self._not_before:
            return None
        try:
            worker = self._worker = _Worker()
            worker.wait_ready(call.check)
        except (OSError, WorkerLost) as error:
            self._drop()
            self._not_before = monotonic() + _RETRY_SECONDS
            logger.warning("no process to compare texts in: %s; they are compared here instead", error)
            return None
        threading.Thread(target=self._end_when_idle, args=(worker,), name="snapd-differ", daemon=True).start()
        return worker

    def _end_when_idle(self, worker: _Worker) -> None:
        while not worker.ended.wait(self._limits.idle_seconds):
            if self.turn.acquire(blocking=False):
                try:
                    if worker is self._worker and monotonic() - self._used >= self._limits.idle_seconds:
                        self._drop()
                finally:
                    self.turn.release()


class _Worker(WorkerPool[None, bytes]):
    """The worker process; `ended` is set when it has been closed."""

    def __init__(self) -> None:
        super().__init__(1, lambda: ChildProcess("snapd.differ.worker"), _decode, 1)
        self.ended = threading.Event()

    def wait_ready(self, check: Callable[[], None]) -> None:
        """Waits for its first answer; raises `WorkerLost`, or what `check` raises."""
        deadline = monotonic() + _START_SECONDS

        def check_deadline() -> None:
            check()
            if monotonic() > deadline:
                raise WorkerLost(f"it was not ready after {_START_SECONDS:.0f} s")

        self.ask_once(b"", check_deadline)

    def ask_once(self, question: bytes, check: Callable[[], None]) -> bytes:
        """Asks a question and waits for the answer; raises `WorkerLost`, or what `check` raises."""
        self.ask(question, (None,))
        while True:
            for _, answer in list(self.answers(_POLL_SECONDS)):
                return answer
            check()


def _decode(data: bytes, at: int) -> tuple[bytes, int] | None:
    start = at + ANSWER.size
    if start > len(data):
        return None
    end = start + ANSWER.unpack_from(data, at)[0]
    return (data[start:end], end) if end <= len(data) else None
