"""Passes streams through line by line, byte for byte."""

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
"""The longest line that is read as a message, in bytes; longer ones pass unread."""
_CHUNK = 1 << 16


@attrs.frozen
class Piece:
    """A part of a stream with any line end: whether it is a `whole` line, and whether the line `ends` with it."""

    data: bytes
    whole: bool = True
    ends: bool = True


def pieces(descriptor: int, longest: int = LONGEST) -> Iterator[Piece]:
    """Reads a stream line by line, byte for byte; a line of more than `longest` bytes comes in several pieces."""
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
    """Writes lines to a stream; thread-safe. `close` closes the stream; None if it is not ours to close."""

    def __init__(self, descriptor: int, close: Callable[[], None] | None = None) -> None:
        self._descriptor = descriptor
        self._close = close
        self._closed = False
        self._turn = threading.Lock()
        self._inside = False

    def write(self, piece: Piece) -> None:
        """Writes a piece; no line is inserted before its line has ended. Raises `OSError` if the reader is gone."""
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
        """Writes a line between two others; `make` is called then, and may return None. Raises `OSError` as `write`."""
        with self._turn:
            line = make()
            if line is not None:
                self._write(line)

    def close(self) -> None:
        """Closes the stream after any write in progress."""
        with self._turn:
            self._closed = True
            if self._close is not None:
                self._close()

    def _write(self, data: bytes) -> None:
        if self._closed:
            # the descriptor's number may have been reused
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        _write(self._descriptor, data)


def _read(descriptor: int) -> bytes:
    while True:
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:
            # another process that shares the stream has made it non-blocking
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
