"""The agent as a process: started, signalled and ended together with the processes that it starts."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import TYPE_CHECKING

from snapd.environment import RECORDED

if TYPE_CHECKING:
    from collections.abc import Sequence

_BY_SIGNAL = 128


class Agent:
    """A command with pipes for its input and output, in a process group of its own.

    A launcher may start the real program and leave it behind, so the group is signalled as a whole. Its standard error
    is ours.

    Args:
        program: the path of what is run.
        words: the command, its name first.

    Attributes:
        input: where it reads what the editor says.
        output: where it speaks.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, program: str, words: Sequence[str]) -> None:
        # a session of its own makes a group of its own
        self._process = subprocess.Popen(
            words,
            executable=program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            env={**os.environ, RECORDED: "acp"},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.input = self._process.stdin
        self.output = self._process.stdout

    def wait(self) -> int:
        """Waits for its end; gives its exit code, or 128 and the number of the signal that ended it."""
        code = self._process.wait()
        return code if code >= 0 else _BY_SIGNAL - code

    def signal(self, number: int) -> None:
        """Signals the agent and what it has started; nothing happens where nobody of them is left."""
        # the group has the number of its first process, and keeps it while one of them is there
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
