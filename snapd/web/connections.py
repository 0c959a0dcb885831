"""One connection of a client, which does not last if nothing is asked on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

STRANGERS = 100
"""Connections on which nobody has shown the token or the cookie: one more costs the oldest of them its place."""
ADMITTED = "snapd.admitted"
"""In the scope of a request that brought one of both."""
HEAD_SECONDS = 30.0
"""How long the head of a request may take to come, from the first of its bytes or from the connection on."""


class Connection(H11Protocol):
    """Speaks HTTP; uvicorn itself would wait for the head of a request without end."""

    _strangers: ClassVar[dict[Connection, None]] = {}

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Called once the connection is there."""
        super().connection_made(transport)
        self._expect_head()
        self._strangers[self] = None
        if len(self._strangers) > STRANGERS:
            for each in [each for each in self._strangers if each._is_admitted()]:
                del self._strangers[each]
        if len(self._strangers) > STRANGERS:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.transport.abort()

    def _is_admitted(self) -> bool:
        return bool(self.scope) and ADMITTED in self.scope

    def data_received(self, data: bytes) -> None:
        """Called with what the client has sent."""
        super().data_received(data)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called once the connection is gone."""
        self._forget()
        self._strangers.pop(self, None)
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        if self.conn.their_state is h11.IDLE:
            self.transport.close()
