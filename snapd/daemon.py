"""The daemon: serves many clients over a Unix socket, standard input and output, or TCP."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any, TextIO

import attrs
from filelock import FileLock, Timeout

from snapd.differ.differ import ProcessDiffer
from snapd.handlers import encode_news
from snapd.housekeeping import Housekeeping
from snapd.launch import connect, is_of_user
from snapd.locations import NEW_SOCKET, check_socket_directory, check_socket_path
from snapd.model.errors import os_errors
from snapd.rpc.connection import Connection
from snapd.rpc.parent import ParentWatch
from snapd.rpc.scheduling.turns import Threads
from snapd.rpc.services import Hub, Services
from snapd.rpc.transport.framing import MAX_HEADER_BYTES, MAX_MESSAGE_BYTES
from snapd.rpc.transport.streams import open_stdio
from snapd.store.files.durable import EXHAUSTED, remove_if_there, write_all, write_file
from snapd.workspaces import Workspaces

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from snapd.locations import Locations
    from snapd.settings.in_force import Base

logger = logging.getLogger(__name__)

_LINGER_SECONDS = 300.0
"""How long an unused workspace stays open for the next command."""
_HANDOVER_SECONDS = 10.0
"""How long a starting daemon waits for another one to end."""
_HANDOVER_POLL_SECONDS = 0.02
_END_SECONDS = 8.0
"""The time limit for shutting down; the next daemon completes unfinished work."""
_STRANGERS = 100
"""TCP connections that have not authenticated; one more closes the oldest."""
_MOST_STRANGERS = 300
"""The limit while all of them are new: a busy machine needs a moment to serve a burst of clients."""
_NEW_SECONDS = 3.0
_STRANGER_SECONDS = 10.0
LOG_BYTES = 4 << 20
_BACKLOG = 65_535
"""The backlog of the socket: above any system's limit, so that that applies."""
_STREAM_LIMIT = MAX_HEADER_BYTES * 4


@attrs.frozen
class Options:
    """The options of a daemon; None as `idle_seconds` never ends it."""

    locations: Locations
    base: Base
    xdg_config_home: str | None
    umask: int
    idle_seconds: float | None = 1800.0
    max_message_bytes: int = MAX_MESSAGE_BYTES


class AlreadyRunning(Exception):
    """Another daemon of this user serves the socket."""


class Daemon:
    """A running daemon. Create it on its event loop; `socket_path` is None if other processes cannot reach it."""

    def __init__(self, options: Options, socket_path: str | None) -> None:
        self._options = options
        self._socket_path = socket_path
        self._loop = asyncio.get_running_loop()
        self._executor = Threads()
        self._texts = ProcessDiffer()
        self._workspaces = Workspaces(
            options.locations, options.xdg_config_home, options.umask, socket_path, self._texts
        )
        hub = Hub(self._loop, encode_news, self._executor)
        self._workspaces.on_open(hub.watch)
        self._services = Services(self._workspaces, hub, self._executor, options.base, options.max_message_bytes)
        self._housekeeping = Housekeeping(lambda: self._workspaces.all_open, self._executor)
        self._housekeeping.start()
        self._connections: set[Connection] = set()
        self._strangers: dict[Connection, asyncio.TimerHandle] = {}
        self._loop.set_exception_handler(_log_exception)
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._linger_timer: asyncio.TimerHandle | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            # loops on Windows have no signal handlers; there, the default action ends the process
            with contextlib.suppress(NotImplementedError):
                self._loop.add_signal_handler(number, self._stopping.set)

    async def serve_stdio(self, stdin: int, stdout: int) -> int:
        """Serves one client on two descriptors; returns the exit code."""
        reader, writer = await open_stdio(stdin, stdout)
        connection = Connection(reader, writer, self._services, None)
        parent = ParentWatch(self._loop, self._stopping.set)
        connection.on_process = parent.watch
        serving = asyncio.ensure_future(connection.run())
        stopped = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
        by_signal = not serving.done()
        if by_signal:
            _end_in_time()
        connection.stop()
        await serving
        stopped.cancel()
        parent.close()
        await self._close()
        return 0 if by_signal else connection.exit_code

    async def serve_socket(self) -> None:
        """Serves the Unix socket until stopped or idle. Raises `AlreadyRunning`, or `IoError` if that fails."""
        path = self._socket_path
        assert path is not None
        check_socket_path(path)
        check_socket_directory(path)
        lock = await self._own(path)
        try:
            # safe to remove: only the holder of the lock may serve here
            with os_errors(path):
                remove_if_there(path)
            # under another name until the daemon listens
            temporary = path + NEW_SOCKET
            with os_errors(path):
                remove_if_there(temporary)
                server = await asyncio.start_unix_server(
                    lambda reader, writer: self._accept(reader, writer, None),
                    sock=private_socket(temporary),
                    limit=_STREAM_LIMIT,
                    backlog=1,
                )
                _raise_backlog(server)
                write_file(f"{path}.pid", str(os.getpid()).encode())
                os.rename(temporary, path)
            try:
                await self._serve(server)
            finally:
                for made in (f"{path}.pid", path):
                    remove_if_there(made)
        finally:
            lock.release()

    async def serve_tcp(self, host: str, port: int, token: str, announce: Callable[[str, int], None]) -> None:
        """Serves TCP to clients that send the token; port 0 means any free one.

        `announce` is called with address and port once the daemon listens. Raises `IoError` if it cannot.
        """
        with os_errors(f"{host}:{port}"):
            server = await asyncio.start_server(
                lambda reader, writer: self._accept(reader, writer, token),
                host,
                port,
                limit=_STREAM_LIMIT,
                backlog=1,
            )
        _raise_backlog(server)
        bound = server.sockets[0].getsockname()
        announce(bound[0], bound[1])
        await self._serve(server)

    # -- inside

    async def _own(self, path: str) -> FileLock:
        """Locks a socket; waits while a starting or ending daemon, which does not listen, holds the lock."""
        lock = FileLock(f"{path}.lock", mode=0o600, is_singleton=False)
        deadline = self._loop.time() + _HANDOVER_SECONDS
        while True:
            with os_errors(path):
                try:
                    lock.acquire(timeout=0)
                except Timeout as error:
                    served = connect(path)
                    if served is not None:
                        served.close()
                    if served is not None or self._loop.time() > deadline:
                        raise AlreadyRunning(path) from error
                else:
                    return lock
            await asyncio.sleep(_HANDOVER_POLL_SECONDS)

    async def _serve(self, server: asyncio.Server) -> None:
        self._watch_idle()
        async with server:
            await self._stopping.wait()
            _end_in_time()
            server.close()
            for connection in list(self._connections):
                connection.stop()
            if self._tasks:
                await asyncio.wait(self._tasks)
        await self._close()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str | None) -> None:
        if self._stopping.is_set() or (token is None and not is_of_user(writer.get_extra_info("socket"))):
            writer.close()
            return
        try:
            connection = Connection(reader, writer, self._services, token)
        except BaseException:
            # close it here, so that the client does not wait for an answer
            writer.close()
            raise
        if token is not None:
            self._admit(connection)
        task = asyncio.ensure_future(self._serve_client(connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve_client(self, connection: Connection) -> None:
        self._connections.add(connection)
        self._watch_idle()
        try:
            await connection.run()
        finally:
            self._require_known(connection)
            self._connections.discard(connection)
            self._watch_idle()
            self._wait_for_clients()

    def _admit(self, connection: Connection) -> None:
        """Limits the time until a connection authenticates, and the number of such connections."""
        self._strangers[connection] = self._loop.call_later(_STRANGER_SECONDS, connection.drop)
        connection.on_admitted = lambda: self._require_known(connection)
        oldest, deadline = next(iter(self._strangers.items()))
        is_new = deadline.when() - self._loop.time() > _STRANGER_SECONDS - _NEW_SECONDS
        if len(self._strangers) > (_MOST_STRANGERS if is_new else _STRANGERS):
            self._require_known(oldest)
            oldest.drop()

    def _require_known(self, connection: Connection) -> None:
        deadline = self._strangers.pop(connection, None)
        if deadline is not None:
            deadline.cancel()

    def _watch_idle(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if not self._connections and self._options.idle_seconds is not None:
            self._idle_timer = self._loop.call_later(self._options.idle_seconds, self._stopping.set)

    def _wait_for_clients(self) -> None:
        if self._linger_timer is not None:
            self._linger_timer.cancel()
        self._linger_timer = self._loop.call_later(
            _LINGER_SECONDS, lambda: self._executor.submit(self._workspaces.close_unused)
        )

    async def _close(self) -> None:
        for timer in (self._idle_timer, self._linger_timer):
            if timer is not None:
                timer.cancel()
        await self._housekeeping.stop()
        await self._loop.run_in_executor(self._executor, self._workspaces.close)
        self._executor.shutdown()
        self._texts.close()


def _end_in_time() -> None:
    """Schedules the end of the process, which no thread can delay, as this needs no interpreter lock."""
    import faulthandler

    faulthandler.dump_traceback_later(_END_SECONDS, exit=True)


def _raise_backlog(server: asyncio.Server) -> None:
    """Sets the backlog to the system's limit.

    asyncio accepts as many connections at once as its own backlog, and retries as often when descriptors run out.
    """
    for listening in server.sockets:
        with socket.socket(fileno=os.dup(listening.fileno())) as same:
            same.listen(_BACKLOG)


def private_socket(path: str) -> socket.socket:
    """A Unix socket whose file only the user can open, from its creation on."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    umask = os.umask(0o177)
    try:
        made.bind(path)
    except BaseException:
        made.close()
        raise
    finally:
        os.umask(umask)
    return made


def _log_exception(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in EXHAUSTED:
        # asyncio stops accepting for a second
        logger.warning("no connection is accepted for now: %s", error.strerror)
    else:
        loop.default_exception_handler(context)


class Log(logging.StreamHandler[TextIO]):
    """Logs to standard error; if that is the file that `snapd.launch` opened, only its latest part is kept."""

    def __init__(self, path: str) -> None:
        super().__init__(sys.stderr)
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a record."""
        super().emit(record)
        # standard error may be closed or not a file
        with contextlib.suppress(OSError, ValueError):
            status = os.fstat(self.stream.fileno())
            if status.st_size > LOG_BYTES and os.path.samestat(status, os.stat(self._path)):
                with open(self._path, "rb") as file:
                    file.seek(-LOG_BYTES // 2, os.SEEK_END)
                    newest = file.read()
                os.ftruncate(self.stream.fileno(), 0)
                write_all(self.stream.fileno(), newest)


def configure_logging(own: str) -> None:
    """Logs to standard error (by default the file `own`), and never what clients send."""
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(handlers=[Log(own)], level=logging.INFO, format=form)
    # pygls logs whole messages at this level
    logging.getLogger("pygls").setLevel(logging.ERROR)
    logging.getLogger("filelock").setLevel(logging.WARNING)


def run(main: Callable[[], Awaitable[int]]) -> int:
    """Runs a daemon's main coroutine."""

    async def wrapped() -> int:
        return await main()

    return asyncio.run(wrapped())


def raise_descriptor_limit() -> None:
    """Raises the limit of open files to the maximum: each client and each work tree needs some."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, 65536) if hard != resource.RLIM_INFINITY else 65536
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
