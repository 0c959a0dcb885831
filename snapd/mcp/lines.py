"""Lines in and out: the stdio transport has one JSON-RPC message on each, without line breaks in it."""

from __future__ import annotations

import os
import select
import threading
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINE = 4 << 20
"""The longest line that is read, in bytes. No call of a tool needs more than a few kilobytes."""
_CHUNK = 1 << 16


def read_lines(descriptor: int, longest: int = MAX_LINE) -> Iterator[bytes | None]:
    """Reads lines until the end of the input.

    Args:
        descriptor: what to read from.
        longest: how many bytes a line may have.

    Yields:
        Each line that is not blank, without its end; None in place of one that is too long, once all of it was read.
    """
    line = bytearray()
    is_too_long = False
    while chunk := _read(descriptor):
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            is_too_long = is_too_long or len(line) + len(part) > longest
            if is_too_long:
                yield None
            elif whole := (bytes(line) + part).strip():
                yield whole
            line.clear()
            is_too_long = False
        is_too_long = is_too_long or len(line) + len(rest) > longest
        if is_too_long:
            line.clear()
        else:
            line += rest
    if is_too_long:
        yield None
    elif last := bytes(line).strip():
        # whoever is at the other end may have closed it without a last line break
        yield last


class Output:
    """Writes messages; any number of threads may do so at once.

    Args:
        descriptor: what to write to.

    Attributes:
        is_lost: whether nobody reads any more. What is sent from then on is dropped.
    """

    def __init__(self, descriptor: int) -> None:
        self.is_lost = False
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Writes a message as one line."""
        view = memoryview(orjson.dumps({"jsonrpc": "2.0", **message}) + b"\n")
        with self._lock:
            try:
                while view and not self.is_lost:
                    try:
                        view = view[os.write(self._descriptor, view) :]
                    except BlockingIOError:
                        _wait(self._descriptor, select.POLLOUT)
            except OSError:
                self.is_lost = True


def _read(descriptor: int) -> bytes:
    """Reads what is there, or waits for some; empty at the end."""
    while True:
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:
            _wait(descriptor, select.POLLIN)


def _wait(descriptor: int, event: int) -> None:
    """Waits for a descriptor that whoever has its other end, too, made one that does not block."""
    poll = select.poll()
    poll.register(descriptor, event)
    poll.poll()
