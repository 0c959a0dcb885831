"""Runs the command under test, and ends it and everything that it started."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from snapd.cli.terminal.streams import can_be_asked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE_SECONDS = 5.0
"""How long a command has to end before it is killed."""
_NOT_FOUND = 127
_NOT_EXECUTABLE = 126
_BY_SIGNAL = 128


class TrialCommand:
    """A command that runs several times, without terminal and input, so that each run has the same conditions.

    As a context manager, it turns Ctrl-C, SIGTERM and SIGHUP into one `KeyboardInterrupt`, raised only when the command
    has ended and in `interruptible` blocks, so that everything is cleaned up. After that, the process ends by SIGTERM
    or SIGHUP if it received one.
    """

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._before: dict[int, Any] = {}
        self._came: int | None = None
        self._is_interruptible = False
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> TrialCommand:
        for number in _STOPPING:
            # an ignored signal stays ignored, as with nohup
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._came in (signal.SIGTERM, signal.SIGHUP):
            # end by the same signal, so that the sender can see that
            signal.signal(self._came, signal.SIG_DFL)
            os.kill(os.getpid(), self._came)
        self._check()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Lets signals interrupt the block; raises `KeyboardInterrupt` if one came before."""
        try:
            self._is_interruptible = True
            self._check()
            yield
        finally:
            self._is_interruptible = False

    def run(self, directory: bytes) -> int:
        """Runs the command to its end, and ends what it leaves running in its process group.

        Returns its exit code, 128 plus the number of the signal that ended it, 127 if there is no such program, or 126
        if it cannot be run.
        """
        try:
            self._process = self._start(directory)
        except FileNotFoundError:
            return _NOT_FOUND
        except OSError:
            return _NOT_EXECUTABLE
        try:
            with self.interruptible():
                code = self._process.wait()
        except KeyboardInterrupt:
            self._end(self._process)
            raise
        finally:
            self._send(signal.SIGKILL)
            self._process = None
        return code if code >= 0 else _BY_SIGNAL - code

    def _check(self) -> None:
        if self._came is not None:
            raise KeyboardInterrupt

    def _start(self, directory: bytes) -> subprocess.Popen[bytes]:
        # standard output is for the result; if standard error has no reader, the command must not fail
        output = 2 if can_be_asked() else subprocess.DEVNULL
        return subprocess.Popen(
            self._words,
            cwd=directory,
            env={**os.environ, "PWD": os.fsdecode(directory)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        self._send(self._came or signal.SIGINT)
        try:
            process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._send(signal.SIGKILL)
            process.wait()

    def _send(self, number: int) -> None:
        """Sends a signal to the command and to everything it started that is still in its process group."""
        if self._process is not None:
            try:
                os.killpg(self._process.pid, number)
            except (ProcessLookupError, PermissionError):
                # the group is empty; macOS raises the latter if only ended processes are left
                return

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self._came is not None:
            # do not wait any longer
            self._send(signal.SIGKILL)
            return
        self._came = number
        if self._is_interruptible:
            raise KeyboardInterrupt
