"""Starts worker processes, for work that would block this process or leave its memory large.

A process runs the `main` of one module. It reads questions from its standard input and writes answers to its standard
output. When the input ends, the process that asked is gone, and the worker must end too.
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
"""The worker imports the same packages as this process; the current directory and the environment have no influence."""
_HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class ChildProcess:
    """A worker process; starts when it is made.

    Args:
        module: the full name of the module whose `main` it runs.
        argument: the argument of `main`.
        share: descriptors that it inherits, with the same numbers.
        is_quiet: whether to discard its standard error.

    Attributes:
        pid: its process id.
        input: the descriptor for questions.
        output: the descriptor for answers.

    Raises:
        OSError: it cannot be started; with ENOSYS if `can_start` is false.
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
            [sys.executable, "-I", "-S", "-c", _BOOT, module, argument, *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if is_quiet else None,
            pass_fds=share,
            cwd="/",
            # a Ctrl-C in the terminal and signals to the group are for the process that asks
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.pid = self._process.pid
        self.input, self.output = self._process.stdin.fileno(), self._process.stdout.fileno()

    def kill(self) -> None:
        """Kills the process. Safe to call from any thread, also after it has ended."""
        self._process.kill()

    def wait(self) -> int:
        """Waits until it ends; returns its exit status, for a signal the negative number of it."""
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
    """Whether worker processes can be started: only from a plain interpreter."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)
