"""Shares questions among worker processes and takes their answers; each worker answers in the order it was asked.

Nothing here waits for a full pipe: what a worker cannot take yet stays in memory while answers are read.
"""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from .processes import ChildProcess

T = TypeVar("T")
A = TypeVar("A")

_QUESTIONS_TOGETHER = 32
"""Questions that are written at once."""
_READ_BYTES = 1 << 20
_PIPE_BYTES = 1 << 20


class WorkerLost(Exception):
    """A worker ended before it had answered; says how it ended."""


class _Worker(Generic[T, A]):
    """One process, the questions that it has not answered, and the bytes on their way to it and from it."""

    def __init__(self, process: ChildProcess, decode: Callable[[bytes, int], tuple[A, int] | None]) -> None:
        self.process = process
        self.waiting: deque[T] = deque()
        self._decode = decode
        self._unsent: list[bytes] = []
        self._sending = memoryview(b"")
        self._received = b""
        for pipe in (process.input, process.output):
            os.set_blocking(pipe, False)
            _widen(pipe)

    @property
    def has_unsent(self) -> bool:
        return bool(self._sending or self._unsent)

    def ask(self, question: bytes, tags: Sequence[T]) -> None:
        self.waiting.extend(tags)
        self._unsent.append(question)
        if len(self._unsent) >= _QUESTIONS_TOGETHER:
            self.send()

    def send(self) -> None:
        """Writes what the pipe takes."""
        while self.has_unsent:
            if not self._sending:
                self._sending = memoryview(b"".join(self._unsent))
                self._unsent.clear()
            try:
                self._sending = self._sending[os.write(self.process.input, self._sending) :]
            except BlockingIOError:
                return
            except OSError as error:
                raise self._lost() from error

    def receive(self) -> Iterator[tuple[T, A]]:
        """Reads what the pipe holds, and gives the answers that are complete."""
        data = os.read(self.process.output, _READ_BYTES)
        if not data:
            raise self._lost()
        data = self._received + data
        at = 0
        while (decoded := self._decode(data, at)) is not None:
            answer, at = decoded
            yield self.waiting.popleft(), answer
        self._received = data[at:]

    def _lost(self) -> WorkerLost:
        self.process.kill()
        return WorkerLost(f"it ended with {self.process.wait()}")


class WorkerPool(Generic[T, A]):
    """Some processes that answer questions of one kind. For one thread at a time.

    Args:
        count: number of processes.
        start: starts one of them.
        decode: takes bytes and an offset; gives the answer that begins there and the offset of its end, or None while
            the answer is not complete.
        ahead: how many answers may be outstanding from each process.

    Raises:
        OSError: a process cannot be started; none is left running.
    """

    def __init__(
        self,
        count: int,
        start: Callable[[], ChildProcess],
        decode: Callable[[bytes, int], tuple[A, int] | None],
        ahead: int,
    ) -> None:
        self._ahead = ahead
        self._workers: list[_Worker[T, A]] = []
        try:
            for _ in range(count):
                self._workers.append(_Worker(start(), decode))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the processes at once, whatever they are doing."""
        for worker in self._workers:
            worker.process.kill()
        while self._workers:
            self._workers.pop().process.end()

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of the processes."""
        return tuple(worker.process.pid for worker in self._workers)

    @property
    def has_room(self) -> bool:
        """Whether to ask more before taking answers."""
        return any(len(worker.waiting) < self._ahead for worker in self._workers)

    @property
    def is_waiting(self) -> bool:
        """Whether answers are outstanding."""
        return any(worker.waiting for worker in self._workers)

    def unanswered(self) -> Iterator[T]:
        """The tags of the outstanding answers."""
        for worker in self._workers:
            yield from worker.waiting

    def ask(self, question: bytes, tags: Sequence[T]) -> None:
        """Sends a question to the process with the fewest outstanding answers.

        Args:
            question: bytes as the process reads them.
            tags: one for each answer that the question has; comes back with it.

        Raises:
            WorkerLost: that process has ended.
        """
        min(self._workers, key=lambda worker: len(worker.waiting)).ask(question, tags)

    def answers(self, seconds: float) -> Iterator[tuple[T, A]]:
        """The answers that have come, each with its tag. Take all of them before the next call.

        Args:
            seconds: to wait at most, where none has come yet.

        Raises:
            WorkerLost: a process ended before it had answered.
        """
        poll = select.poll()
        for worker in self._workers:
            worker.send()
            poll.register(worker.process.output, select.POLLIN)
            if worker.has_unsent:
                poll.register(worker.process.input, select.POLLOUT)
        ready = {descriptor for descriptor, _ in poll.poll(seconds * 1000)}
        for worker in self._workers:
            if worker.process.output in ready:
                yield from worker.receive()


def _widen(pipe: int) -> None:
    """Lets a pipe hold more at once, where the system allows it: fewer switches between the processes."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    except (AttributeError, ImportError, OSError):
        return
