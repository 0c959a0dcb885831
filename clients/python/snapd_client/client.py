"""The client: connecting and reconnecting, requests, and subscriptions."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from itertools import count
from time import monotonic

from snapd_client import transport as transports
from snapd_client.connection import TOKEN_PREFIX, Connection
from snapd_client.errors import ConnectionLost, SnapdError
from snapd_client.framing import MAX_MESSAGE, encode_message
from snapd_client.methods import IDEMPOTENT, Methods, typed
from snapd_client.notifications import DISCONNECTED, RECONNECTED, RESET, UNREACHABLE, Notification, Subscription
from snapd_client.pages import Pages
from snapd_client.uris import folder_uri, several, workspace_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Any, Self

    from snapd_client import types
    from snapd_client.connection import Cancellation
    from snapd_client.notifications import OnProgress
    from snapd_client.uris import FileName

__all__ = ["Client"]

_SHUTDOWN_TIMEOUT = 10.0
_PAUSES = (0.0, 0.1, 0.5)
"""Seconds before each attempt of a request to reconnect: a daemon that is ending may still accept a connection."""
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
"""Seconds between attempts to reconnect for subscriptions."""
_NEVER_GIVEN = (1 << 53) - 1
"""A sequence number that no notification has. Asked for events after it, the daemon returns only the latest number."""


class Client(Methods):
    """A connection to snapd. Any number of threads may use it at once.

    Create one with `connect`, `spawn` or `tcp`, and call `initialize` first. As a context manager, it closes itself.

    A client with `reconnects` restores a lost connection with the same options and folders: for the next request, and
    in the background for subscriptions, which then continue with what they missed. A request whose answer was lost is
    sent once more if the protocol allows it; otherwise it raises `ConnectionLost`.

    Attributes:
        timeout: How many seconds a request waits by default; None to wait forever.

    Args:
        open_transport: Opens the connection; `reconnect` calls it again.
        token: The token for TCP, which `initialize` sends.
        reconnects: Whether to reconnect automatically.
        timeout: See the attribute.
        max_message: The longest message to accept from the daemon, in bytes.
    """

    def __init__(
        self,
        open_transport: Callable[[], transports.Transport],
        *,
        token: str | None = None,
        reconnects: bool = False,
        timeout: float | None = None,
        max_message: int = MAX_MESSAGE,
    ) -> None:
        self.timeout = timeout
        self._open_transport = open_transport
        self._token = token
        self._reconnects = reconnects
        self._max_message = max_message
        self._ids = count(1)
        self._lock = threading.Lock()
        self._reconnecting = threading.Lock()
        self._closing = threading.Event()
        self._supervisor: threading.Thread | None = None
        self._subscriptions: list[Subscription] = []
        self._numbers: dict[str, int] = {}
        self._folders: list[str] = []
        self._initialized: dict[str, Any] | None = None
        self._result: types.InitializeResult | None = None
        self._coming: Connection | None = None
        self._connection = self._open(hold=False)

    @classmethod
    def connect(
        cls,
        socket_path: str | bytes | os.PathLike[str],
        *,
        reconnects: bool = False,
        timeout: float | None = None,
        max_message: int = MAX_MESSAGE,
    ) -> Self:
        """Connects to the daemon that listens on a Unix socket.

        Raises:
            OSError: No daemon listens there.
        """
        return cls(
            lambda: transports.connect_unix(socket_path, timeout),
            reconnects=reconnects,
            timeout=timeout,
            max_message=max_message,
        )

    @classmethod
    def spawn(
        cls,
        command: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stderr: int | None = None,
        grace: float = 5.0,
        timeout: float | None = None,
        max_message: int = MAX_MESSAGE,
    ) -> Self:
        """Starts a command and communicates over its stdin and stdout.

        Args:
            command: For example `["snapd", "connect"]` for the user's daemon, which it starts if none is running, or
                `["snapd", "serve", "--stdio"]` for a private one.
            cwd: The command's working directory. Default: the caller's.
            env: Its whole environment. Default: the caller's.
            stderr: A file descriptor or `subprocess.DEVNULL` for its stderr. Default: the caller's.
            grace: How many seconds it has to exit after its stdin is closed, and again after SIGTERM.
            timeout: How many seconds a request waits by default.
            max_message: The longest message to accept from the daemon, in bytes.

        Raises:
            OSError: The command cannot be started.
        """
        command = several(command)
        return cls(
            lambda: transports.spawn(command, cwd=cwd, env=env, stderr=stderr, grace=grace),
            timeout=timeout,
            max_message=max_message,
        )

    @classmethod
    def tcp(
        cls, host: str, port: int, token: str, *, timeout: float | None = None, max_message: int = MAX_MESSAGE
    ) -> Self:
        """Connects to a daemon that listens on TCP.

        Raises:
            OSError: No daemon listens there.
        """
        return cls(
            lambda: transports.connect_tcp(host, port, timeout), token=token, timeout=timeout, max_message=max_message
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def initialize_result(self) -> types.InitializeResult | None:
        """The daemon's answer to `initialize`, None before that."""
        return self._result

    @property
    def folders(self) -> list[str]:
        """The URIs of the folders that are open on this connection."""
        with self._lock:
            return list(self._folders)

    @property
    def connected(self) -> bool:
        """Whether the connection was alive when this was last checked."""
        return self._connection.reason is None

    def initialize(
        self,
        folders: Sequence[FileName],
        options: dict[str, Any] | None = None,
        *,
        client_name: str = "snapd-client-python",
        timeout: float | None = None,
    ) -> types.InitializeResult:
        """Introduces the client and opens folders.

        Args:
            folders: Paths or `file:` URIs. If the daemon refuses a folder, requests for that folder fail, not this one.
            options: The `initializationOptions`.
            client_name: The name of this client in the daemon's log.
            timeout: How many seconds to wait.
        """
        opened = [folder_uri(folder) for folder in several(folders)]
        params: dict[str, Any] = {
            "processId": os.getpid(),
            "clientInfo": {"name": client_name},
            "capabilities": {"window": {"workDoneProgress": True}, "workspace": {"workspaceFolders": True}},
            "initializationOptions": dict(options or {}),
        }
        if self._token is not None:
            params["initializationOptions"]["token"] = self._token
        try:
            result = self._introduce(self._connection, params, opened, timeout)
        except ConnectionLost:
            if not self._reconnects:
                raise
            with self._lock:
                self._initialized, self._folders = params, opened
            self._reconnect_for_request(timeout)
            assert self._result is not None
            return self._result
        with self._lock:
            self._initialized, self._folders = params, opened
            has_subscriptions = bool(self._subscriptions)
        if has_subscriptions:
            self._learn_numbers()
        return result

    def open_folder(self, folder: FileName) -> str:
        """Opens another folder, and returns its URI."""
        uri = folder_uri(folder)
        self._change_folders(added=[uri], removed=[])
        return uri

    def close_folder(self, folder: FileName) -> str:
        """Closes a folder, and returns its URI."""
        uri = folder_uri(folder)
        self._change_folders(added=[], removed=[uri])
        return uri

    @typed
    def request(
        self,
        method: str,
        params: Any = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        cancellation: Cancellation | None = None,
    ) -> Any:
        """Sends a request and waits for its result.

        If it gives up, because of the timeout or an exception such as KeyboardInterrupt, it cancels the request.

        Args:
            method: The method's name. Type checkers derive the types of the params and the result from it.
            params: Its parameters. Those that are None are omitted.
            timeout: How many seconds to wait. Default: `Client.timeout`.
            on_progress: Called in this thread with each progress report. It may make other requests. If it raises an
                exception, this request is cancelled.
            cancellation: Lets another thread cancel the request.

        Raises:
            SnapdError: The daemon answered with an error.
            RequestTimeout: No answer came in time.
            ConnectionLost: The connection has ended.
            ValueError: JSON cannot represent the parameters.
        """
        if isinstance(params, dict):
            params = {name: value for name, value in params.items() if value is not None}
        return self._send(method, params, timeout=timeout, on_progress=on_progress, cancellation=cancellation)

    def _send(
        self,
        method: str,
        params: Any,
        *,
        timeout: float | None,
        on_progress: OnProgress | None,
        cancellation: Cancellation | None = None,
    ) -> Any:
        try:
            return self._request(self._ready(timeout), method, params, timeout, on_progress, cancellation)
        except ConnectionLost as error:
            if not (self._reconnects and error.repeatable) or self._closing.is_set():
                raise
        return self._request(self._ready(timeout), method, params, timeout, on_progress, cancellation)

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Sends a notification.

        Raises:
            ConnectionLost: The connection has ended.
        """
        self._notify(self._ready(None), method, params)

    def subscribe(self, methods: AbstractSet[str] | None = None, *, bound: int = 1024) -> Subscription:
        """Collects the daemon's notifications from now on.

        Args:
            methods: The notifications to collect. Default: all.
            bound: How many to keep at most. Beyond that, the oldest are dropped and counted.
        """
        subscription = Subscription(
            None if methods is None else frozenset(several(methods)), max(1, bound), self._forget_subscription
        )
        with self._lock:
            if self._closing.is_set():
                subscription._end()
                return subscription
            self._subscriptions.append(subscription)
            if self._connection.announced:
                subscription._put(self._disconnected(self._connection), always=True)
                self._supervise()
        self._learn_numbers()
        return subscription

    def reconnect(self, *, timeout: float | None = None) -> None:
        """Opens the connection again, with the same options and folders. Subscriptions continue.

        Unless the client reconnects automatically, notifications in between are missed: get them from `events` with the
        last `seq`. If several threads call this for one lost connection, one of them reconnects and the others wait.

        Raises:
            OSError: The connection cannot be opened.
            SnapdError: The daemon refused it.
            ConnectionLost: The client was closed.
        """
        stale = self._connection
        with self._reconnecting:
            if self._connection is not stale and self.connected:
                return
            stale = self._connection
            stale.close()
            connection = self._open(hold=True)
            try:
                with self._lock:
                    self._coming = connection
                    params, folders = self._initialized, list(self._folders)
                    catches_up = self._reconnects and bool(self._subscriptions)
                missed: list[Notification] = []
                if params is not None:
                    self._introduce(connection, params, folders, timeout)
                    if catches_up:
                        missed = self._missed(connection, folders, timeout)
            except BaseException:
                connection.close()
                raise
            with self._lock:
                self._coming = None
                if not self._closing.is_set():
                    self._connection = connection
                    for notification in (*missed, Notification(RECONNECTED, {}), *(connection.held or ())):
                        self._broadcast(notification)
                    connection.held = None
                    self._announce_end(connection)
                    return
            connection.close()
            raise ConnectionLost("the client is closed")

    def shutdown(self, *, timeout: float | None = None) -> None:
        """Sends `shutdown` and `exit`, and closes the client."""
        connection = self._connection
        try:
            self._request(connection, "shutdown", None, _SHUTDOWN_TIMEOUT if timeout is None else timeout, None)
            connection.retired = True
            self._notify(connection, "exit", None)
        finally:
            self.close()

    def close(self) -> None:
        """Ends the connection, pending requests, subscriptions, and a spawned command."""
        with self._lock:
            self._closing.set()
            subscriptions, self._subscriptions = self._subscriptions, []
            connections = (self._connection, self._coming)
        for connection in connections:
            if connection is not None:
                connection.close()
        for subscription in subscriptions:
            subscription._end()

    def _request(
        self,
        connection: Connection,
        method: str,
        params: dict[str, Any] | None,
        timeout: float | None,
        on_progress: OnProgress | None,
        cancellation: Cancellation | None = None,
    ) -> Any:
        request_id, frame = self._write(method, params, on_progress)
        if timeout is None:
            timeout = self.timeout
        deadline = None if timeout is None else monotonic() + timeout
        try:
            return connection.request(request_id, frame, deadline, on_progress, cancellation)
        except ConnectionLost as error:
            idempotent = IDEMPOTENT.get(method, False)
            given = params or {}
            may_repeat = given.get(idempotent) is not None if isinstance(idempotent, str) else idempotent
            error.repeatable = may_repeat or given.get("dryRun") is True
            raise

    def _pages(
        self,
        method: str,
        params: Callable[[str | None, int], dict[str, Any]],
        timeout: float | None,
        on_progress: OnProgress | None,
    ) -> Iterator[Any]:
        def write(cursor: str | None, size: int) -> tuple[int, bytes]:
            return self._write(method, params(cursor, size), on_progress)

        yield from Pages(self._ready(timeout), write, self.timeout if timeout is None else timeout, on_progress)

    def _write(self, method: str, params: dict[str, Any] | None, on_progress: OnProgress | None) -> tuple[int, bytes]:
        """Returns the id and the frame of a new request."""
        request_id = next(self._ids)
        if on_progress is not None:
            params = {**(params or {}), "workDoneToken": f"{TOKEN_PREFIX}{request_id}"}
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            message["params"] = params
        return request_id, encode_message(message)

    def _notify(self, connection: Connection, method: str, params: dict[str, Any] | None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        deadline = None if self.timeout is None else monotonic() + self.timeout
        connection.notify(encode_message(message), deadline)

    def _introduce(
        self, connection: Connection, params: dict[str, Any], folders: list[str], timeout: float | None
    ) -> types.InitializeResult:
        params = {
            **params,
            "rootUri": folders[0] if folders else None,
            "workspaceFolders": [workspace_folder(uri) for uri in folders],
        }
        result: types.InitializeResult = self._request(connection, "initialize", params, timeout, None)
        self._notify(connection, "initialized", {})
        self._result = result
        return result

    def _change_folders(self, added: list[str], removed: list[str]) -> None:
        event = {
            "added": [workspace_folder(uri) for uri in added],
            "removed": [workspace_folder(uri) for uri in removed],
        }
        self.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        with self._lock:
            kept = [uri for uri in self._folders if uri not in removed]
            self._folders = kept + [uri for uri in added if uri not in kept]

    def _open(self, *, hold: bool) -> Connection:
        with self._lock:
            if self._closing.is_set():
                raise ConnectionLost("the client is closed")
        return Connection(
            self._open_transport(),
            self._max_message,
            hold=hold,
            on_notification=self._on_notification,
            on_end=self._on_end,
            folders=lambda: self.folders,
        )

    def _forget_subscription(self, subscription: Subscription) -> None:
        with self._lock:
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)

    def _on_notification(self, connection: Connection, notification: Notification) -> None:
        with self._lock:
            if connection.held is not None:
                connection.held.append(notification)
            else:
                self._broadcast(notification)

    def _on_end(self, connection: Connection) -> None:
        with self._lock:
            if connection.held is None:
                self._announce_end(connection)

    def _announce_end(self, connection: Connection) -> None:
        """Notifies the subscriptions if the connection was lost. The caller holds the lock."""
        if connection.reason is None or connection.retired or connection.announced or self._closing.is_set():
            return
        connection.announced = True
        self._broadcast(self._disconnected(connection))
        self._supervise()

    @staticmethod
    def _disconnected(connection: Connection) -> Notification:
        return Notification(DISCONNECTED, {"reason": connection.reason})

    def _broadcast(self, notification: Notification) -> None:
        """Passes on a notification unless it was passed on already. The caller holds the lock."""
        params = notification.params
        if self._reconnects and isinstance(params, dict) and "seq" in params:
            if params["seq"] <= self._numbers.get(params["workspaceUri"], -1):
                return
            self._numbers[params["workspaceUri"]] = params["seq"]
        for subscription in self._subscriptions:
            subscription._put(notification, always=notification.method.startswith("snapd/"))

    # -- reconnecting by itself

    def _ready(self, timeout: float | None) -> Connection:
        """Returns the connection, after restoring it if it was lost."""
        if self._reconnects and self._initialized is not None and not self.connected:
            self._reconnect_for_request(timeout)
        return self._connection

    def _reconnect_for_request(self, timeout: float | None) -> None:
        for pause in _PAUSES:
            try:
                return self.reconnect(timeout=timeout)
            except ConnectionLost:
                if self._closing.wait(pause):
                    raise
        return self.reconnect(timeout=timeout)

    def _supervise(self) -> None:
        """Reconnects in the background while there are subscriptions. The caller holds the lock."""
        if self._reconnects and self._subscriptions and self._initialized is not None and self._supervisor is None:
            self._supervisor = threading.Thread(
                target=self._reconnect_at_last, name="snapd-client-supervisor", daemon=True
            )
            self._supervisor.start()

    def _reconnect_at_last(self) -> None:
        pause, trouble = _FIRST_PAUSE, ""
        while True:
            with self._lock:
                if self.connected or self._closing.is_set():
                    self._supervisor = None
                    return
            try:
                self.reconnect()
            except Exception as error:  # of any kind: subscribers get it, and the next attempt follows
                if trouble != (trouble := str(error)):
                    with self._lock:
                        self._broadcast(Notification(UNREACHABLE, {"reason": trouble, "error": error}))
                self._closing.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _learn_numbers(self) -> None:
        """Gets the latest sequence numbers, so that missed notifications can be distinguished from earlier ones."""
        if self._reconnects and self._initialized is not None and self.connected:
            with suppress(ConnectionLost):
                self._missed(self._connection, self.folders, None, is_first=True)

    def _missed(
        self, connection: Connection, folders: list[str], timeout: float | None, *, is_first: bool = False
    ) -> list[Notification]:
        """Returns the missed notifications, and records the latest numbers of other workspaces."""
        missed: list[Notification] = []
        for folder in folders:
            try:
                uri = self._request(connection, "snapshot/status", {"workspaceUri": folder}, timeout, None)[
                    "workspaceUri"
                ]
                since = _NEVER_GIVEN if is_first else self._numbers.get(uri, _NEVER_GIVEN)
                asked = {"workspaceUri": folder, "since": since}
                answer: types.EventsResult = self._request(connection, "snapshot/events", asked, timeout, None)
            except SnapdError:
                # it was refused, or is gone: the requests for it say so
                continue
            missed += [Notification(event["method"], event["params"]) for event in answer.get("events", ())]
            if since == _NEVER_GIVEN:
                self._numbers.setdefault(uri, answer["latest"])
            elif "reset" in answer:
                # numbers may begin anew
                self._numbers.pop(uri, None)
                missed.append(Notification(RESET, {"workspaceUri": uri, "seq": answer["latest"]}))
        return missed
