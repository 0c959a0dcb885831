"""`GET /events`: one stream of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import TYPE_CHECKING

from starlette.responses import Response

from snapd.model.errors import InvalidParams
from snapd.web.errors import Busy
from snapd.web.hub import MAX_STREAMS, notification, reset

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from snapd.web.hub import Event, EventQueue, Hub

    from .asking import ApiRequest

HEARTBEAT = 15.0
"""Seconds without an event after which a comment is sent, so that proxies keep the stream open."""
_RETRY = 1000
"""Milliseconds after which a browser reconnects."""
_LAST_SECONDS = 1.0
_NUMBER = re.compile(r"[0-9]{1,18}")


async def events(asked: ApiRequest) -> Response:
    """Streams notifications since `Last-Event-ID` or from now on. Raises `Busy` if there are too many streams."""
    since = _since(asked)
    hub = asked.service.hub
    # before the request to the daemon, so that no event is lost between its answer and the stream
    waiting = hub.add()
    if waiting is None:
        raise Busy(f"{MAX_STREAMS} streams of events are open")
    try:
        missed = [] if since is None else await asked.work(lambda: _missed(asked, since))
    except BaseException:
        hub.remove(waiting)
        raise
    return _Stream(hub, waiting, missed, waiting.begins_at if since is None else since)


def _since(asked: ApiRequest) -> int | None:
    given = asked.request.headers.get("last-event-id")
    if given is None:
        since: int | None = asked.params.get("since")
        if since is not None and since < 0:
            raise InvalidParams("since: expected the id of an event", field="since")
        return since
    # a browser sends an empty id before the first event
    if not given:
        return None
    if not _NUMBER.fullmatch(given):
        raise InvalidParams("Last-Event-ID: expected the id of an event", field="Last-Event-ID")
    return int(given)


def _missed(asked: ApiRequest, since: int) -> list[Event]:
    answer = asked.ask("snapshot/events", {"since": since})
    if answer.get("reset"):
        return [reset(answer["latest"])]
    return [notification(each["method"], each["params"]) for each in answer["events"]]


class _Stream(Response):
    """Sends events until the client disconnects or stops reading.

    `waiting` has the events since the stream was opened, `missed` those before; `begins_at` is the number of the latest
    notification that the client has.
    """

    media_type = "text/event-stream"

    def __init__(self, hub: Hub, waiting: EventQueue, missed: list[Event], begins_at: int) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._hub = hub
        self._waiting = waiting
        self._missed = missed
        self._seq = begins_at

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(send))
        over = [asyncio.ensure_future(_left(receive)), asyncio.ensure_future(self._waiting.has_ended.wait())]
        try:
            await asyncio.wait({sending, *over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._hub.remove(self._waiting)
            for task in (sending, *over):
                task.cancel()
        # a client that does not read does not accept this either
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(send({"type": "http.response.body", "body": b""}), _LAST_SECONDS)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        # an id alone is not an event, but the browser remembers it
        await _send(send, b"retry: %d\nid: %d\n\n" % (_RETRY, self._seq))
        await self._pass_on(send, self._missed)
        self._missed = []
        while not self._waiting.has_ended.is_set():
            result = await self._waiting.take(HEARTBEAT)
            if result:
                await self._pass_on(send, result)
            else:
                await _send(send, b": still there\n\n")

    async def _pass_on(self, send: Send, events: list[Event]) -> None:
        for event in events:
            # events during the request to the daemon are in both lists
            if event.seq is None or event.is_reset or event.seq > self._seq:
                self._seq = self._seq if event.seq is None else event.seq
                await _send(send, event.data)


async def _send(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
