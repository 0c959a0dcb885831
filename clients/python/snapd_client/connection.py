"""One connection to the daemon: its reading thread, and the requests that wait for answers."""

from __future__ import annotations

import re
import threading
from collections import deque
from contextlib import contextmanager
from time import monotonic

from snapd_client.errors import (
    REQUEST_CANCELLED,
    Cancelled,
    ClientError,
    ConnectionLost,
    FramingError,
    RequestTimeout,
    SnapdError,
    error_from_answer,
)
from snapd_client.framing import FrameReader, decode_message, encode_message
from snapd_client.notifications import Notification, Progress
from snapd_client.uris import workspace_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from snapd_client.notifications import OnProgress
    from snapd_client.transport import Transport

    OnCursor = Callable[[str, int], None]

__all__ = ["TOKEN_PREFIX", "Cancellation", "Connection", "Pending"]

TOKEN_PREFIX = "snapd-client/"  # noqa: S105 - a progress token is no secret
"""The prefix of a request's `workDoneToken`; the request's id follows."""

_METHOD_NOT_FOUND = -32601
_CANCEL_TIMEOUT = 2.0
_SETTLE_TIMEOUT = 2.0
_PROGRESS_KEPT = 64
_RESULT = re.compile(rb'\{"jsonrpc":"2\.0","id":([0-9]{1,18}),"result":\{')
_CURSOR = re.compile(rb'"nextCursor":"([A-Za-z0-9+/_=-]+)"\}\}\Z')
"""The last field of a result. Inside a JSON string, its quotes would be escaped."""
_LONGEST_CURSOR = 64 * 1024
_NULL_ANSWERED = frozenset(
    {
        "client/registerCapability",
        "client/unregisterCapability",
        "window/showMessageRequest",
        "window/workDoneProgress/create",
    }
)


class Pending:
    """A request that waits for its answer.

    Attributes:
        on_cursor: Called in the reading thread with the `nextCursor` and the size in bytes of the answer before it is
            parsed, if the answer has a cursor that can be found without parsing.
        size: The size of the answer in bytes, once it has arrived.
    """

    def __init__(self, request_id: int, on_cursor: OnCursor | None) -> None:
        self.request_id = request_id
        self.on_cursor = on_cursor
        self.size = 0
        self._changed = threading.Condition(threading.Lock())
        self._progress: deque[Progress] = deque()
        self._title = ""
        self._done = False
        self._result: Any = None
        self._error: ClientError | None = None

    def report(self, value: Any) -> None:
        """Stores a `$/progress` for the waiting thread. If that is far behind, the new report replaces the last one."""
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
        """Sets the answer and wakes the waiting thread."""
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


class Cancellation:
    """Lets any thread cancel a request that another one waits for: pass it to `Client.request`, and call `cancel`.

    The request then ends as the daemon answers it: with `Cancelled`, or with its result if it was too late. One
    cancellation may be passed to several requests, one after the other; those that begin after `cancel` are not sent.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._cancel: Callable[[], None] | None = None

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Asks the daemon to cancel the running request, if there is one."""
        with self._lock:
            self._cancelled = True
            cancel = self._cancel
        if cancel is not None:
            cancel()

    @contextmanager
    def _watching(self, cancel: Callable[[], None]) -> Iterator[None]:
        """Calls `cancel` if the request is cancelled during the block, or was while it was sent."""
        with self._lock:
            self._cancel = cancel
            is_late = self._cancelled
        try:
            if is_late:
                cancel()
            yield
        finally:
            with self._lock:
                self._cancel = None

    def _check(self) -> None:
        """Raises `Cancelled` if `cancel` was called."""
        if self._cancelled:
            raise Cancelled(REQUEST_CANCELLED, "requestCancelled", "the request was cancelled before it was sent")


class Connection:
    """One connection and its reading thread.

    Args:
        transport: Closed by this connection at the end.
        max_message: The longest message to accept from the daemon, in bytes.
        hold: Whether to keep notifications in `held` while the client prepares the connection.
        on_notification: Called in the reading thread with every notification except the progress of requests.
        on_end: Called once in the reading thread, after the connection has ended and every request has failed.
        folders: Returns the URIs of the open folders, in case the daemon asks.
    """

    def __init__(
        self,
        transport: Transport,
        max_message: int,
        *,
        hold: bool,
        on_notification: Callable[[Connection, Notification], None],
        on_end: Callable[[Connection], None],
        folders: Callable[[], list[str]],
    ) -> None:
        self.held: list[Notification] | None = [] if hold else None
        """Notifications kept until the client has reconnected; guarded by the client's lock."""
        self.announced = False
        """Whether subscriptions were notified of the end; guarded by the client's lock."""
        self.reason: str | None = None
        """Why the connection ended, None while it is alive; guarded by this connection's lock."""
        self.retired = False
        """Whether we ended the connection ourselves."""
        self._on_notification = on_notification
        self._on_end = on_end
        self._folders = folders
        self._transport = transport
        self._frames = FrameReader(transport.read, max_message)
        self._pending: dict[int, Pending] = {}
        self._lock = threading.Lock()
        self._complaint: SnapdError | None = None
        self._cause: BaseException | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="snapd-client-reader", daemon=True)
        self._thread.start()

    def request(
        self,
        request_id: int,
        frame: bytes,
        deadline: float | None,
        on_progress: OnProgress | None,
        cancellation: Cancellation | None = None,
    ) -> Any:
        """Sends a request and waits for its result. Cancels the request if it gives up."""
        if cancellation is None:
            return self.take(self.ask(request_id, frame, deadline, None), deadline, on_progress)
        cancellation._check()
        pending = self.ask(request_id, frame, deadline, None)
        with cancellation._watching(lambda: self._transport.post(_cancelling(request_id))):
            return self.take(pending, deadline, on_progress)

    def ask(self, request_id: int, frame: bytes, deadline: float | None, on_cursor: OnCursor | None) -> Pending:
        """Sends a request; `take` returns its answer. `deadline` is a `time.monotonic` time, None for no limit."""
        pending = self._expect(request_id, on_cursor)
        try:
            self._transport.write(frame, deadline)
        except RequestTimeout:
            self._drop(pending)
            raise
        except OSError:
            # What the daemon sent before it hung up says why, and may even be the answer.
            self._settle()
            if self._drop(pending):
                raise self.lost()  # noqa: B904 - it has its own cause
        except BaseException:
            self.give_up(pending)
            raise
        return pending

    def post(self, request_id: int, frame: bytes) -> Pending:
        """Sends a request like `ask`, but without blocking: for the reading thread."""
        pending = self._expect(request_id, None)
        self._transport.post(frame)
        return pending

    def take(self, pending: Pending, deadline: float | None, on_progress: OnProgress | None) -> Any:
        """Waits for the result of a request. Cancels the request if it gives up."""
        try:
            return pending.wait(deadline, on_progress)
        except BaseException:
            self.give_up(pending)
            raise

    def give_up(self, pending: Pending) -> None:
        """Cancels a request if its answer has not come yet."""
        if self._drop(pending):
            self._cancel(pending.request_id)

    def notify(self, frame: bytes, deadline: float | None) -> None:
        """Sends a notification."""
        try:
            self._transport.write(frame, deadline)
        except RequestTimeout:
            raise
        except OSError:
            self._settle()
            raise self.lost()  # noqa: B904 - it has its own cause

    def lost(self) -> ConnectionLost:
        """Returns a new exception with the reason that the connection ended, one for each thread."""
        error = ConnectionLost(f"the connection to snapd is lost: {self.reason or 'it ended'}")
        error.__cause__ = self._complaint or self._cause
        return error

    def close(self) -> None:
        """Ends the connection and waits until it has ended."""
        self.retired = True
        self._transport.abort()
        self._thread.join()

    def _expect(self, request_id: int, on_cursor: OnCursor | None) -> Pending:
        pending = Pending(request_id, on_cursor)
        with self._lock:
            if self.reason is not None:
                raise self.lost()
            self._pending[request_id] = pending
        return pending

    def _drop(self, pending: Pending) -> bool:
        """Removes a request. Returns whether it was still waiting."""
        with self._lock:
            return self._pending.pop(pending.request_id, None) is not None

    def _settle(self) -> None:
        """Gives the reader a moment to reach the end of the stream, and then aborts the connection."""
        if not self._ended.wait(_SETTLE_TIMEOUT):
            self._transport.abort()
            self._ended.wait(_SETTLE_TIMEOUT)

    def _cancel(self, request_id: int) -> None:
        try:
            self._transport.write(_cancelling(request_id), monotonic() + _CANCEL_TIMEOUT)
        except (ClientError, OSError):
            return

    def _run(self) -> None:
        reason = "snapd closed it"
        try:
            while (body := self._frames.read_frame()) is not None:
                self._look_ahead(body)
                self._dispatch(decode_message(body))
            if self._transport.aborted:
                reason = "it was broken off here, in the middle of a request"
        except (OSError, FramingError) as error:
            self._cause, reason = error, str(error)
        except Exception as error:  # Whatever it is, nobody must wait for this thread in vain.
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

    def _look_ahead(self, body: bytes) -> None:
        """Passes on the cursor of the next page, before the answer is parsed."""
        result = _RESULT.match(body)
        if result is None:
            return
        with self._lock:
            pending = self._pending.get(int(result[1]))
        if pending is None:
            return
        pending.size = len(body)
        if pending.on_cursor is not None:
            cursor = _CURSOR.search(body, max(0, len(body) - _LONGEST_CURSOR))
            if cursor is not None:
                pending.on_cursor(cursor[1].decode("ascii"), len(body))

    def _fail(self, reason: str) -> None:
        with self._lock:
            self.reason = reason
            waiting = list(self._pending.values())
            self._pending.clear()
        for pending in waiting:
            pending.settle(None, self.lost())
        self._ended.set()
        self._on_end(self)

    def _dispatch(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if isinstance(method, str):
            params = message.get("params")
            if params is None:
                params = {}
            if "id" in message:
                self._answer(message["id"], method)
            elif method != "$/progress" or not self._progress(params):
                self._on_notification(self, Notification(method, params))
        elif "id" in message:
            self._settle_request(message)

    def _settle_request(self, message: dict[str, Any]) -> None:
        request_id = message["id"]
        error = error_from_answer(message["error"]) if "error" in message else None
        if request_id is None:
            # The daemon could not read the id. It hangs up next, and this says why.
            self._complaint = error
        elif isinstance(request_id, int):
            with self._lock:
                pending = self._pending.pop(request_id, None)
            if pending is not None:
                pending.settle(message.get("result"), error)

    def _progress(self, params: Any) -> bool:
        """Passes on the progress of one of our requests. Returns whether it belonged to one."""
        token = params.get("token") if isinstance(params, dict) else None
        if not isinstance(token, str) or not token.startswith(TOKEN_PREFIX):
            return False
        request_id = token[len(TOKEN_PREFIX) :]
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
            answer["result"] = [workspace_folder(uri) for uri in self._folders()]
        else:
            answer["error"] = {"code": _METHOD_NOT_FOUND, "message": f"this client has no method {method}"}
        self._transport.post(encode_message(answer))


def _cancelling(request_id: int) -> bytes:
    """Returns the frame that cancels a request."""
    return encode_message({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": request_id}})
