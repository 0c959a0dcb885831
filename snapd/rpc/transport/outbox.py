"""What one client is told: written without waiting, bounded where nobody reads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket

logger = logging.getLogger(__name__)

UNREAD_BYTES = 1 << 20
"""Output that a client has not read before its requests wait."""
SEND_BYTES = 4 << 20
"""What the system takes of an answer at once, where it lets us: else a page of a diff leaves in dozens of pieces."""
PUSHED_BYTES = 64 << 20
"""Notifications that a client has not read before it is dropped instead of being told more."""


class Outbox:
    """The way out to one client.

    Args:
        writer: leads to it.
    """

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._transport = writer.transport
        self._transport.set_write_buffer_limits(high=UNREAD_BYTES)
        connection = self._transport.get_extra_info("socket")
        if connection is not None:
            # more than the user may have is cut down, not refused
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        self._written = 0
        self._pushed = 0
        self._watch: asyncio.TimerHandle | None = None

    def send(self, framed: bytes) -> None:
        """Sends what the client asked for; `writable` is what keeps it from asking for too much."""
        if self._transport.is_closing():
            return
        self._written += len(framed)
        self._writer.write(framed)

    def push(self, framed: bytes) -> None:
        """Sends what the client did not ask for; where it lets too much of that lie unread, it is dropped."""
        if self._transport.is_closing():
            return
        if self._transport.get_write_buffer_size() == 0:
            self._pushed = 0
        self._pushed += len(framed)
        if self._pushed > PUSHED_BYTES:
            logger.warning("a client that does not read is dropped")
            self._transport.abort()
        self.send(framed)

    async def writable(self) -> None:
        """Waits while too much is unread."""
        # whoever reads the client's frames learns that it is gone
        with contextlib.suppress(OSError):
            await self._writer.drain()

    def give_up_after(self, seconds: float) -> None:
        """From now on drops the client when it has taken nothing for so long, though there was something to take."""
        self._cancel_watch()
        taken = self._taken()
        self._watch = asyncio.get_running_loop().call_later(seconds, self._check, seconds, taken)

    async def close(self) -> None:
        """Closes when the rest was taken, or the client was given up; see `give_up_after`."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
        self._cancel_watch()

    def _taken(self) -> int:
        return self._written - self._transport.get_write_buffer_size()

    def _check(self, seconds: float, taken_before: int) -> None:
        if self._transport.get_write_buffer_size() and self._taken() == taken_before:
            logger.warning("a client that does not read its last answers is dropped")
            self._transport.abort()
        else:
            self.give_up_after(seconds)

    def _cancel_watch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
