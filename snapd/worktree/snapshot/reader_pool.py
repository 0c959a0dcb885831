"""Reads many files at once, in processes of their own: hashing and compressing them takes more than one processor.

Threads gain nothing here: with files of some kilobytes, too little of the work is done without the interpreter lock.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from snapd.workers.pool import WorkerPool
from snapd.workers.processes import ChildProcess

from .reader_process import ANSWER, DIRECTORY, NAME, UNREAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.core.model import RelPath
    from snapd.worktree.state.file_state import Record

T = TypeVar("T")

FILES_TOGETHER = 16
"""Files of a directory to ask for in one question: with more, one process may get all of them."""
_AHEAD = 256
"""How many files each process may still owe before it gets no more questions."""


class ReadFile(NamedTuple):
    """A file that was read.

    Attributes:
        record: for the state of the work tree.
        packed: for the batch.
    """

    record: Record
    packed: bytes


class ReaderPool(WorkerPool[T, "ReadFile | None"]):
    """Some processes that read files below a directory; the answer is None for a file that this process has to read.

    Args:
        root: descriptor of the directory that paths are relative to.
        limit: bytes; larger files are not read.
        packing: the module whose `packed_blob` turns a file's bytes into its id and what is stored.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, root: int, limit: int, packing: str) -> None:
        def start() -> ChildProcess:
            argument = f"{root} {limit} {packing}"
            return ChildProcess("snapd.worktree.snapshot.reader_process", argument, share=[root], is_quiet=True)

        super().__init__(os.cpu_count() or 2, start, _decode, _AHEAD)

    def read_files(self, path: RelPath, files: Sequence[tuple[bytes, T]]) -> None:
        """Asks for some files of a directory.

        Args:
            path: of the directory, below the root.
            files: the name of each, and the tag that comes back with it; `FILES_TOGETHER` at most.

        Raises:
            WorkerLost: a process has ended.
        """
        names = [NAME.pack(len(name)) + name for name, _ in files]
        self.ask(b"".join((DIRECTORY.pack(len(path), len(files)), path, *names)), [tag for _, tag in files])


def _decode(data: bytes, at: int) -> tuple[ReadFile | None, int] | None:
    start = at + ANSWER.size
    if start > len(data):
        return None
    record, length = ANSWER.unpack_from(data, at)
    end = start + length
    if end > len(data):
        return None
    return (None if data[at:start] == UNREAD else ReadFile(record, data[start:end])), end
