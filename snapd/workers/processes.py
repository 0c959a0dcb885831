"""Starts processes of snapd's own, for work that would hold up this one or leave its memory large.

A process runs the `main` of one module. It is asked on its standard input and answers on its standard output; when the
input ends, whoever asked is gone, and it must end too.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_BOOT = (
    "import sys; from importlib import import_module; "
    "module, argument, *sys.path = sys.argv[1:]; import_module(module).main(argument)"
)
"""A process finds the same packages as this one, and nothing in the directory or by the variables of either."""
_HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class ChildProcess:
    """A process, just started.

    Args:
        module: the full name of the one whose `main` it runs.
        argument: what that is called with.
        share: descriptors that it has too, under the same numbers.
        pipe_bytes: what a pipe is to take at once, -1 for what the system gives it.
        is_quiet: whether what it writes to its standard error goes nowhere.

    Attributes:
        pid: its process id.
        input: descriptor that it is asked by.
        output: descriptor that its answers come from.

    Raises:
        OSError: it cannot be started; ENOSYS where `can_start` says so.
    """

    def __init__(
        self,
        module: str,
        argument: str = "",
        *,
        share: Sequence[int] = (),
        pipe_bytes: int = -1,
        is_quiet: bool = False,
    ) -> None:
        if not can_start():
            # of a program that is an interpreter and more, this would start another whole
            raise OSError(errno.ENOSYS, "this program is no plain interpreter", sys.executable)
        places = [_HERE, *(place for place in sys.path if os.path.isabs(place))]
        self._process = subprocess.Popen(
            # no site module: the places are known, and it is there sooner
            [sys.executable, "-I", "-S", "-c", _BOOT, module, argument, *places],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if is_quiet else None,
            pass_fds=share,
            cwd="/",
            # a Ctrl-C in the terminal is for who asks, and a signal to its group too
            start_new_session=True,
            bufsize=0,
            pipesize=pipe_bytes,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.pid = self._process.pid
        self.input, self.output = self._process.stdin.fileno(), self._process.stdout.fileno()

    def kill(self) -> None:
        """Ends it at once, whatever it does. Safe to call from any thread, also when it has ended."""
        self._process.kill()

    def wait(self) -> int:
        """Waits for its end; returns its exit status, the negative number of a signal."""
        return self._process.wait()

    def end(self) -> int:
        """Ends it at once, waits for it, and lets go of its pipes; returns its exit status as `wait`."""
        self.kill()
        status = self.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        return status


def can_start() -> bool:
    """Whether this process can have others: in a plain interpreter it can."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)
