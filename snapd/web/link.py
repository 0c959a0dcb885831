"""The connections to the daemon: any thread may send requests; one thread listens."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from snapd_client.notifications import DISCONNECTED, RECONNECTED, RESET, UNREACHABLE

from snapd.model.errors import Cancelled, InvalidParams, IoError, SnapdError
from snapd.model.paths import from_uri
from snapd.wire.methods import METHODS

from .errors import Busy
from .hub import Hub

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from concurrent.futures import Executor, Future

    from snapd_client import Cancellation, Client

    from snapd.backend import RemoteBackend

    Connect = Callable[[], tuple[RemoteBackend, Client]]

_NEVER_GIVEN = (1 << 53) - 1
"""A notification number that no daemon issues: a client that asks for events since then gets the latest number."""
MAX_OTHERS = 64
"""The most requests about other folders at once; each has its own connection."""


class Link:
    """Sends requests about one folder over two connections: one for changes, as these delay later requests."""

    def __init__(self, connect: Connect, hub: Hub) -> None:
        self._connect = connect
        self._hub = hub
        self._lock = threading.Lock()
        self._is_closed = False
        self._why = ""
        self._writer: RemoteBackend | None = None
        self._reader, client = connect()
        try:
            self._subscription = client.subscribe()
            self._seq = self._reader.request("snapshot/events", {"since": _NEVER_GIVEN})["latest"]
        except BaseException:
            self._reader.close()
            raise
        hub.begin(self._seq)
        self._thread = threading.Thread(target=self._listen, name="snapd-web-listen")
        self._thread.start()

    @property
    def problem(self) -> str | None:
        """Why the daemon cannot be reached now; None if it can."""
        return None if self._reader.is_open else self._why or "the connection is lost"

    def request(self, method: Any, params: Any, cancellation: Cancellation | None = None) -> Any:
        """Sends a request and returns its result as JSON values.

        Raises its error, `IoError` if the daemon cannot be reached, or `Cancelled` after `close`.
        """
        try:
            backend = self._opened_writer() if METHODS[method].access == "writes" else self._reader
            return backend.request(method, params, cancellation=cancellation)
        except IoError as error:
            if self._is_closed:
                raise Cancelled("the server has ended") from error
            raise

    def close(self) -> None:
        """Closes the connections, which ends running requests."""
        with self._lock:
            self._is_closed = True
            backends = [self._reader, *([] if self._writer is None else [self._writer])]
        for backend in backends:
            backend.close()
        self._thread.join()

    def _opened_writer(self) -> RemoteBackend:
        with self._lock:
            if self._is_closed:
                raise Cancelled("the server has ended")
            if self._writer is None:
                try:
                    self._writer, _ = self._connect()
                except SnapdError as error:
                    # the request itself is not at fault
                    message = f"the daemon cannot be reached: {error.message}"
                    raise IoError(message, hint=error.hint, errno="ECONNREFUSED") from error
            return self._writer

    def _listen(self) -> None:
        dropped = 0
        for notification in self._subscription:
            method, params = notification.method, notification.params
            if method in (DISCONNECTED, UNREACHABLE):
                self._why = str(params["reason"])
                if method == DISCONNECTED:
                    self._hub.disconnected(self._why)
            elif method == RECONNECTED:
                self._hub.reconnected()
            elif method == RESET or self._subscription.dropped > dropped:
                dropped = self._subscription.dropped
                self._seq = params.get("seq", self._seq)
                self._hub.missed(self._seq)
            elif "seq" in params and params["seq"] > self._seq:
                self._seq = params["seq"]
                self._hub.notified(method, params)


class OtherFolders:
    """The other folders that the daemon has open; `connect_to` connects only to those."""

    def __init__(self, connect_to: Callable[[str], Connect], executor: Executor) -> None:
        self._connect_to = connect_to
        self._executor = executor
        self._hubs: set[Hub] = set()

    @asynccontextmanager
    async def opened(self, folder: str) -> AsyncIterator[tuple[Link, Hub]]:
        """A link to the daemon about a folder, and its hub. Raises `Busy`, or `WorkspaceNotOpen`."""
        if len(self._hubs) >= MAX_OTHERS:
            raise Busy(f"{MAX_OTHERS} requests ask about other folders")
        loop = asyncio.get_running_loop()
        hub = Hub(loop)
        self._hubs.add(hub)
        try:
            link = await self._linked(folder, hub)
            try:
                yield link, hub
            finally:
                # also if this task is cancelled
                await asyncio.shield(loop.run_in_executor(self._executor, link.close))
        finally:
            self._hubs.discard(hub)

    async def _linked(self, folder: str, hub: Hub) -> Link:
        opening = self._executor.submit(Link, self._connect_to(folder), hub)
        try:
            return await asyncio.wrap_future(opening)
        except asyncio.CancelledError:
            # a thread may still be connecting
            opening.add_done_callback(_close)
            raise

    def end(self) -> None:
        """Ends all event streams."""
        for hub in self._hubs:
            hub.end()


def _close(opening: Future[Link]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


def path_of(named: str) -> str:
    """The path for an absolute path or `file:` URI. Raises `InvalidParams` for anything else."""
    path = os.fsdecode(from_uri(named, "workspace")) if named.startswith("file:") else named
    if not os.path.isabs(path) or "\0" in path:
        raise InvalidParams("workspace: expected an absolute path, or a file: URI", field="workspace")
    return os.path.normpath(path)
