"""Reads server-sent events, as the specification of HTML says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import http.client

    from .browser import Web


class Event(NamedTuple):
    """An event; its id is the last one that was given until then."""

    method: str
    params: Any
    id: str


class Stream:
    """An open stream of events."""

    def __init__(self, web: Web, *, last: str | None = None, path: str = "/events") -> None:
        headers = {"Authorization": f"Bearer {web.token}", "Accept": "text/event-stream"}
        if last is not None:
            headers["Last-Event-ID"] = last
        self._connection = web.connection()
        self._connection.request("GET", path, headers=headers)
        self._answer: http.client.HTTPResponse = self._connection.getresponse()
        self.status = self._answer.status
        self.kind = self._answer.headers["content-type"]
        self.id = ""
        self.comments = 0

    def begin(self) -> str:
        """Reads what comes before any event: the id from which the stream goes on."""
        assert self.status == 200
        assert self.kind.startswith("text/event-stream")
        while not self.id:
            self._line()
        return self.id

    def next(self) -> Event | None:
        """The next event; None once the stream has ended."""
        method, data = "message", []
        while (line := self._line()) is not None:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if line == "" and data:
                return Event(method, json.loads("\n".join(data)), self.id)
            if line == "":
                method = "message"
            elif name == "event":
                method = value
            elif name == "data":
                data.append(value)
        return None

    def until(self, method: str) -> Event:
        """The next event of a method."""
        while (event := self.next()) is not None:
            if event.method == method:
                return event
        raise AssertionError(f"the stream ended before {method}")

    def _line(self) -> str | None:
        line = self._answer.readline()
        if not line:
            return None
        text = line.decode().removesuffix("\n")
        if text.startswith("id: "):
            self.id = text.removeprefix("id: ")
        self.comments += text.startswith(":")
        return text

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
