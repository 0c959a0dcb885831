"""Distributes the daemon's notifications to all event streams; runs on the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import attrs
import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_STREAMS = 64
_MAX_EVENTS = 1000
_MAX_BYTES = 8 << 20
"""The most events, and bytes of them, that are queued for a stream that is not read."""


@attrs.frozen
class Event:
    """An event as it is sent.

    `seq` is the number of the notification, None for an event of this server that cannot be replayed. After a reset the
    client must reload everything, and numbers continue from this one.
    """

    seq: int | None
    data: bytes
    is_reset: bool = False


def notification(method: str, params: Mapping[str, Any]) -> Event:
    """The event for a notification of the daemon."""
    return Event(params["seq"], b"id: %d\n%s" % (params["seq"], _lines(method, params)))


def reset(latest: int) -> Event:
    """The event for a client that missed events that are not kept."""
    return Event(latest, b"id: %d\n%s" % (latest, _lines("reset", {"latest": latest})), is_reset=True)


def _lines(method: str, params: Mapping[str, Any]) -> bytes:
    # encoded JSON has no line breaks
    return b"event: %s\ndata: %s\n\n" % (method.encode(), orjson.dumps(params))


class EventQueue:
    """Unsent events of one stream. If the client does not read, the queue ends instead of growing."""

    def __init__(self, begins_at: int) -> None:
        self.begins_at = begins_at
        """The number of the latest notification before this queue."""
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
        """Drops everything; the client reconnects with the id of the last event that it read."""
        self._events.clear()
        self.has_ended.set()
        self._came.set()

    async def take(self, seconds: float) -> list[Event]:
        """Waits for events; empty after `seconds` without one, or if the queue has ended."""
        try:
            await asyncio.wait_for(self._came.wait(), seconds)
        except TimeoutError:
            return []
        events, self._events = self._events, []
        self._bytes = 0
        if not self.has_ended.is_set():
            self._came.clear()
        return events


class Hub:
    """Distributes notifications; a `Link` calls `begin` to `reconnected` in other threads, others call on `loop`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._seq = 0
        self._streams: set[EventQueue] = set()
        self._has_ended = False

    # -- for `Link`

    def begin(self, seq: int) -> None:
        """Takes the number of the latest notification, before anything else."""
        self._seq = seq

    def notified(self, method: str, params: dict[str, Any]) -> None:
        """Passes on a notification; each comes once, in the order of their numbers."""
        event = notification(method, params)
        self._later(lambda: self._publish(event))

    def missed(self, latest: int) -> None:
        """Passes on that notifications up to this number are lost."""
        self._later(lambda: self._publish(reset(latest)))

    def disconnected(self, why: str) -> None:
        """Passes on that the daemon became unreachable."""
        self._later(lambda: self._publish(Event(None, _lines("disconnected", {"reason": why}))))

    def reconnected(self) -> None:
        """Passes on that the daemon is reachable again."""
        self._later(lambda: self._publish(Event(None, _lines("reconnected", {}))))

    # -- on the loop

    def add(self) -> EventQueue | None:
        """Opens a stream that starts now; None if there are too many."""
        if self._has_ended or len(self._streams) >= MAX_STREAMS:
            return None
        waiting = EventQueue(self._seq)
        self._streams.add(waiting)
        return waiting

    def remove(self, waiting: EventQueue) -> None:
        """Ends a stream."""
        self._streams.discard(waiting)

    def end(self) -> None:
        """Ends all streams and refuses new ones."""
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
