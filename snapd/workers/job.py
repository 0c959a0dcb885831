"""One job for a process of its own, both ends: `run_job` asks and waits, `serve` works and answers.

One line of JSON asks. Lines of JSON answer: how far the work is, and at last its result or its error. The process ends
when it has answered, when the job is cancelled, and when the process that asked is gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import attrs

from snapd.core.errors import IoError, SnapdError, StorageFull, StoreCorrupt, os_errors

from .processes import ChildProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Report = Callable[[str, int, int | None], None]
    """Takes a message, the units done, and the units in all (None if unknown)."""

NICENESS = 10
"""How much a process that works in the background lowers its priority."""

_ERRORS = {error.kind: error for error in (StoreCorrupt, StorageFull, IoError)}
_READ_BYTES = 1 << 16
_CHECK_SECONDS = 0.05
_REPORT_SECONDS = 0.1
"""Progress is reported no more often than this."""


class WorkerEnded(Exception):
    """The process ended before it had answered.

    Attributes:
        status: its exit status; for a signal, the negative number of it.
    """

    def __init__(self, status: int) -> None:
        super().__init__(f"the process ended with {status}")
        self.status = status


class _Garbled(Exception):
    """A line that is no answer, or not all of one."""


def run_job(
    module: str,
    question: dict[str, Any],
    *,
    in_background: bool,
    check: Callable[[], None],
    report: Report | None = None,
) -> dict[str, Any]:
    """Has a new process do one job, and waits for it. No process is left afterwards, whatever is raised.

    Args:
        module: the full name of the module whose `main` calls `serve`.
        question: what `serve` gives to the work, as JSON values.
        in_background: whether the process gives way to all others.
        check: is called at least every `_CHECK_SECONDS`; what it raises ends the job.
        report: is called in this thread with the progress of the work; may raise.

    Returns:
        The result of the work as JSON values; bytes come as hex.

    Raises:
        StoreCorrupt, StorageFull, IoError: what the work raised; `IoError` also if no process can be started.
        WorkerEnded: the process ended before it had answered.
    """
    with os_errors(sys.executable):
        child = ChildProcess(module)
    result = error = None
    try:
        # if the process is gone, its exit status says why
        with contextlib.suppress(OSError, _Garbled):
            # this end of the pipe stays open until `end`: when it closes, the process ends
            os.write(child.input, _line({"inBackground": in_background, "question": question}))
            for line in _lines(child.output, check):
                answer = _decode(line)
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
    """Does the one job that standard input asks for. What anything prints goes to standard error.

    Args:
        work: is called with the question, and a function that reports progress; returns its result as an attrs object.
            Every `SnapdError` that it raises is raised in the process that asked.
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
                answers.write(_line(answer))
                answers.flush()
            except BrokenPipeError:
                # the process that asked is gone, and `_end_with_input` has not seen it yet
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
    """The lines of a pipe until its end, the last one perhaps torn; `check` is called while none comes."""
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


def _line(value: dict[str, Any]) -> bytes:
    # paths and ids are bytes
    return json.dumps(value, default=bytes.hex).encode("ascii") + b"\n"


def _decode(line: bytes) -> dict[str, Any] | SnapdError:
    try:
        answer: dict[str, Any] = json.loads(line)
        if answer.keys() & {"result", "progress"}:
            return answer
        return _ERRORS[answer["error"]](answer["message"], hint=answer["hint"], **answer["data"])
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise _Garbled from wrong
