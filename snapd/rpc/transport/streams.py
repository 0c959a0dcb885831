"""Asyncio streams of standard input and output, be they pipes, sockets, terminals or files; and bounded output."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import stat
import sys
import threading

from .framing import MAX_HEADER_BYTES

_CHUNK = 1 << 16
logger = logging.getLogger(__name__)
UNREAD_BYTES = 1 << 20
"""How much unread output a client may have before its requests wait."""
SEND_BYTES = 4 << 20
"""The send buffer that we ask the system for; with less, a page of a diff leaves in dozens of pieces."""
PUSHED_BYTES = 64 << 20
"""How many bytes of unread notifications a client may have before it is dropped."""


def take_stdout() -> int:
    """Reserves standard output for the protocol.

    Returns:
        A descriptor of standard output. From now on, everything that this process prints goes to standard error.
    """
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept


async def open_stdio(stdin: int, stdout: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Makes streams of two descriptors.

    Args:
        stdin: the descriptor to read from.
        stdout: the descriptor to write to; closed with the writer.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_HEADER_BYTES * 4)
    protocol = asyncio.StreamReaderProtocol(reader)
    source = stdin if _is_pollable(stdin) else _read_stream(stdin)
    await loop.connect_read_pipe(lambda: protocol, os.fdopen(source, "rb", buffering=0))
    target = stdout if _is_pollable(stdout) else _write_stream(stdout)
    transport, flow = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(target, "wb", buffering=0)
    )
    return reader, asyncio.StreamWriter(transport, flow, None, loop)


def _is_pollable(descriptor: int) -> bool:
    """Whether asyncio can wait for a descriptor: it cannot for regular files and most devices."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


def _read_stream(descriptor: int) -> int:
    ours, theirs = os.pipe()
    _start_pump(descriptor, theirs)
    return ours


def _write_stream(descriptor: int) -> int:
    theirs, ours = os.pipe()
    _start_pump(theirs, descriptor, daemon=False)
    return ours


def _start_pump(source: int, target: int, *, daemon: bool = True) -> None:
    def pump() -> None:
        with contextlib.suppress(OSError):
            while chunk := os.read(source, _CHUNK):
                view = memoryview(chunk)
                while view:
                    view = view[os.write(target, view) :]
        # close both ends, so that the other end of the pipe notices that nothing more comes
        os.close(source)
        os.close(target)

    threading.Thread(target=pump, name="snapd-stdio", daemon=daemon).start()


class Outbox:
    """Writes to one client.

    Args:
        writer: the stream to the client.
    """

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._transport = writer.transport
        self._transport.set_write_buffer_limits(high=UNREAD_BYTES)
        connection = self._transport.get_extra_info("socket")
        if connection is not None:
            # the system cuts a larger size than it allows down, without an error
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        self._written = 0
        self._pushed = 0
        self._watch: asyncio.TimerHandle | None = None

    def send(self, framed: bytes) -> None:
        """Sends an answer. `writable` keeps the client from asking for too many of them."""
        if self._transport.is_closing():
            return
        self._written += len(framed)
        self._writer.write(framed)

    def push(self, framed: bytes) -> None:
        """Sends a notification. Drops the client if it has left too many of them unread."""
        if self._transport.is_closing():
            return
        if self._transport.get_write_buffer_size() == 0:
            self._pushed = 0
        self._pushed += len(framed)
        if self._pushed > PUSHED_BYTES:
            logger.warning("dropped a client that does not read its notifications")
            self._transport.abort()
        self.send(framed)

    async def writable(self) -> None:
        """Waits while the client has too much unread output."""
        # the reader of the client's frames notices that the client is gone
        with contextlib.suppress(OSError):
            await self._writer.drain()

    def give_up_after(self, seconds: float) -> None:
        """From now on, drops the client when it has left output unread for this long without taking any of it."""
        self._cancel_watch()
        taken = self._taken()
        self._watch = asyncio.get_running_loop().call_later(seconds, self._check, seconds, taken)

    def drop(self) -> None:
        """Closes the connection, whatever the client has not taken."""
        self._transport.abort()

    async def close(self) -> None:
        """Closes the connection once the client has taken all output, or was dropped; see `give_up_after`."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
        self._cancel_watch()

    def _taken(self) -> int:
        return self._written - self._transport.get_write_buffer_size()

    def _check(self, seconds: float, taken_before: int) -> None:
        if self._transport.get_write_buffer_size() and self._taken() == taken_before:
            logger.warning("dropped a client that does not read its last answers")
            self._transport.abort()
        else:
            self.give_up_after(seconds)

    def _cancel_watch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
