"""Lines of bytes in and out: what one side writes is what the other side reads, whatever it is."""

from __future__ import annotations

import errno
import os
import select
import threading
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST = 64 << 20
"""The longest line that is read as a message, in bytes; what is longer passes as it comes."""
_CHUNK = 1 << 16


@attrs.frozen
class Piece:
    """A part of a stream.

    Attributes:
        data: its bytes, with the line end.
        whole: whether it is a whole line.
        ends: whether the line ends with it.
    """

    data: bytes
    whole: bool = True
    ends: bool = True


def pieces(descriptor: int, longest: int = LONGEST) -> Iterator[Piece]:
    """Reads a stream to its end, line by line; joined, the pieces are what was read.

    The last line may have no line end. A line longer than `longest` comes in several pieces.

    Args:
        descriptor: of the stream.
        longest: bytes of a line that are kept at once.

    Raises:
        OSError: the stream cannot be read.
    """
    kept = bytearray()
    inside = False
    while data := _read(descriptor):
        searched = len(kept)
        kept += data
        start = 0
        while (at := kept.find(b"\n", max(start, searched))) >= 0:
            yield Piece(bytes(kept[start : at + 1]), whole=not inside and at < start + longest)
            start, inside = at + 1, False
        del kept[:start]
        if kept and (inside or len(kept) > longest):
            yield Piece(bytes(kept), whole=False, ends=False)
            inside = True
            kept.clear()
    if kept or inside:
        yield Piece(bytes(kept), whole=not inside)


class Writer:
    """Writes to a stream, a line at a time, for any number of threads.

    Args:
        descriptor: of the stream.
        close: closes it; None for a stream that is not ours to close.
    """

    def __init__(self, descriptor: int, close: Callable[[], None] | None = None) -> None:
        self._descriptor = descriptor
        self._close = close
        self._closed = False
        self._turn = threading.Lock()
        self._inside = False

    def write(self, piece: Piece) -> None:
        """Writes a piece; nobody else's line comes in until the line has ended. For the thread that carries the stream.

        Raises:
            OSError: nobody reads the stream any more.
        """
        if not self._inside:
            self._turn.acquire()
        try:
            self._write(piece.data)
        except OSError:
            self._turn.release()
            self._inside = False
            raise
        self._inside = not piece.ends
        if piece.ends:
            self._turn.release()

    def insert(self, make: Callable[[], bytes | None]) -> None:
        """Writes a line of our own between two others.

        Args:
            make: makes the line, once its turn has come; None for no line.

        Raises:
            OSError: nobody reads the stream any more.
        """
        with self._turn:
            line = make()
            if line is not None:
                self._write(line)

    def close(self) -> None:
        """Closes the stream, once what is being written is written."""
        with self._turn:
            self._closed = True
            if self._close is not None:
                self._close()

    def _write(self, data: bytes) -> None:
        if self._closed:
            # by now, another stream may have its number
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        _write(self._descriptor, data)


def _read(descriptor: int) -> bytes:
    while True:
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:
            # somebody who shares the stream made it one that does not block
            _wait(descriptor, select.POLLIN)


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:
            _wait(descriptor, select.POLLOUT)


def _wait(descriptor: int, event: int) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    poll.poll()
