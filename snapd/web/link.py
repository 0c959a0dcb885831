"""The connections to the daemon: asked by any thread, heard by one, and made again when they were lost."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

from snapd_client import ConnectionLost
from snapd_client.notifications import DISCONNECTED

from snapd.model.errors import Cancelled, InvalidParams, IoError, SnapdError
from snapd.model.paths import from_uri
from snapd.wire.methods import METHODS

from .errors import Busy
from .hub import Hub

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from concurrent.futures import Executor, Future

    from snapd_client import Cancellation, Client, Subscription

    from snapd.backend import RemoteBackend

    Connect = Callable[[], tuple[RemoteBackend, Client]]

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
"""Seconds between two attempts to connect again: at first, and at most."""
_PATIENCE = 10.0
"""Seconds that a request waits for a connection."""
_NEVER_GIVEN = (1 << 53) - 1
"""A number of a notification that no daemon has given out: whoever asks for what came since learns the latest one."""
MAX_OTHERS = 64
"""Requests about other folders at once; each has a connection to the daemon."""


class Hearer(Protocol):
    """Hears what the daemon says, in the thread that listens, but for the first call."""

    def begin(self, seq: int) -> None:
        """Called once, before anything else: the number of the latest notification."""

    def notified(self, method: str, params: dict[str, Any]) -> None:
        """A notification, in the order of their numbers, each once."""

    def missed(self, latest: int) -> None:
        """Some notifications are lost, up to this number."""

    def disconnected(self, why: str) -> None:
        """The daemon cannot be asked any more."""

    def reconnected(self) -> None:
        """The daemon can be asked again."""


class Link:
    """Asks the daemon about one folder.

    Args:
        connect: connects to the daemon, which it starts if it does not run, and opens the folder.
        hearer: hears what the daemon says.

    Raises:
        SnapdError: the daemon cannot be reached, or refuses the folder.
    """

    def __init__(self, connect: Connect, hearer: Hearer) -> None:
        self._connect = connect
        self._hearer = hearer
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._why = ""
        self._has_failed = False
        self._seq = 0
        self._changing: set[RemoteBackend] = set()
        self._backend: RemoteBackend | None
        self._backend, client = connect()
        self._told = client.subscribe()
        try:
            self._seq = self._backend.request("snapshot/events", {"since": _NEVER_GIVEN})["latest"]
        except BaseException:
            self._backend.close()
            raise
        hearer.begin(self._seq)
        self._thread = threading.Thread(target=self._listen, name="snapd-web-listen")
        self._thread.start()

    @property
    def trouble(self) -> str | None:
        """Why the daemon cannot be asked now; None if it can."""
        with self._changed:
            return None if self._is_open() else self._why or "the connection is lost"

    def request(self, method: str, params: dict[str, Any], cancellation: Cancellation | None = None) -> Any:
        """The result of a request, as JSON values.

        What changes something has a connection of its own: on one connection, whatever is asked later waits for it.
        If the daemon is lost before the request is sent, it waits for the next one. If it is lost on the way, the
        request is sent once more, unless the first daemon may have changed something.

        Args:
            method: of the wire's table.
            params: JSON values.
            cancellation: lets another thread cancel it.

        Raises:
            SnapdError: the error that answers the request; `IoError` where the daemon cannot be reached; `Cancelled`
                once this is closed.
        """
        ask = self._change if METHODS[method].access == "writes" else self._read
        try:
            return ask(method, params, cancellation)
        except IoError as error:
            may_repeat = METHODS[method].may_repeat(params) or params.get("dryRun") is True
            if not (isinstance(error.__cause__, ConnectionLost) and may_repeat):
                raise
        return ask(method, params, cancellation)

    def close(self) -> None:
        """Ends the connection, and with it the requests that run."""
        self._closed.set()
        with self._changed:
            backends = [*self._changing, *([] if self._backend is None else [self._backend])]
            self._backend = None
            self._changed.notify_all()
        for backend in backends:
            backend.close()
        self._thread.join()

    def _read(self, method: Any, params: Any, cancellation: Cancellation | None) -> Any:
        return self._opened().request(method, params, cancellation=cancellation)

    def _change(self, method: Any, params: Any, cancellation: Cancellation | None) -> Any:
        self._wait_for_a_daemon()
        backend, _ = self._connect()
        try:
            with self._changed:
                if self._closed.is_set():
                    raise Cancelled("the server has ended")
                self._changing.add(backend)
            return backend.request(method, params, cancellation=cancellation)
        finally:
            with self._changed:
                self._changing.discard(backend)
            backend.close()

    def _wait_for_a_daemon(self) -> None:
        """Returns once a daemon has answered. Raises as `request` does."""
        try:
            # a daemon that is about to die takes connections for a moment, and answers nothing
            self._read("snapshot/events", {"since": _NEVER_GIVEN}, None)
        except IoError as error:
            if not isinstance(error.__cause__, ConnectionLost):
                raise
            # the next one has answered before it is there
            self._opened()

    def _opened(self) -> RemoteBackend:
        """The connection, once there is one."""

        def is_settled() -> bool:
            # while a first attempt is under way, it is worth to wait
            return self._closed.is_set() or self._has_failed or self._is_open()

        with self._changed:
            self._changed.wait_for(is_settled, _PATIENCE)
            if self._closed.is_set():
                raise Cancelled("the server has ended")
            if self._backend is not None and self._backend.is_open:
                return self._backend
            raise IoError(
                f"the daemon cannot be reached: {self._why or 'the connection is lost'}",
                hint="'snapd doctor' says more",
                errno="ECONNREFUSED",
            )

    def _is_open(self) -> bool:
        return self._backend is not None and self._backend.is_open

    def _listen(self) -> None:
        told = self._told
        while not self._closed.is_set():
            why = self._hear(told)
            if self._closed.is_set():
                return
            self._lost(why)
            found = self._connected_again()
            if found is None:
                return
            told = found
            self._hearer.reconnected()

    def _hear(self, told: Subscription) -> str:
        """Passes on notifications until the connection ends; gives why it did."""
        for notification in told:
            if notification.method == DISCONNECTED:
                return str(notification.params["reason"])
            self._pass_on(notification.method, notification.params)
            if told.dropped:
                return "more was told than this server could pass on"
        return "it was closed"

    def _pass_on(self, method: str, params: Any) -> None:
        seq = params.get("seq")
        if isinstance(seq, int) and seq > self._seq:
            self._seq = seq
            self._hearer.notified(method, params)

    def _lost(self, why: str) -> None:
        with self._changed:
            self._why = why
            backend, self._backend = self._backend, None
        if backend is not None:
            backend.close()
        self._hearer.disconnected(why)

    def _connected_again(self) -> Subscription | None:
        """Connects until it succeeds, and passes on what was missed; gives None once this is closed."""
        pause = _FIRST_PAUSE
        while not self._closed.is_set():
            try:
                return self._try()
            except SnapdError as error:
                with self._changed:
                    self._why = error.message
                    # a daemon that is about to die may still take a connection
                    self._has_failed = not isinstance(error.__cause__, ConnectionLost)
                    self._changed.notify_all()
            self._closed.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        return None

    def _try(self) -> Subscription | None:
        """One attempt; gives None if this was closed meanwhile. Raises `SnapdError`."""
        backend, client = self._connect()
        try:
            told = client.subscribe()
            missed = backend.request("snapshot/events", {"since": self._seq})
        except BaseException:
            backend.close()
            raise
        for each in missed.get("events") or ():
            self._pass_on(each["method"], each["params"])
        if missed.get("reset"):
            self._seq = missed["latest"]
            self._hearer.missed(self._seq)
        with self._changed:
            if not self._closed.is_set():
                self._backend, self._has_failed = backend, False
                self._changed.notify_all()
                return told
        backend.close()
        return None


class OtherFolders:
    """The folders that the daemon has open.

    Args:
        connect_to: makes what connects to the daemon about a folder, if the daemon has that folder open.
        executor: the threads that wait for the daemon.
    """

    def __init__(self, connect_to: Callable[[str], Connect], executor: Executor) -> None:
        self._connect_to = connect_to
        self._executor = executor
        self._hubs: set[Hub] = set()

    @asynccontextmanager
    async def opened(self, folder: str) -> AsyncIterator[tuple[Link, Hub]]:
        """A link to the daemon about a folder, and what the daemon tells of it.

        Args:
            folder: absolute path.

        Raises:
            Busy: too many requests ask about other folders.
            WorkspaceNotOpen: the daemon does not have it open.
            SnapdError: the daemon cannot be reached, or refuses the folder.
        """
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
                # also where this task is cancelled
                await asyncio.shield(loop.run_in_executor(self._executor, link.close))
        finally:
            self._hubs.discard(hub)

    async def _linked(self, folder: str, hub: Hub) -> Link:
        opening = self._executor.submit(Link, self._connect_to(folder), hub)
        try:
            return await asyncio.wrap_future(opening)
        except asyncio.CancelledError:
            # a thread may be at it still
            opening.add_done_callback(_close)
            raise

    def end(self) -> None:
        """Ends all streams of what the daemon tells."""
        for hub in self._hubs:
            hub.end()


def _close(opening: Future[Link]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


def path_of(named: str) -> str:
    """The folder that a request names.

    Args:
        named: an absolute path, or a `file:` URI.

    Raises:
        InvalidParams: it is neither.
    """
    path = os.fsdecode(from_uri(named, "workspace")) if named.startswith("file:") else named
    if not os.path.isabs(path) or "\0" in path:
        raise InvalidParams("workspace: expected an absolute path, or a file: URI", field="workspace")
    return os.path.normpath(path)
