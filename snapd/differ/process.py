"""The worker process as seen by the one who asks: started, waited for without being deaf to a cancel, ended."""

from __future__ import annotations

import os
import select
import threading
from time import monotonic
from typing import TYPE_CHECKING

from snapd.workers import processes
from snapd.workers.processes import ChildProcess

from .frames import ANSWER, GREETING

if TYPE_CHECKING:
    from collections.abc import Callable

_POLL_SECONDS = 0.02
"""How long a request that was taken back may go on waiting."""
_START_SECONDS = 30.0
_PIPE_BYTES = 1 << 20
_CHUNK = 1 << 20


class WorkerEnded(Exception):
    """The worker is gone, or says what it should not; says how it ended."""


class WorkerProcess:
    """A worker, just started. Used by one thread at a time, but for `ended`.

    Attributes:
        pid: its process id.
        ended: set when it has ended and was waited for.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self) -> None:
        self._process = ChildProcess("snapd.differ.worker")
        self.pid = self._process.pid
        self.ended = threading.Event()
        self._input, self._output = self._process.input, self._process.output
        for descriptor in (self._input, self._output):
            os.set_blocking(descriptor, False)
        _widen(self._input)
        self._received = bytearray()

    def wait_ready(self, check: Callable[[], None]) -> None:
        """Waits until it can be asked.

        Args:
            check: called again and again; what it raises ends the wait.

        Raises:
            WorkerEnded: it never will.
        """
        deadline = monotonic() + _START_SECONDS
        while len(self._received) < len(GREETING):
            if monotonic() > deadline:
                raise WorkerEnded("it does not greet")
            self._take_or_wait(check)
        said = self._cut(len(GREETING))
        if said != GREETING:
            raise WorkerEnded(f"it says {said!r} instead of a greeting")

    def ask(self, question: bytes, check: Callable[[], None]) -> bytes:
        """Asks one question and waits for the answer; `check` as in `wait_ready`.

        Raises:
            WorkerEnded: there will be none.
        """
        self._send(question, check)
        (size,) = ANSWER.unpack(self._receive(ANSWER.size, check))
        return self._receive(size, check)

    def end(self) -> None:
        """Ends it at once, whatever it does, and waits for it."""
        self._process.end()
        self.ended.set()

    # -- inside

    def _send(self, data: bytes, check: Callable[[], None]) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._input, view) :]
            except BlockingIOError:
                self._wait(self._input, select.POLLOUT)
                check()
            except OSError as error:
                raise self._over() from error

    def _receive(self, size: int, check: Callable[[], None]) -> bytes:
        while len(self._received) < size:
            self._take_or_wait(check)
        return self._cut(size)

    def _cut(self, size: int) -> bytes:
        data = bytes(self._received[:size])
        del self._received[:size]
        return data

    def _take_or_wait(self, check: Callable[[], None]) -> None:
        """Takes what it has said; where that is nothing, waits a little."""
        try:
            data = os.read(self._output, _CHUNK)
        except BlockingIOError:
            self._wait(self._output, select.POLLIN)
            check()
            return
        except OSError as error:
            raise self._over() from error
        if not data:
            raise self._over()
        self._received += data

    def _over(self) -> WorkerEnded:
        self._process.kill()
        return WorkerEnded(f"it ended with {self._process.wait()}")

    @staticmethod
    def _wait(descriptor: int, events: int) -> None:
        # select.select cannot wait for a descriptor over 1023
        poll = select.poll()
        poll.register(descriptor, events)
        poll.poll(_POLL_SECONDS * 1000)


def can_start() -> bool:
    """Whether this process can have a worker: on a system whose pipes can be waited for."""
    return os.name == "posix" and processes.can_start()


def _widen(pipe: int) -> None:
    """Has a pipe take more at once, where the system lets it: fewer changes between the two processes."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    except (AttributeError, ImportError, OSError):
        # elsewhere, or over the user's limit: as it is
        return
