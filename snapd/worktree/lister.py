"""Lists many directories at once, in processes of their own: making objects of statuses takes the interpreter lock.

Two processes take half the time of one; they live for one look. They are given paths below a directory that is open,
and follow no symlink, as everything here.
"""

from __future__ import annotations

import logging
import os
import select
import struct
import subprocess
import sys
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from .listing import Listing, decode

if TYPE_CHECKING:
    from snapd.core.model import RelPath

logger = logging.getLogger(__name__)

T = TypeVar("T")

_PROCESSES = 2
_AHEAD = 96
"""Directories that a process is asked for before it has answered: the paths fit into a pipe, so asking never waits."""
_TOGETHER = 32
_READ_BYTES = 1 << 20
_LONGEST_PATH = 900
"""Bytes: longer ones, were all of them so long, would not fit."""


class ListerLost(Exception):
    """A process ended before it had answered."""


class _Process(Generic[T]):
    """One process, and what it was asked."""

    def __init__(self, root: int) -> None:
        script = os.path.join(os.path.dirname(__file__), "lister_process.py")
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", script, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(root,),
            bufsize=0,
            pipesize=_READ_BYTES,
            env={},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin = self._process.stdin
        self.output = self._process.stdout.fileno()
        self._stdout = self._process.stdout
        self._unsent: list[bytes] = []
        self._asked: deque[T] = deque()
        self._data = b""

    @property
    def waiting(self) -> int:
        """What was asked and is not answered."""
        return len(self._asked)

    def ask(self, path: RelPath, what: T) -> None:
        self._asked.append(what)
        self._unsent.append(struct.pack("<H", len(path)) + path)
        if len(self._unsent) >= _TOGETHER:
            self.flush()

    def flush(self) -> None:
        if self._unsent:
            data, self._unsent = b"".join(self._unsent), []
            try:
                self._stdin.write(data)
            except OSError as error:
                raise ListerLost from error

    def answers(self) -> list[tuple[T, Listing]]:
        """Waits for bytes and gives the listings that are whole."""
        data = os.read(self.output, _READ_BYTES)
        if not data:
            raise ListerLost
        self._data += data
        at = 0
        found: list[tuple[T, Listing]] = []
        while (decoded := decode(self._data, at)) is not None:
            listing, at = decoded
            found.append((self._asked.popleft(), listing))
        self._data = self._data[at:]
        return found

    def end(self) -> None:
        self._process.kill()
        self._stdin.close()
        self._stdout.close()
        self._process.wait()


class Lister(Generic[T]):
    """Some processes that list directories. A context manager.

    Args:
        root: descriptor of the directory that paths are relative to.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, root: int) -> None:
        self._processes: list[_Process[T]] = []
        try:
            for _ in range(_PROCESSES):
                self._processes.append(_Process(root))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the processes, whatever they are doing."""
        for process in self._processes:
            process.end()
        self._processes.clear()

    @property
    def has_room(self) -> bool:
        """Whether more may be asked before answers are taken."""
        return any(process.waiting < _AHEAD for process in self._processes)

    @property
    def is_waiting(self) -> bool:
        """Whether something was asked and is not answered."""
        return any(process.waiting for process in self._processes)

    def takes(self, path: RelPath) -> bool:
        """Whether a path is short enough to be asked for."""
        return len(path) <= _LONGEST_PATH

    def ask(self, path: RelPath, what: T) -> None:
        """Asks for a directory.

        Args:
            path: below the root.
            what: comes back with the answer.

        Raises:
            ListerLost: nothing can be asked.
        """
        min(self._processes, key=lambda process: process.waiting).ask(path, what)

    def answers(self) -> list[tuple[T, Listing]]:
        """Waits for some answers.

        Raises:
            ListerLost: there will be none.
        """
        poll = select.poll()
        for process in self._processes:
            process.flush()
            if process.waiting:
                poll.register(process.output, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll()}
        return [answer for process in self._processes if process.output in ready for answer in process.answers()]
