"""Passes on what the daemon says to every stream; lives on the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import attrs
import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_STREAMS = 64
"""Streams at once."""
_MAX_EVENTS = 1000
_MAX_BYTES = 8 << 20
"""What is kept for a stream that is not read, at most: events, and bytes of them."""


@attrs.frozen
class Event:
    """An event as it is sent.

    Attributes:
        seq: the number of the notification; None for what only this server tells, which cannot be caught up with.
        data: its lines.
        is_reset: whether everything has to be loaded anew, and the numbers go on from this one.
    """

    seq: int | None
    data: bytes
    is_reset: bool = False


def notification(method: str, params: Mapping[str, Any]) -> Event:
    """The event for a notification of the daemon."""
    return Event(params["seq"], b"id: %d\n%s" % (params["seq"], _lines(method, params)))


def reset(latest: int) -> Event:
    """The event for a client that missed some that are not kept."""
    return Event(latest, b"id: %d\n%s" % (latest, _lines("reset", {"latest": latest})), is_reset=True)


def _lines(method: str, params: Mapping[str, Any]) -> bytes:
    # JSON has no line breaks outside of its escapes
    return b"event: %s\ndata: %s\n\n" % (method.encode(), orjson.dumps(params))


class EventQueue:
    """What has been told and not been sent on one stream yet. It ends, rather than grow, if it is not read."""

    def __init__(self, begins_at: int) -> None:
        self.begins_at = begins_at
        """The number of the latest notification before it."""
        self.has_ended = asyncio.Event()
        self._events: list[Event] = []
        self._bytes = 0
        self._came = asyncio.Event()

    def put(self, event: Event) -> None:
        """Adds an event."""
        self._bytes += len(event.data)
        if len(self._events) >= _MAX_EVENTS or self._bytes > _MAX_BYTES:
            self.end()
        else:
            self._events.append(event)
            self._came.set()

    def end(self) -> None:
        """Lets go of everything; the client comes again with the id of the last event that it read."""
        self._events.clear()
        self.has_ended.set()
        self._came.set()

    async def take(self, seconds: float) -> list[Event]:
        """What has come, none after that many seconds without any; none, too, once this has ended."""
        try:
            await asyncio.wait_for(self._came.wait(), seconds)
        except TimeoutError:
            return []
        found, self._events = self._events, []
        self._bytes = 0
        if not self.has_ended.is_set():
            self._came.clear()
        return found


class Hub:
    """Passes on what the daemon says.

    Args:
        loop: the event loop; the methods of `Hearer` are called in another thread, the others on the loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._seq = 0
        self._streams: set[EventQueue] = set()
        self._has_ended = False

    # -- what the daemon says; see `Hearer`

    def begin(self, seq: int) -> None:
        """See `Hearer.begin`."""
        self._seq = seq

    def notified(self, method: str, params: dict[str, Any]) -> None:
        """See `Hearer.notified`."""
        event = notification(method, params)
        self._later(lambda: self._publish(event))

    def missed(self, latest: int) -> None:
        """See `Hearer.missed`."""
        self._later(lambda: self._publish(reset(latest)))

    def disconnected(self, why: str) -> None:
        """See `Hearer.disconnected`."""
        self._later(lambda: self._publish(Event(None, _lines("disconnected", {"reason": why}))))

    def reconnected(self) -> None:
        """See `Hearer.reconnected`."""
        self._later(lambda: self._publish(Event(None, _lines("reconnected", {}))))

    # -- on the loop

    def add(self) -> EventQueue | None:
        """A stream of what is told from now on; None if there are too many."""
        if self._has_ended or len(self._streams) >= MAX_STREAMS:
            return None
        waiting = EventQueue(self._seq)
        self._streams.add(waiting)
        return waiting

    def remove(self, waiting: EventQueue) -> None:
        """Ends a stream."""
        self._streams.discard(waiting)

    def end(self) -> None:
        """Ends all streams, and has no more."""
        self._has_ended = True
        for waiting in self._streams:
            waiting.end()

    def _publish(self, event: Event) -> None:
        if event.seq is not None:
            self._seq = event.seq
        for waiting in self._streams:
            waiting.put(event)

    def _later(self, do: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(do)
