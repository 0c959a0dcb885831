"""Runs the HTTP server until a signal stops it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from snapd.model.errors import IoError
from snapd.web.api.asking import Service

from .app import Page, application
from .guard import ADMITTED, MAX_HEAD, Access
from .hub import Hub
from .link import Link, OtherFolders

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from .link import Connect

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_THREADS, _QUICK_THREADS, _SLOW_THREADS = 16, 2, 2
"""Threads for concurrent requests to the daemon: for most requests, for status, and for searches."""
_CONNECTIONS = 256
_IDLE_SECONDS = 30
_LAST_SECONDS = 5
"""How long running requests may take once the server stops."""
STRANGERS = 100
"""The most connections without token or cookie; one more closes the oldest."""
HEAD_SECONDS = 30.0
"""How long the head of a request may take, from its first byte or from the connection on."""


@attrs.frozen
class Options:
    """Options of the command line; port 0 means any free port, `certificate` has the paths of certificate and key."""

    folder: str
    host: str
    port: int
    read_only: bool
    certificate: tuple[str, str] | None


def serve(options: Options, connect_to: Callable[[str], Connect], ready: Callable[[str, str], None]) -> None:
    """Serves until SIGINT or SIGTERM; calls `ready` with the browser's address and the token when it accepts requests.

    `connect_to` connects to the daemon about a folder, other than that of the options only if the daemon has it open.
    """
    # a browser that goes away in the middle of an answer is no matter for the log
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    with listening(options.host, options.port) as listener:
        asyncio.run(_serve(options, listener, connect_to, ready))


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket. Raises `IoError` if that fails."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _no_listener(host, port, error) from error
    with listener:
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_CONNECTIONS)
        except OSError as error:
            raise _no_listener(host, port, error) from error
        yield listener


def _no_listener(host: str, port: int, error: OSError) -> IoError:
    name = errno.errorcode.get(error.errno or 0, "unknown")
    hint = "give another port with --port, or --port 0 for one that is free"
    if name == "EADDRINUSE":
        return IoError(f"port {port} is taken, perhaps by another 'snapd web'", hint=hint, errno=name)
    return IoError(f"cannot listen on {host}, port {port}: {error.strerror or error}", hint=hint, errno=name)


async def _serve(
    options: Options, listener: socket.socket, connect_to: Callable[[str], Connect], ready: Callable[[str, str], None]
) -> None:
    loop = asyncio.get_running_loop()
    hub = Hub(loop)
    link = await loop.run_in_executor(None, Link, connect_to(options.folder), hub)
    pools = [ThreadPoolExecutor(count, "snapd-web") for count in (_THREADS, _QUICK_THREADS, _SLOW_THREADS)]
    others = OtherFolders(connect_to, pools[0])

    def end_streams() -> None:
        hub.end()
        others.end()

    try:
        port = listener.getsockname()[1]
        shown = f"[{options.host}]" if ":" in options.host else options.host
        is_local = shown in LOOPBACK
        access = Access(port, LOOPBACK if is_local else (shown,), secure=options.certificate is not None)
        service = Service(link, hub, pools[0], pools[1], pools[2], options.folder, others, options.read_only)
        server = _Server(_config(application(service, access, Page()), options), end_streams)
        scheme = "http" if options.certificate is None else "https"
        ready(f"{scheme}://{shown}:{port}/#token={access.token}", access.token)
        await server.serve([listener])
    finally:
        end_streams()
        # this also ends the requests that threads wait for
        await loop.run_in_executor(None, link.close)
        for pool in pools:
            pool.shutdown()


def _config(app: object, options: Options) -> uvicorn.Config:
    certificate, key = options.certificate or (None, None)
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        # do not trust such headers
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_LAST_SECONDS,
        h11_max_incomplete_event_size=MAX_HEAD,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )


class _Server(uvicorn.Server):
    """Does not raise the signal once more after shutdown, as uvicorn would."""

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handles SIGINT and SIGTERM while it serves."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        for each in signals:
            loop.add_signal_handler(each, self._stop)
        try:
            yield
        finally:
            for each in signals:
                loop.remove_signal_handler(each)

    def _stop(self) -> None:
        # a second Ctrl-C ends at once
        self.force_exit = self.should_exit
        self.should_exit = True
        # streams never end by themselves
        self._end_streams()


class Connection(H11Protocol):
    """An HTTP connection with a time limit for the head of a request, which uvicorn lacks."""

    _strangers: ClassVar[dict[Connection, None]] = {}

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Called by asyncio when the connection is open."""
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
        """Called by asyncio with data from the client."""
        super().data_received(data)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio when the connection is closed."""
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
