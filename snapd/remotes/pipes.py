"""What goes into a process and what comes out of it, each in a thread of its own, so that none waits for another."""

from __future__ import annotations

import threading
from typing import IO

_CHUNK = 1 << 16


class Pipe(threading.Thread):
    """One end of a pipe, which is closed when the thread ends.

    Args:
        file: the pipe.
    """

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._file = file

    def run(self) -> None:
        """Works until the other end is closed."""
        try:
            self._work()
        finally:
            self._close()

    def _work(self) -> None:
        raise NotImplementedError

    def _close(self) -> None:
        self._file.close()


class Feeder(Pipe):
    """Gives a process its input.

    Args:
        file: the pipe.
        data: the input.
    """

    def __init__(self, file: IO[bytes], data: bytes) -> None:
        super().__init__(file)
        self._data = data

    def _work(self) -> None:
        try:
            self._file.write(self._data)
            self._file.flush()
        except BrokenPipeError:
            # it has ended without the rest, and says why
            return

    def _close(self) -> None:
        try:
            self._file.close()
        except BrokenPipeError:
            return


class Drain(Pipe):
    """Reads what a process puts out, to its end, and keeps the beginning.

    Args:
        file: the pipe.
        most: the bytes that are kept; None for all.

    Attributes:
        is_over: whether there was more.
    """

    def __init__(self, file: IO[bytes], most: int | None) -> None:
        super().__init__(file)
        self._most = most
        self._kept = bytearray()
        self.is_over = False

    @property
    def kept(self) -> bytes:
        """What was read and kept."""
        return bytes(self._kept)

    def _work(self) -> None:
        while data := self._read():
            self._kept += data
            if self._most is not None and len(self._kept) > self._most:
                del self._kept[self._most :]
                self.is_over = True

    def _read(self) -> bytes:
        # what is there, without waiting until there is more
        found: bytes = self._file.read1(_CHUNK)  # type: ignore[attr-defined]
        return found
