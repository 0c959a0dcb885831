"""Lists many directories at once, in processes of their own: making objects of statuses takes the interpreter lock.

Two processes take half the time of one; they live for one look. They are given paths below a directory that is open,
and follow no symlink, as everything here. Each directory is watched before it is listed, where there is a queue for it.
"""

from __future__ import annotations

import os
import queue
import select
import struct
import threading
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

import attrs

from snapd.workers.processes import ChildProcess
from snapd.worktree.fs.listing import Listing, decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from snapd.core.model import RelPath

T = TypeVar("T")

_PROCESSES = 2
_AHEAD = 96
"""Directories for each process that are asked for before they are answered: their listings are held in memory."""
_EARLY = 1 << 14
"""Directories that may be asked for before anyone wants them, likewise."""
_TOGETHER = 32
_READ_BYTES = 1 << 20
_LONGEST_PATH = 0xFFFF


class ListerLost(Exception):
    """A process ended before it had answered."""


@attrs.define(eq=False)
class _Asked(Generic[T]):
    """A directory that was asked for.

    Attributes:
        what: comes back with the answer; None while nobody wants it.
        listing: the answer, where it was there before somebody wanted it.
    """

    what: T | None
    listing: Listing | None = None


class _Process(Generic[T]):
    """One process, and what it was asked."""

    def __init__(self, root: int, clock_queues: Sequence[int]) -> None:
        shared = [root, *clock_queues]
        self._process = ChildProcess(
            "snapd.worktree.snapshot.lister_process",
            " ".join(map(str, shared)),
            share=shared,
            pipe_bytes=_READ_BYTES,
            is_quiet=True,
        )
        self.output = self._process.output
        self._unsent: list[bytes] = []
        self._asked: deque[_Asked[T]] = deque()
        self._data = b""

    @property
    def waiting(self) -> int:
        """What was asked and is not answered."""
        return len(self._asked)

    def ask(self, path: RelPath, asked: _Asked[T]) -> None:
        self._asked.append(asked)
        self._unsent.append(struct.pack("<H", len(path)) + path)
        if len(self._unsent) >= _TOGETHER:
            self.flush()

    def flush(self) -> None:
        if self._unsent:
            data, self._unsent = b"".join(self._unsent), []
            try:
                os.write(self._process.input, data)
            except OSError as error:
                raise ListerLost from error

    def answers(self, data: bytes) -> Iterator[tuple[_Asked[T], Listing]]:
        """Takes bytes and gives the listings that are whole."""
        data = self._data + data
        at = 0
        while (decoded := decode(data, at)) is not None:
            listing, at = decoded
            yield self._asked.popleft(), listing
        self._data = data[at:]

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        self._process.end()


class ListerPool(Generic[T]):
    """Some processes that list directories. A context manager.

    Args:
        root: descriptor of the directory that paths are relative to.
        clock_queues: where each directory is watched before it is listed, see `snapd.watch.clock.Clock.lend`; empty
            where that is not to be.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, root: int, clock_queues: Sequence[int] = ()) -> None:
        self._processes: list[_Process[T]] = []
        self._early: dict[RelPath, _Asked[T]] = {}
        self._ready: list[tuple[T, Listing]] = []
        self._wanted = 0
        self._arrived: queue.SimpleQueue[tuple[_Process[T], bytes]] = queue.SimpleQueue()
        self._reader: threading.Thread | None = None
        try:
            for _ in range(_PROCESSES):
                self._processes.append(_Process(root, clock_queues))
            # what is asked of a process can be written at any time: what it answers is always taken
            self._reader = threading.Thread(target=self._read, args=(tuple(self._processes),), name="snapd-lists")
            self._reader.start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the processes, whatever they are doing."""
        for process in self._processes:
            process.kill()
        if self._reader is not None:
            self._reader.join()
        for process in self._processes:
            process.end()
        self._processes.clear()

    @property
    def has_room(self) -> bool:
        """Whether more should be asked before answers are taken."""
        return self._wanted < _AHEAD * _PROCESSES

    @property
    def is_waiting(self) -> bool:
        """Whether something was asked and is not answered."""
        return self._wanted > 0

    def takes(self, path: RelPath) -> bool:
        """Whether a directory can be asked for: it is not the root, and its path is short enough."""
        return 0 < len(path) <= _LONGEST_PATH

    def ask_early(self, paths: Iterable[RelPath]) -> None:
        """Has directories listed that somebody is going to ask for, most likely in this order.

        Raises:
            ListerLost: nothing can be asked.
        """
        for path in paths:
            if len(self._early) == _EARLY:
                return
            if self.takes(path):
                asked = self._early[path] = _Asked[T](None)
                self._processes[len(self._early) % _PROCESSES].ask(path, asked)
        for process in self._processes:
            process.flush()

    def ask(self, path: RelPath, what: T) -> None:
        """Asks for a directory.

        Args:
            path: below the root.
            what: comes back with the answer.

        Raises:
            ListerLost: nothing can be asked.
        """
        self._wanted += 1
        asked = self._early.pop(path, None)
        if asked is None:
            min(self._processes, key=lambda process: process.waiting).ask(path, _Asked(what))
        elif asked.listing is None:
            asked.what = what
        else:
            self._ready.append((what, asked.listing))

    def answers(self) -> list[tuple[T, Listing]]:
        """Waits for some answers.

        Raises:
            ListerLost: there will be none.
        """
        for process in self._processes:
            process.flush()
        while not self._ready:
            self._take()
        ready, self._ready = self._ready, []
        self._wanted -= len(ready)
        return ready

    def unwanted(self) -> Iterator[Listing]:
        """What was listed early and never asked for; waits for all of it.

        Raises:
            ListerLost: not all of it will come.
        """
        while any(asked.listing is None for asked in self._early.values()):
            self._take()
        for asked in self._early.values():
            assert asked.listing is not None
            yield asked.listing

    def _take(self) -> None:
        process, data = self._arrived.get()
        if not data:
            raise ListerLost
        for asked, listing in process.answers(data):
            if asked.what is None:
                asked.listing = listing
            else:
                self._ready.append((asked.what, listing))

    def _read(self, processes: tuple[_Process[T], ...]) -> None:
        """Takes what the processes answer, until they end."""
        open_ones = {process.output: process for process in processes}
        poll = select.poll()
        for descriptor in open_ones:
            poll.register(descriptor, select.POLLIN)
        while open_ones:
            for descriptor, _ in poll.poll():
                data = os.read(descriptor, _READ_BYTES)
                self._arrived.put((open_ones[descriptor], data))
                if not data:
                    poll.unregister(descriptor)
                    del open_ones[descriptor]
