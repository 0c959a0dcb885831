"""The client: requests that wait for their answers, and subscriptions to what the daemon says by itself."""

from __future__ import annotations

import os
import threading
from collections import deque
from itertools import count
from time import monotonic

from snapd_client import transport as transports
from snapd_client.errors import (
    ClientError,
    ConnectionLost,
    FramingError,
    RequestTimeout,
    SnapdError,
    error_from_answer,
)
from snapd_client.framing import MAX_MESSAGE, FrameReader, decode_message, encode_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Any, TypeAlias

    from typing_extensions import Self

    from snapd_client import types

    FileName: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
    OnProgress: TypeAlias = Callable[["Progress"], None]

__all__ = ["Client", "Notification", "Progress", "Subscription", "from_uri", "to_uri"]

DISCONNECTED = "snapd/disconnected"
RECONNECTED = "snapd/reconnected"

_METHOD_NOT_FOUND = -32601
_CANCEL_TIMEOUT = 2.0
_SETTLE_TIMEOUT = 2.0
_SHUTDOWN_TIMEOUT = 10.0
_PROGRESS_KEPT = 64
_TOKEN_PREFIX = "snapd-client/"  # noqa: S105 - a progress token is no secret
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
_NULL_ANSWERED = frozenset(
    {
        "client/registerCapability",
        "client/unregisterCapability",
        "window/showMessageRequest",
        "window/workDoneProgress/create",
    }
)


class Notification:
    """What the daemon, or for `snapd/...` this client, said unasked.

    Attributes:
        method: Such as `snapshot/didChange`.
        params: Its parameters; an empty dict where there were none.
    """

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: Any) -> None:
        self.method = method
        self.params = params

    def __repr__(self) -> str:
        return f"Notification({self.method!r}, {self.params!r})"


class Progress:
    """How far a request has come.

    Attributes:
        kind: `begin`, `report` or `end`.
        title: What is being done; said by `begin` and kept for the others.
        message: What is being done just now, or None.
        percentage: 0 to 100, or None where it is not known.
    """

    __slots__ = ("kind", "message", "percentage", "title")

    def __init__(self, kind: str, title: str, message: str | None, percentage: int | None) -> None:
        self.kind = kind
        self.title = title
        self.message = message
        self.percentage = percentage

    def __repr__(self) -> str:
        return f"Progress({self.kind!r}, {self.title!r}, {self.message!r}, {self.percentage!r})"


class Subscription:
    """The notifications from the moment of subscribing on, kept until they are taken; `Client.subscribe` makes it.

    Iterating waits for the next one and ends when the subscription or the client is closed. Two notifications are
    made by the client itself and reach every subscription: `snapd/disconnected` with a `reason` when the connection
    was lost, and `snapd/reconnected` after `Client.reconnect`.
    """

    def __init__(self, client: Client, methods: AbstractSet[str] | None, bound: int) -> None:
        self._client = client
        self._methods = methods
        self._bound = bound
        self._kept: deque[Notification] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._dropped = 0

    @property
    def dropped(self) -> int:
        """How many notifications were lost because nobody took them in time: the oldest go first."""
        return self._dropped

    @property
    def closed(self) -> bool:
        """Whether nothing more will come; what was kept can still be taken."""
        return self._closed

    def get(self, timeout: float | None = None) -> Notification | None:
        """Waits for the next notification.

        Args:
            timeout: For how many seconds; 0 does not wait, None waits without end.

        Returns:
            The notification, or None where the time is up or nothing more will come.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._kept or self._closed, timeout)
            return self._kept.popleft() if self._kept else None

    def close(self) -> None:
        """Ends the subscription, and with it the iteration of whoever waits."""
        self._client._forget_subscription(self)
        self._end()

    def __iter__(self) -> Iterator[Notification]:
        while (notification := self.get()) is not None:
            yield notification

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _put(self, notification: Notification, *, always: bool = False) -> None:
        if not always and self._methods is not None and notification.method not in self._methods:
            return
        with self._changed:
            if len(self._kept) >= self._bound:
                self._kept.popleft()
                self._dropped += 1
            self._kept.append(notification)
            self._changed.notify()


class _Pending:
    """A request that waits for its answer."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._progress: deque[Progress] = deque()
        self._title = ""
        self._done = False
        self._result: Any = None
        self._error: ClientError | None = None

    def report(self, value: Any) -> None:
        """Keeps one `$/progress` for the waiting thread; where that is far behind, the newest takes the last place."""
        if not isinstance(value, dict):
            return
        self._title = str(value.get("title", self._title))
        progress = Progress(str(value.get("kind")), self._title, value.get("message"), value.get("percentage"))
        with self._changed:
            kept = self._progress
            if len(kept) >= _PROGRESS_KEPT:
                kept.pop()
            kept.append(progress)
            self._changed.notify()

    def settle(self, result: Any, error: ClientError | None) -> None:
        """Takes the answer."""
        with self._changed:
            self._done, self._result, self._error = True, result, error
            self._changed.notify()

    def wait(self, deadline: float | None, on_progress: OnProgress | None) -> Any:
        """Waits for the answer, and calls `on_progress` in the waiting thread."""
        while True:
            with self._changed:
                left = None if deadline is None else max(0.0, deadline - monotonic())
                if not self._changed.wait_for(lambda: self._progress or self._done, left):
                    raise RequestTimeout("no answer came in time")
                news = list(self._progress)
                self._progress.clear()
                done = self._done
            if on_progress is not None:
                for progress in news:
                    on_progress(progress)
            if done:
                if self._error is not None:
                    raise self._error
                return self._result


class _Connection:
    """One connection and the thread that reads it."""

    def __init__(self, client: Client, transport: transports.Transport, max_message: int, *, hold: bool) -> None:
        self.held: list[Notification] | None = [] if hold else None
        """What is kept back until the client says that it has reconnected; guarded by the client's lock."""
        self.announced = False
        """Whether the end was told to the subscriptions; guarded by the client's lock."""
        self.reason: str | None = None
        """Why the connection has ended, or None while it lives; guarded by this connection's lock."""
        self.retired = False
        """Whether the end is of our own making."""
        self._client = client
        self._transport = transport
        self._frames = FrameReader(transport.read, max_message)
        self._pending: dict[int, _Pending] = {}
        self._lock = threading.Lock()
        self._complaint: SnapdError | None = None
        self._cause: BaseException | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="snapd-client-reader", daemon=True)
        self._thread.start()

    def request(self, request_id: int, frame: bytes, deadline: float | None, on_progress: OnProgress | None) -> Any:
        """Sends a request and waits for its answer; cancels it where it is given up."""
        pending = _Pending()
        with self._lock:
            if self.reason is not None:
                raise self.lost()
            self._pending[request_id] = pending
        unsent = False
        try:
            try:
                self._transport.write(frame, deadline)
            except RequestTimeout:
                unsent = True
                raise
            except OSError:
                # What the daemon said before it hung up tells why, and may even be the answer.
                self._settle()
                deadline = monotonic()
            return pending.wait(deadline, on_progress)
        except BaseException:
            with self._lock:
                given_up = self._pending.pop(request_id, None) is not None
            if given_up and not unsent:
                self._cancel(request_id)
            raise

    def notify(self, frame: bytes, deadline: float | None) -> None:
        """Sends what has no answer."""
        try:
            self._transport.write(frame, deadline)
        except RequestTimeout:
            raise
        except OSError:
            self._settle()
            raise self.lost()  # noqa: B904 - it has its own cause

    def lost(self) -> ConnectionLost:
        """Makes the exception that says why the connection has ended: a new one for each thread."""
        error = ConnectionLost(f"the connection to snapd is lost: {self.reason or 'it ended'}")
        error.__cause__ = self._complaint or self._cause
        return error

    def close(self) -> None:
        """Ends the connection and waits until it has ended."""
        self.retired = True
        self._transport.abort()
        self._thread.join()

    def _settle(self) -> None:
        """Gives the reader a moment to come to the end by itself, and makes one where it does not."""
        if not self._ended.wait(_SETTLE_TIMEOUT):
            self._transport.abort()
            self._ended.wait(_SETTLE_TIMEOUT)

    def _cancel(self, request_id: int) -> None:
        frame = encode_message({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": request_id}})
        try:
            self._transport.write(frame, monotonic() + _CANCEL_TIMEOUT)
        except (ClientError, OSError):
            return

    def _run(self) -> None:
        reason = "snapd closed it"
        try:
            while (body := self._frames.read_frame()) is not None:
                self._dispatch(decode_message(body))
            if self._transport.aborted:
                reason = "it was broken off here, in the middle of a request"
        except (OSError, FramingError) as error:
            self._cause, reason = error, str(error)
        except Exception as error:  # Whatever it is, nobody may wait for this thread in vain.
            self._cause, reason = error, repr(error)
        finally:
            self._transport.close()
            if self._complaint is not None:
                reason = str(self._complaint)
            if self.retired:
                reason = "it was closed here"
            elif ending := self._transport.ending():
                reason = f"{reason}; {ending}"
            self._fail(reason)
            self._transport.reap()

    def _fail(self, reason: str) -> None:
        with self._lock:
            self.reason = reason
            waiting = list(self._pending.values())
            self._pending.clear()
        for pending in waiting:
            pending.settle(None, self.lost())
        self._ended.set()
        self._client._on_end(self)

    def _dispatch(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if isinstance(method, str):
            params = message.get("params")
            if params is None:
                params = {}
            if "id" in message:
                self._answer(message["id"], method)
            elif method != "$/progress" or not self._progress(params):
                self._client._on_notification(self, Notification(method, params))
        elif "id" in message:
            self._settle_request(message)

    def _settle_request(self, message: dict[str, Any]) -> None:
        request_id = message["id"]
        error = error_from_answer(message["error"]) if "error" in message else None
        if request_id is None:
            # The daemon could not tell whose request it was; it hangs up next, and this says why.
            self._complaint = error
        elif isinstance(request_id, int):
            with self._lock:
                pending = self._pending.pop(request_id, None)
            if pending is not None:
                pending.settle(message.get("result"), error)

    def _progress(self, params: Any) -> bool:
        """Hands on the progress of one of our requests; says whether it was one."""
        token = params.get("token") if isinstance(params, dict) else None
        if not isinstance(token, str) or not token.startswith(_TOKEN_PREFIX):
            return False
        request_id = token[len(_TOKEN_PREFIX) :]
        with self._lock:
            pending = self._pending.get(int(request_id)) if request_id.isdecimal() else None
        if pending is not None:
            pending.report(params.get("value"))
        return True

    def _answer(self, request_id: Any, method: str) -> None:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id}
        if method in _NULL_ANSWERED:
            answer["result"] = None
        elif method == "workspace/workspaceFolders":
            answer["result"] = [_folder(uri) for uri in self._client.folders]
        else:
            answer["error"] = {"code": _METHOD_NOT_FOUND, "message": f"this client has no method {method}"}
        self._transport.post(encode_message(answer))


class Client:
    """A connection to snapd that any number of threads may use at once.

    `connect`, `spawn` and `tcp` make one; `initialize` has to come first. Used as a context manager it closes itself.

    Attributes:
        timeout: How many seconds a request waits where it is not told; None for without end.

    Args:
        open_transport: Makes the connection, and makes it again for `reconnect`.
        token: The token that `initialize` shows, for TCP.
        timeout: See the attribute.
        max_message: The most bytes that one message of the daemon may have.
    """

    def __init__(
        self,
        open_transport: Callable[[], transports.Transport],
        *,
        token: str | None = None,
        timeout: float | None = None,
        max_message: int = MAX_MESSAGE,
    ) -> None:
        self.timeout = timeout
        self._open_transport = open_transport
        self._token = token
        self._max_message = max_message
        self._ids = count(1)
        self._lock = threading.Lock()
        self._reconnecting = threading.Lock()
        self._closed = False
        self._subscriptions: list[Subscription] = []
        self._folders: list[str] = []
        self._initialized: dict[str, Any] | None = None
        self._result: types.InitializeResult | None = None
        self._coming: _Connection | None = None
        self._connection = self._open(hold=False)

    @classmethod
    def connect(
        cls,
        socket_path: str | bytes | os.PathLike[str],
        *,
        timeout: float | None = None,
        max_message: int = MAX_MESSAGE,
    ) -> Self:
        """Connects to the daemon that listens on a Unix socket.

        Raises:
            OSError: Nobody listens there.
        """
        return cls(lambda: transports.connect_unix(socket_path, timeout), timeout=timeout, max_message=max_message)

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
        """Starts a command and speaks through its stdin and stdout.

        Args:
            command: Such as `["snapd", "connect"]` for the user's daemon, which that starts where none runs, or
                `["snapd", "serve", "--stdio"]` for a private one.
            cwd: The command's working directory, else the caller's.
            env: Its whole environment, else the caller's.
            stderr: A file descriptor or `subprocess.DEVNULL` for its stderr, else the caller's.
            grace: How many seconds it has to end after its stdin was closed, and again after SIGTERM.
            timeout: How many seconds a request waits where it is not told.
            max_message: The most bytes that one message of the daemon may have.

        Raises:
            OSError: The command cannot be started.
        """
        command = list(command)
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
            OSError: Nobody listens there.
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
        """What the daemon answered to `initialize`, or None before that."""
        return self._result

    @property
    def folders(self) -> list[str]:
        """The URIs of the folders that are open on this connection."""
        with self._lock:
            return list(self._folders)

    @property
    def connected(self) -> bool:
        """Whether the connection was alive when it was last looked at."""
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
            folders: Paths or `file:` URIs. One that the daemon refuses fails the requests that name it, not this.
            options: The `initializationOptions`.
            client_name: How the daemon's log calls this client.
            timeout: How many seconds to wait.
        """
        opened = [_folder_uri(folder) for folder in folders]
        params: dict[str, Any] = {
            "processId": os.getpid(),
            "clientInfo": {"name": client_name},
            "capabilities": {"window": {"workDoneProgress": True}, "workspace": {"workspaceFolders": True}},
            "initializationOptions": dict(options or {}),
        }
        if self._token is not None:
            params["initializationOptions"]["token"] = self._token
        result = self._introduce(self._connection, params, opened, timeout)
        with self._lock:
            self._initialized, self._folders = params, opened
        return result

    def open_folder(self, folder: FileName) -> str:
        """Opens one more folder, and gives its URI."""
        uri = _folder_uri(folder)
        self._change_folders(added=[uri], removed=[])
        return uri

    def close_folder(self, folder: FileName) -> str:
        """Closes a folder, and gives its URI."""
        uri = _folder_uri(folder)
        self._change_folders(added=[], removed=[uri])
        return uri

    def request(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Any:
        """Sends a request and waits for its result.

        A request that is given up, for the time or for an exception such as KeyboardInterrupt, is cancelled.

        Args:
            method: The method's name.
            params: Its parameters.
            timeout: How many seconds to wait, else `Client.timeout`.
            on_progress: Is called in this thread with each progress that the daemon reports. It may make other
                requests; an exception that it raises cancels this one.

        Raises:
            SnapdError: The daemon answered with an error.
            RequestTimeout: No answer came in time.
            ConnectionLost: The connection has ended.
            ValueError: The parameters cannot be said in JSON.
        """
        return self._request(self._connection, method, params, timeout, on_progress)

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Sends a notification.

        Raises:
            ConnectionLost: The connection has ended.
        """
        self._notify(self._connection, method, params)

    def subscribe(self, methods: AbstractSet[str] | None = None, *, bound: int = 1024) -> Subscription:
        """Keeps the daemon's notifications from now on.

        Args:
            methods: Those of interest, else all.
            bound: How many are kept at most; then the oldest are dropped, and counted.
        """
        subscription = Subscription(self, None if methods is None else frozenset(methods), max(1, bound))
        with self._lock:
            if self._closed:
                subscription._end()
            else:
                self._subscriptions.append(subscription)
                if self._connection.announced:
                    subscription._put(self._disconnected(self._connection), always=True)
        return subscription

    def reconnect(self, *, timeout: float | None = None) -> None:
        """Makes the same connection again, with the same options and folders; subscriptions go on.

        What the daemon said in between is lost: `events` with the last `seq` gives it. Of several threads that
        call this for one lost connection, one makes it and the others wait.

        Raises:
            OSError: The connection cannot be made.
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
                if params is not None:
                    self._introduce(connection, params, folders, timeout)
            except BaseException:
                connection.close()
                raise
            with self._lock:
                self._coming = None
                if not self._closed:
                    self._connection = connection
                    self._broadcast(Notification(RECONNECTED, {}), always=True)
                    for notification in connection.held or ():
                        self._broadcast(notification)
                    connection.held = None
                    self._announce_end(connection)
                    return
            connection.close()
            raise ConnectionLost("the client is closed")

    def shutdown(self, *, timeout: float | None = None) -> None:
        """Says `shutdown` and `exit`, and closes the client."""
        connection = self._connection
        try:
            self._request(connection, "shutdown", None, _SHUTDOWN_TIMEOUT if timeout is None else timeout, None)
            connection.retired = True
            self._notify(connection, "exit", None)
        finally:
            self.close()

    def close(self) -> None:
        """Ends the connection, the requests that wait, and the subscriptions. A command that was spawned has ended."""
        with self._lock:
            self._closed = True
            subscriptions, self._subscriptions = self._subscriptions, []
            connections = (self._connection, self._coming)
        for connection in connections:
            if connection is not None:
                connection.close()
        for subscription in subscriptions:
            subscription._end()

    # The snapshot requests of the wire contract. Every one takes `workspace_uri` (a URI or a path), which is needed
    # where several folders are open. Files are names relative to the workspace, absolute paths or URIs; a name that
    # is not valid UTF-8 may be given as bytes or as Python's str for it.

    def track(
        self,
        force: Iterable[FileName] | None = None,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Track:
        """Takes a snapshot; `force` names ignored paths to capture all the same."""
        params = {"force": self._names(force, workspace_uri)}
        result: types.Track = self._snapshot("track", params, workspace_uri, timeout, on_progress)
        return result

    def patch(
        self,
        hash: str,  # noqa: A002 - the contract's word
        to: str | None = None,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Patch:
        """Names the files that differ between a snapshot and the working tree, or another snapshot."""
        params = {"hash": hash, "to": to}
        result: types.Patch = self._snapshot("patch", params, workspace_uri, timeout, on_progress)
        return result

    def diff(
        self,
        hash: str,  # noqa: A002 - the contract's word
        to: str | None = None,
        files: Iterable[FileName] | None = None,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Diff:
        """Gives the unified diff from a snapshot to the working tree, or to another snapshot."""
        params = {"hash": hash, "to": to, "files": self._names(files, workspace_uri)}
        result: types.Diff = self._snapshot("diff", params, workspace_uri, timeout, on_progress)
        return result

    def diff_full(
        self,
        from_: str,
        to: str | None = None,
        files: Iterable[FileName] | None = None,
        *,
        contents: bool | None = None,
        renames: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.DiffPage:
        """Gives one page of the files that differ, with what they held before and hold after."""
        params = {
            "from": from_,
            "to": to,
            "files": self._names(files, workspace_uri),
            "contents": contents,
            "renames": renames,
            "cursor": cursor,
            "limit": limit,
        }
        result: types.DiffPage = self._snapshot("diffFull", params, workspace_uri, timeout, on_progress)
        return result

    def diff_full_all(
        self,
        from_: str,
        to: str | None = None,
        files: Iterable[FileName] | None = None,
        *,
        contents: bool | None = None,
        renames: bool | None = None,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Iterator[types.FileDiff]:
        """Goes through the files of every page of `diff_full`, asking for a page when it is needed."""
        names = None if files is None else list(files)
        cursor = None
        while True:
            page = self.diff_full(
                from_,
                to,
                names,
                contents=contents,
                renames=renames,
                cursor=cursor,
                limit=limit,
                workspace_uri=workspace_uri,
                timeout=timeout,
                on_progress=on_progress,
            )
            yield from page["diffs"]
            cursor = page.get("nextCursor")
            if cursor is None:
                return

    def file_at(
        self,
        hash: str,  # noqa: A002 - the contract's word
        file: FileName,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.FileContent:
        """Gives a file as a snapshot has it."""
        params = {"hash": hash, "file": self._name(file, workspace_uri)}
        result: types.FileContent = self._snapshot("fileAt", params, workspace_uri, timeout, on_progress)
        return result

    def list_files(
        self,
        hash: str,  # noqa: A002 - the contract's word
        prefix: str | None = None,
        *,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Iterator[str]:
        """Goes through the names of a snapshot's files, asking for a page of `limit` when it is needed."""
        cursor = None
        while True:
            params = {"hash": hash, "prefix": prefix, "cursor": cursor, "limit": limit}
            page: types.FilesPage = self._snapshot("listFiles", params, workspace_uri, timeout, on_progress)
            yield from page["files"]
            cursor = page.get("nextCursor")
            if cursor is None:
                return

    def file_exists(
        self,
        hash: str,  # noqa: A002 - the contract's word
        file: FileName,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> bool:
        """Says whether a snapshot has a file."""
        params = {"hash": hash, "file": self._name(file, workspace_uri)}
        result = self._snapshot("fileExists", params, workspace_uri, timeout, on_progress)
        return bool(result["exists"])

    def restore(
        self,
        hash: str,  # noqa: A002 - the contract's word
        *,
        dry_run: bool | None = None,
        on_conflict: types.OnConflict | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Outcome:
        """Makes the working tree exactly the snapshot; files made since then are deleted."""
        params = {"hash": hash, "dryRun": dry_run, "onConflict": on_conflict}
        result: types.Outcome = self._snapshot("restore", params, workspace_uri, timeout, on_progress)
        return result

    def revert(
        self,
        patches: Iterable[types.Patch],
        *,
        dry_run: bool | None = None,
        on_conflict: types.OnConflict | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Outcome:
        """Takes files back to their snapshots; the first patch that names a file wins."""
        taken = [{"hash": patch["hash"], "files": self._names(patch["files"], workspace_uri)} for patch in patches]
        params = {"patches": taken, "dryRun": dry_run, "onConflict": on_conflict}
        result: types.Outcome = self._snapshot("revert", params, workspace_uri, timeout, on_progress)
        return result

    def status(
        self,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Status:
        """Tells how the workspace's snapshots stand."""
        result: types.Status = self._snapshot("status", {}, workspace_uri, timeout, on_progress)
        return result

    def cleanup(
        self,
        older_than_days: float | None = None,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Cleanup:
        """Drops old snapshots."""
        params = {"olderThanDays": older_than_days}
        result: types.Cleanup = self._snapshot("cleanup", params, workspace_uri, timeout, on_progress)
        return result

    def events(
        self,
        since: int,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Events:
        """Gives the notifications after the one with that `seq`: how to catch up after `reconnect`."""
        result: types.Events = self._snapshot("events", {"since": since}, workspace_uri, timeout, on_progress)
        return result

    def _snapshot(
        self,
        name: str,
        fields: Mapping[str, Any],
        workspace: str | None,
        timeout: float | None,
        on_progress: OnProgress | None,
    ) -> Any:
        params = {key: value for key, value in fields.items() if value is not None}
        if workspace is not None:
            params["workspaceUri"] = _folder_uri(workspace)
        return self.request(f"snapshot/{name}", params, timeout=timeout, on_progress=on_progress)

    def _names(self, files: Iterable[FileName] | None, workspace: str | None) -> list[str] | None:
        return None if files is None else [self._name(file, workspace) for file in files]

    def _name(self, file: FileName, workspace: str | None) -> str:
        """Gives a file as a request says it: as a URI where it could not be said or would be taken for one."""
        name = os.fsdecode(file)
        if isinstance(file, str) and _is_uri(file):
            return file
        if not _is_uri(name) and not any("\ud800" <= character <= "\udfff" for character in name):
            return name
        if os.path.isabs(name):
            return to_uri(name)
        folders = self.folders if workspace is None else [_folder_uri(workspace)]
        if len(folders) != 1:
            raise ValueError(f"{name!r} needs a workspace to make its URI; {len(folders)} are open")
        return f"{folders[0].rstrip('/')}/{_quote(os.fsencode(name))}"

    def _request(
        self,
        connection: _Connection,
        method: str,
        params: dict[str, Any] | None,
        timeout: float | None,
        on_progress: OnProgress | None,
    ) -> Any:
        request_id = next(self._ids)
        if on_progress is not None:
            params = {**(params or {}), "workDoneToken": f"{_TOKEN_PREFIX}{request_id}"}
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            message["params"] = params
        if timeout is None:
            timeout = self.timeout
        deadline = None if timeout is None else monotonic() + timeout
        return connection.request(request_id, encode_message(message), deadline, on_progress)

    def _notify(self, connection: _Connection, method: str, params: dict[str, Any] | None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        deadline = None if self.timeout is None else monotonic() + self.timeout
        connection.notify(encode_message(message), deadline)

    def _introduce(
        self, connection: _Connection, params: dict[str, Any], folders: list[str], timeout: float | None
    ) -> types.InitializeResult:
        params = {
            **params,
            "rootUri": folders[0] if folders else None,
            "workspaceFolders": [_folder(uri) for uri in folders],
        }
        result: types.InitializeResult = self._request(connection, "initialize", params, timeout, None)
        self._notify(connection, "initialized", {})
        self._result = result
        return result

    def _change_folders(self, added: list[str], removed: list[str]) -> None:
        event = {"added": [_folder(uri) for uri in added], "removed": [_folder(uri) for uri in removed]}
        self.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        with self._lock:
            kept = [uri for uri in self._folders if uri not in removed]
            self._folders = kept + [uri for uri in added if uri not in kept]

    def _open(self, *, hold: bool) -> _Connection:
        with self._lock:
            if self._closed:
                raise ConnectionLost("the client is closed")
        return _Connection(self, self._open_transport(), self._max_message, hold=hold)

    def _forget_subscription(self, subscription: Subscription) -> None:
        with self._lock:
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)

    def _on_notification(self, connection: _Connection, notification: Notification) -> None:
        with self._lock:
            if connection.held is not None:
                connection.held.append(notification)
            else:
                self._broadcast(notification)

    def _on_end(self, connection: _Connection) -> None:
        with self._lock:
            if connection.held is None:
                self._announce_end(connection)

    def _announce_end(self, connection: _Connection) -> None:
        """Tells the subscriptions of an end that nobody here made; the lock is held."""
        if connection.reason is None or connection.retired or connection.announced or self._closed:
            return
        connection.announced = True
        self._broadcast(self._disconnected(connection), always=True)

    @staticmethod
    def _disconnected(connection: _Connection) -> Notification:
        return Notification(DISCONNECTED, {"reason": connection.reason})

    def _broadcast(self, notification: Notification, *, always: bool = False) -> None:
        for subscription in self._subscriptions:
            subscription._put(notification, always=always)


def to_uri(path: str | bytes) -> str:
    """Gives the `file:` URI of an absolute path.

    Every byte that is not unreserved in RFC 3986 is percent-encoded, those that are not UTF-8 included: a str has them
    as Python's file functions give them, as lone surrogates.

    Raises:
        ValueError: The path is not absolute, or has a null character.
    """
    raw = os.fsencode(path)
    if not raw.startswith(b"/") or b"\0" in raw:
        raise ValueError(f"not an absolute path: {path!r}")
    return f"file://{_quote(raw)}"


def from_uri(uri: str) -> str:
    """Gives the path of a `file:` URI, as Python's file functions take it.

    Raises:
        ValueError: It is no `file:` URI of this machine, or is malformed.
    """
    if not _is_uri(uri):
        raise ValueError(f"not a file: URI: {uri!r}")
    rest = uri[len("file:") :]
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host.lower() not in ("", "localhost"):
            raise ValueError(f"a file: URI of another machine: {uri!r}")
        rest = slash + path
    if not rest.startswith("/") or "?" in rest or "#" in rest:
        raise ValueError(f"a malformed file: URI: {uri!r}")
    first, *others = rest.encode("utf-8", "surrogateescape").split(b"%")
    parts = [first]
    for part in others:
        try:
            # bytes.fromhex passes over white space, so "% 1" would do but for the length.
            octet = bytes.fromhex(part[:2].decode("ascii"))
        except ValueError:
            octet = b""
        if len(octet) != 1 or octet == b"\0":
            raise ValueError(f"a malformed file: URI: {uri!r}")
        parts += (octet, part[2:])
    return os.fsdecode(b"".join(parts))


def _quote(raw: bytes) -> str:
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in raw)


def _is_uri(name: str) -> bool:
    return name[:5].lower() == "file:"


def _folder_uri(folder: FileName) -> str:
    if isinstance(folder, str) and _is_uri(folder):
        return folder
    path = os.fsdecode(folder)
    if not os.path.isabs(path):
        path = os.path.abspath(path)
    return to_uri(path.rstrip("/") or "/")


def _folder(uri: str) -> dict[str, str]:
    return {"uri": uri, "name": os.path.basename(uri.rstrip("/")) or "/"}
