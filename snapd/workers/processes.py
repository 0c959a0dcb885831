"""Starts worker processes, for work that would block this process or leave its memory large.

A worker runs the `main` of one module, reads questions from standard input and writes answers to standard output. When
the input ends, the parent process is gone, and the worker exits. For a single job, `run_job` asks with one line of
JSON, and `serve` answers with lines of JSON: the progress, and finally the result or the error.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import selectors
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import attrs

from snapd.model.errors import IoError, SnapdError, StorageFull, StoreCorrupt, os_errors

Report = Callable[[str, int, int | None], None]  # called with message, units done, total (None if unknown)


BOOT = (
    "import sys; from importlib import import_module; "
    "module, argument, *sys.path = sys.argv[1:]; import_module(module).main(argument)"
)
"""Gives the worker this process's import path; the current directory and the environment have no influence."""
_HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

NICENESS = 10  # for work in the background

_ERRORS = {error.kind: error for error in (StoreCorrupt, StorageFull, IoError)}
_READ_BYTES = 1 << 16
_CHECK_SECONDS = 0.05
_REPORT_SECONDS = 0.1  # least time between reports of progress


class ChildProcess:
    """A worker process; starts when it is created, or raises `OSError`: ENOSYS if `can_start` is false.

    It runs `main(argument)` of `module`, and inherits the descriptors `share` with the same numbers. `is_quiet`
    discards its standard error. `input` and `output` are the descriptors for questions and answers.
    """

    def __init__(
        self,
        module: str,
        argument: str = "",
        *,
        share: Sequence[int] = (),
        is_quiet: bool = False,
    ) -> None:
        if not can_start():
            # `sys.executable` may be a whole program with an interpreter inside, which this would start again
            raise OSError(errno.ENOSYS, "this program is not a plain interpreter", sys.executable)
        paths = [_HERE, *(path for path in sys.path if os.path.isabs(path))]
        self._process = subprocess.Popen(
            # no site module: the paths are known, and it starts sooner
            [sys.executable, "-I", "-S", "-c", BOOT, module, argument, *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if is_quiet else None,
            pass_fds=share,
            cwd="/",
            # Ctrl-C in the terminal and signals to the group are for the parent process
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.pid = self._process.pid
        self.input, self.output = self._process.stdin.fileno(), self._process.stdout.fileno()

    def kill(self) -> None:
        """Kills the process. Thread-safe, also after it has ended."""
        self._process.kill()

    def wait(self) -> int:
        """Waits for its end; returns its exit status, negative for a signal."""
        return self._process.wait()

    def end(self) -> int:
        """Kills the process, waits for it, and closes its pipes; returns its exit status as `wait`."""
        self.kill()
        status = self.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        return status


def can_start() -> bool:
    """Returns whether worker processes can be started: only from a plain interpreter."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


class WorkerEnded(Exception):
    """The process ended without an answer, with this exit status; negative for a signal."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the process ended with {status}")
        self.status = status


class Garbled(Exception):
    """A line is not a complete answer."""


def run_job(
    module: str,
    question: dict[str, Any],
    *,
    in_background: bool,
    check: Callable[[], None],
    report: Report | None = None,
) -> dict[str, Any]:
    """Runs one job in a new process and waits for it; no process is left afterwards, even on errors.

    `module` calls `serve`; `question` and the result are JSON values, in which bytes are hex. `in_background` lowers
    the priority. `check` is called every `_CHECK_SECONDS` or more often, and ends the job by raising. `report` is
    called in this thread, and may raise.

    Raises the work's error, `IoError` if no process can be started, or `WorkerEnded`.
    """
    with os_errors(sys.executable):
        child = ChildProcess(module)
    result = error = None
    try:
        # if the process is gone, its exit status says why
        with contextlib.suppress(OSError, Garbled):
            # this end of the pipe stays open until `end`: when it closes, the process ends
            os.write(child.input, as_line({"inBackground": in_background, "question": question}))
            for line in _lines(child.output, check):
                answer = decode_answer(line)
                if isinstance(answer, SnapdError):
                    error = answer
                elif "result" in answer:
                    result = answer["result"]
                elif report is not None:
                    report(*answer["progress"])
    finally:
        status = child.end()
    check()
    if error is not None:
        raise error
    if not isinstance(result, dict):
        raise WorkerEnded(status)
    return result


def serve(work: Callable[[dict[str, Any], Report], Any]) -> None:
    """Runs the one job that standard input asks for; sends all other output to standard error.

    `work` is called with the question and a progress function, and returns an attrs object. A `SnapdError` that it
    raises is raised in the parent process.
    """
    with open(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        line = b""
        while not line.endswith(b"\n"):
            data = os.read(0, _READ_BYTES)
            if not data:
                return
            line += data
        threading.Thread(target=_end_with_input, daemon=True).start()

        def say(answer: dict[str, Any]) -> None:
            try:
                answers.write(as_line(answer))
                answers.flush()
            except BrokenPipeError:
                # the parent process is gone, and `_end_with_input` has not noticed yet
                os._exit(1)

        reported = 0.0

        def report(message: str, done: int, total: int | None) -> None:
            nonlocal reported
            now = time.monotonic()
            if now - reported >= _REPORT_SECONDS:
                reported = now
                say({"progress": (message, done, total)})

        asked = json.loads(line)
        if asked["inBackground"] and hasattr(os, "nice"):
            os.nice(NICENESS)
        answer: dict[str, Any]
        try:
            answer = {"result": attrs.asdict(work(asked["question"], report))}
        except SnapdError as error:
            answer = {"error": error.kind, "message": error.message, "hint": error.hint, "data": error.data}
        say(answer)


def _lines(descriptor: int, check: Callable[[], None]) -> Iterator[bytes]:
    """Yields the lines of a pipe, the last one perhaps torn; calls `check` while it waits."""
    with selectors.DefaultSelector() as ready:
        ready.register(descriptor, selectors.EVENT_READ)
        held = b""
        while True:
            check()
            if not ready.select(_CHECK_SECONDS):
                continue
            data = os.read(descriptor, _READ_BYTES)
            if not data:
                break
            *lines, held = (held + data).split(b"\n")
            yield from lines
    if held:
        yield held


def _end_with_input() -> None:
    while os.read(0, _READ_BYTES):
        pass
    os._exit(1)


def as_line(value: dict[str, Any]) -> bytes:
    """Returns a message as a line of JSON."""
    # paths and ids are bytes
    return json.dumps(value, default=bytes.hex).encode("ascii") + b"\n"


def decode_answer(line: bytes) -> dict[str, Any] | SnapdError:
    """Returns the answer, or the error, in a line."""
    try:
        answer: dict[str, Any] = json.loads(line)
        if answer.keys() & {"result", "progress"}:
            return answer
        return _ERRORS[answer["error"]](answer["message"], hint=answer["hint"], **answer["data"])
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise Garbled from wrong


T = TypeVar("T")
A = TypeVar("A")

_QUESTIONS_TOGETHER = 32  # questions per write
_ANSWER_BYTES = 1 << 20
_PIPE_BYTES = 1 << 20


class WorkerLost(Exception):
    """A worker ended without an answer; the message has its exit status."""


class _Worker(Generic[T, A]):
    """One process, its unanswered questions, and the bytes in flight."""

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
        """Writes as much as the pipe takes."""
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
        """Reads what the pipe holds, and yields the complete answers."""
        data = os.read(self.process.output, _ANSWER_BYTES)
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
    """Processes that answer questions of one kind; for one thread at a time.

    `start` starts each of the `count` processes. `decode` takes bytes and an offset, and returns the answer there and
    its end offset, or None while it is incomplete. Each process may have `ahead` answers outstanding. Raises `OSError`,
    with no process left, if one cannot be started.
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
        """Kills the processes."""
        for worker in self._workers:
            worker.process.kill()
        while self._workers:
            self._workers.pop().process.end()

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids."""
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
        """Yields the tags of the outstanding answers."""
        for worker in self._workers:
            yield from worker.waiting

    def ask(self, question: bytes, tags: Sequence[T]) -> None:
        """Sends a question, with a tag for each of its answers, to the least busy process; raises `WorkerLost`."""
        min(self._workers, key=lambda worker: len(worker.waiting)).ask(question, tags)

    def answers(self, seconds: float) -> Iterator[tuple[T, A]]:
        """Yields the answers that have come, with their tags; take all of them before the next call.

        Waits at most `seconds` if none has come yet. Raises `WorkerLost`.
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
    """Enlarges a pipe's buffer where supported: fewer switches between the processes."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    except (AttributeError, ImportError, OSError):
        return
