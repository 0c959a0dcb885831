"""Reads many files at once, in processes of their own: hashing and compressing them takes more than one processor.

Threads gain nothing here: of a file of some kilobytes, what is done without the interpreter lock is too little.
"""

from __future__ import annotations

import os
import select
from collections import deque
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from snapd.workers.processes import ChildProcess

from .reader_process import ANSWER, DIRECTORY, NAME, UNREAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from snapd.core.model import RelPath
    from snapd.worktree.state.file_state import Record

T = TypeVar("T")

AT_ONCE = 16
"""Files that may be asked for together."""
_AHEAD_FILES = 256
_AHEAD_BYTES = 1 << 13
_LONGEST_PATH = 1 << 12
"""Bytes. So a pipe takes, on any system, what a process is asked before it has answered: to ask it never blocks."""
_PIPE_BYTES = 1 << 20
_READ_BYTES = 1 << 20


class ReaderLost(Exception):
    """A process ended before it had answered."""


class ReadFile(NamedTuple):
    """A file that was read.

    Attributes:
        record: what is to be remembered of it.
        packed: what the batch takes of it.
    """

    record: Record
    packed: bytes


class _Process(Generic[T]):
    """One process, and what it was asked."""

    def __init__(self, root: int, limit: int, packing: str) -> None:
        self._process = ChildProcess(
            "snapd.worktree.snapshot.reader_process",
            f"{root} {limit} {packing}",
            share=[root],
            pipe_bytes=_PIPE_BYTES,
            is_quiet=True,
        )
        self.output = self._process.output
        self._asked: deque[tuple[T, int]] = deque()
        self._asked_bytes = 0
        self._data = b""

    @property
    def asked(self) -> Iterator[T]:
        """What was asked for and is not answered."""
        return (what for what, _ in self._asked)

    @property
    def waiting(self) -> int:
        """Number of files of which that is so."""
        return len(self._asked)

    @property
    def has_room(self) -> bool:
        return len(self._asked) < _AHEAD_FILES and self._asked_bytes < _AHEAD_BYTES

    def ask(self, path: RelPath, files: Sequence[tuple[bytes, T]]) -> None:
        question = DIRECTORY.pack(len(path), len(files)) + path
        question += b"".join([NAME.pack(len(name)) + name for name, _ in files])
        # counted with the last one, so that it is in the pipe until all is answered
        sizes = [0] * (len(files) - 1) + [len(question)]
        self._asked += zip((what for _, what in files), sizes, strict=True)
        self._asked_bytes += len(question)
        try:
            os.write(self._process.input, question)
        except OSError as error:
            raise ReaderLost from error

    def take(self) -> Iterator[tuple[T, ReadFile | None]]:
        """Takes what it has answered by now."""
        more = os.read(self.output, _READ_BYTES)
        if not more:
            raise ReaderLost
        data = self._data + more
        at = 0
        while len(data) - at >= ANSWER.size:
            record, length = ANSWER.unpack_from(data, at)
            start = at + ANSWER.size
            if start + length > len(data):
                break
            what, asked = self._asked.popleft()
            self._asked_bytes -= asked
            found = None
            if data[at:start] != UNREAD:
                found = ReadFile(record, data[start : start + length])
            at = start + length
            yield what, found
        self._data = data[at:]

    def end(self) -> None:
        self._process.end()


class ReaderPool(Generic[T]):
    """Some processes that read files below a directory.

    Args:
        root: descriptor of the directory that paths are relative to.
        limit: bytes; a larger file is not read.
        packing: the module whose `packed_blob` makes of a file's bytes its id and what is stored.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, root: int, limit: int, packing: str) -> None:
        self._processes: list[_Process[T]] = []
        self._poll = select.poll()
        self._by_output: dict[int, _Process[T]] = {}
        try:
            for _ in range(os.cpu_count() or 2):
                process = _Process[T](root, limit, packing)
                self._processes.append(process)
                self._by_output[process.output] = process
                self._poll.register(process.output, select.POLLIN)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the processes, whatever they are doing."""
        while self._processes:
            self._processes.pop().end()

    @property
    def has_room(self) -> bool:
        """Whether more should be asked before answers are taken."""
        return any(process.has_room for process in self._processes)

    @property
    def is_waiting(self) -> bool:
        """Whether something was asked and is not answered."""
        return any(process.waiting for process in self._processes)

    def unanswered(self) -> Iterator[T]:
        """What was asked for and is not answered."""
        for process in self._processes:
            yield from process.asked

    def takes(self, path: RelPath) -> bool:
        """Whether files of a directory can be asked for: its path is short enough."""
        return len(path) <= _LONGEST_PATH

    def ask(self, path: RelPath, files: Sequence[tuple[bytes, T]]) -> None:
        """Asks for some files of a directory.

        Args:
            path: of the directory, below the root.
            files: the name of each, and what comes back with the answer; `AT_ONCE` at most.

        Raises:
            ReaderLost: nothing can be asked.
        """
        ready = (process for process in self._processes if process.has_room)
        min(ready, key=lambda process: process.waiting).ask(path, files)

    def answers(self, seconds: float) -> Iterator[tuple[T, ReadFile | None]]:
        """What was answered by now, of each file what was found; None where it was not read as it is.

        Args:
            seconds: to wait for an answer at most.

        Raises:
            ReaderLost: there will be none.
        """
        for descriptor, _ in self._poll.poll(seconds * 1000):
            yield from self._by_output[descriptor].take()
