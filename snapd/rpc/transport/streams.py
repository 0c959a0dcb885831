"""Asyncio streams for standard input and output (pipes, sockets, terminals or files), and bounded output."""

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
"""Unread output of a client, in bytes, at which its requests wait."""
SEND_BYTES = 4 << 20
"""The requested send buffer; with less, a page of a diff is sent in dozens of pieces."""
PUSHED_BYTES = 64 << 20
"""Unread notifications of a client, in bytes, at which it is dropped."""


def take_stdout() -> int:
    """Reserves standard output for the protocol and returns its descriptor; prints then go to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept


async def open_stdio(stdin: int, stdout: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Creates streams for two descriptors; `stdout` is closed with the writer."""
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
    """Whether asyncio can wait for a descriptor: not for regular files and most devices."""
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
    """The output to one client."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._transport = writer.transport
        self._transport.set_write_buffer_limits(high=UNREAD_BYTES)
        connection = self._transport.get_extra_info("socket")
        if connection is not None:
            # the system silently reduces the size to its limit
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        self._written = 0
        self._pushed = 0
        self._watch: asyncio.TimerHandle | None = None

    def send(self, framed: bytes) -> None:
        """Sends an answer; `writable` limits how many a client leaves unread."""
        if self._transport.is_closing():
            return
        self._written += len(framed)
        self._writer.write(framed)

    def push(self, framed: bytes) -> None:
        """Sends a notification; drops the client if too many are unread."""
        if self._transport.is_closing():
            return
        if self._transport.get_write_buffer_size() == 0:
            self._pushed = 0
        self._pushed += len(framed)
        if self._pushed > PUSHED_BYTES:
            logger.warning("dropped a client that does not read its notifications")
            self._transport.abort()
        self.send(framed)

    @property
    def is_writable(self) -> bool:
        """Whether the client has not too much unread output."""
        return self._transport.get_write_buffer_size() <= UNREAD_BYTES

    async def writable(self) -> None:
        """Waits while the client has too much unread output."""
        # the reader of the client's frames detects that the client is gone
        with contextlib.suppress(OSError):
            await self._writer.drain()

    def give_up_after(self, seconds: float) -> None:
        """From now on, drops the client if it reads no pending output for this long."""
        self._cancel_watch()
        taken = self._taken()
        self._watch = asyncio.get_running_loop().call_later(seconds, self._check, seconds, taken)

    def drop(self) -> None:
        """Closes the connection, discarding unread output."""
        self._transport.abort()

    async def close(self) -> None:
        """Closes the connection once the client has read all output, or was dropped; see `give_up_after`."""
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
