"""The output of one connection: written without waiting, and bounded if the client does not read."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket

logger = logging.getLogger(__name__)

UNREAD_BYTES = 1 << 20
"""How much unread output a client may have before its requests wait."""
SEND_BYTES = 4 << 20
"""The send buffer that we ask the system for; with less, a page of a diff leaves in dozens of pieces."""
PUSHED_BYTES = 64 << 20
"""How many bytes of unread notifications a client may have before it is dropped."""


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
