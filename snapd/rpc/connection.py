"""Serves one client: reads its messages and runs its requests."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import orjson

from snapd._version import __version__
from snapd.handlers import HANDLERS, Context
from snapd.model.call import Call
from snapd.model.errors import InvalidParams, SnapdError, Unauthorized
from snapd.rpc.scheduling.workspace_queue import Access
from snapd.rpc.transport.framing import HttpRequest, Notification, Request, RpcError, encode, parse, read_frame
from snapd.rpc.transport.streams import Outbox
from snapd.settings.in_force import Options
from snapd.settings.sources import read_options
from snapd.wire import converter as wire
from snapd.wire.errors import INVALID_REQUEST, METHOD_NOT_FOUND, SERVER_NOT_INITIALIZED
from snapd.wire.methods import METHODS, NOTIFICATIONS, PROTOCOL_VERSION

from .documents import Documents
from .folders import Folders
from .language_server import CONVERTER, Feature, JsonRPCServer, lsp
from .params import CLIENT_NOTIFICATIONS, structure
from .progress import Progress
from .protocol import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from snapd.rpc.scheduling.workspace_queue import Ticket
    from snapd.rpc.transport.framing import MessageId
    from snapd.settings.table import Layer

    from .folders import Folder
    from .language_server import OpeningParams
    from .services import Services

logger = logging.getLogger(__name__)

T = TypeVar("T")

_OUTSTANDING = 20_000
"""Unanswered requests per client after which we stop reading from it."""
_OUTSTANDING_BYTES = 64 << 20
"""The most bytes of these as sent; a single one may be larger."""
_LONG_BYTES = 1 << 20
"""Longer messages are parsed in a thread instead of on the loop."""
_READ_SECONDS = 0.005
"""How long messages of one client are read before others get the loop."""
_LEFT_SECONDS = 30.0
"""After a client's end of input, how long it may leave output unread before it is dropped."""
_GRACE_SECONDS = 0.25
"""How long an operation past its point of no return may take when the daemon stops."""
_STOPPED_SECONDS = 2.0
"""How long a client may leave output unread once the daemon stops."""

_CAPABLE = {
    "capabilities": {
        "textDocumentSync": {"openClose": True, "change": int(lsp.TextDocumentSyncKind.Full), "save": True},
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
        "experimental": {
            "snapshot": {
                "protocolVersion": PROTOCOL_VERSION,
                "methods": sorted(METHODS),
                "notifications": sorted(NOTIFICATIONS),
            }
        },
    },
    "serverInfo": {"name": "snapd", "version": __version__},
}
"""The result of `initialize` as JSON: making an `lsp.InitializeResult` would take as long as all the rest."""

_STRANGER_BYTES = 256 << 10
"""The longest message before the client has authenticated: anyone who reaches the port may send it."""


@attrs.define(eq=False)
class _Pending:
    """A running request; `waiting` means that its work has not begun."""

    call: Call
    task: asyncio.Future[Any] | None = None
    waiting: bool = True

    def cancel(self) -> None:
        """Cancels the request."""
        self.call.cancel()
        self._abandon()

    def stop(self) -> None:
        """Like `cancel`, but after a grace period also interrupts an operation past its point of no return."""
        self.call.stop(_GRACE_SECONDS)
        self._abandon()

    def _abandon(self) -> None:
        if self.waiting and self.task is not None:
            self.task.cancel()


class Connection(JsonRPCServer):
    """Serves one client, which must send `token` with `initialize` unless it is None."""

    protocol: Protocol
    on_process: Callable[[int], None] | None = None
    """Called with the client's process id once the client has authenticated."""
    on_admitted: Callable[[], None] | None = None
    """Called once the client has authenticated."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, services: Services, token: str | None
    ) -> None:
        super().__init__(Protocol, lambda: CONVERTER)
        self._reader = reader
        self._outbox = Outbox(writer)
        self._services = services
        self._options = Options(services.base, self)
        self._token = token
        self._folders = Folders(services, self._options, self)
        self._documents = Documents(services, self._folders, self._spawn)
        self._pending: dict[MessageId, _Pending] = {}
        self._tasks: set[asyncio.Future[Any]] = set()
        self._taking_bytes = 0
        self._outstanding_bytes = 0
        self._capacity = asyncio.Event()
        self._listening = asyncio.Lock()
        self._initialized = False
        self._shut_down = False
        self._exited = False
        self._stopped = False
        self._reading: asyncio.Task[None] | None = None
        self.protocol.send = self._outbox.send
        self.protocol.on_cancel = self._cancel
        self._register()

    @property
    def exit_code(self) -> int:
        """The exit code of a process that served only this client: 1 after `exit` without `shutdown`."""
        return 1 if self._exited and not self._shut_down else 0

    async def run(self) -> None:
        """Serves the client until it disconnects and all its requests have ended."""
        self._reading = asyncio.ensure_future(self._read_all())
        if self._stopped:
            self._reading.cancel()
        try:
            await asyncio.wait((self._reading,))
            self._outbox.give_up_after(_STOPPED_SECONDS if self._stopped else _LEFT_SECONDS)
            if self._exited or self._stopped:
                self._cancel_all()
            while self._tasks:
                await asyncio.wait(self._tasks)
            if not self._reading.cancelled():
                self._reading.result()
        finally:
            self._cancel_all()
            await self._folders.remove_all()
            await self._documents.close()
            await self._outbox.close()

    def stop(self) -> None:
        """Cancels all requests and stops reading."""
        self._stopped = True
        for pending in self._pending.values():
            pending.stop()
        self._outbox.give_up_after(_STOPPED_SECONDS)
        if self._reading is not None:
            self._reading.cancel()

    def drop(self) -> None:
        """Closes the connection at once."""
        self._outbox.drop()

    def push(self, framed: bytes) -> None:
        """Sends a notification without waiting."""
        self._outbox.push(framed)

    # -- frames

    async def _read_all(self) -> None:
        until = time.monotonic() + _READ_SECONDS
        is_first = True
        while not self._exited:
            try:
                body = await read_frame(self._reader, self._limit, is_first=is_first)
            except RpcError as error:
                self.protocol.refuse(None, error)
                return
            except (OSError, HttpRequest):
                return
            if body is None:
                return
            is_first = False
            await self._take(body)
            await self._outbox.writable()
            while len(self._tasks) >= _OUTSTANDING or self._outstanding_bytes > _OUTSTANDING_BYTES:
                self._capacity.clear()
                await self._capacity.wait()
            if time.monotonic() > until:
                # reading buffered data never yields the loop
                await asyncio.sleep(0)
                until = time.monotonic() + _READ_SECONDS

    async def _take(self, body: bytes) -> None:
        self._taking_bytes = len(body)
        try:
            message = await self._unless_long(parse, body)
        except RpcError as error:
            self.protocol.refuse(error.message_id, error)
            return
        if isinstance(message, Request):
            try:
                self._check_stage(message)
                message.params = await self._unless_long(structure, message.method, message.params)
            except RpcError as error:
                self.protocol.refuse(message.id, error)
                return
            if message.method in METHODS:
                await self._folders.look_up(message.params.workspace_uri)
            self.protocol.handle_message(message)
        elif isinstance(message, Notification):
            await self._take_notification(message)

    async def _take_notification(self, message: Notification) -> None:
        if message.method not in CLIENT_NOTIFICATIONS or not (self._initialized or message.method == lsp.EXIT):
            return
        try:
            message.params = await self._unless_long(structure, message.method, message.params)
        except RpcError as error:
            self._show(lsp.MessageType.Error, f"{message.method}: {error.message}")
            return
        self.protocol.handle_message(message)

    async def _unless_long(self, work: Callable[..., T], *arguments: Any) -> T:
        """Processes a message: in a thread if it is long or the converter may be cold, otherwise on the loop."""
        if self._initialized and self._taking_bytes <= _LONG_BYTES:
            return work(*arguments)
        return await self._services.in_thread(work, *arguments)

    def _check_stage(self, request: Request) -> None:
        if self._shut_down:
            raise RpcError(INVALID_REQUEST, "the connection was shut down", "open a new connection")
        if request.method == lsp.INITIALIZE:
            if self._initialized:
                hint = "`workspace/didChangeWorkspaceFolders` opens more folders"
                raise RpcError(INVALID_REQUEST, "initialize was called already on this connection", hint)
        elif not self._initialized:
            raise RpcError(SERVER_NOT_INITIALIZED, "the connection is not initialized")
        if request.id in self._pending:
            raise RpcError(INVALID_REQUEST, "id: a request with this id is still under way", "use another id")
        if request.method in CLIENT_NOTIFICATIONS:
            raise RpcError(METHOD_NOT_FOUND, f"{request.method!r} is a notification", "send it without an id")

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Future[Any]:
        return self._keep(asyncio.ensure_future(work))

    def _keep(self, task: asyncio.Future[Any]) -> asyncio.Future[Any]:
        self._tasks.add(task)
        self._outstanding_bytes += self._taking_bytes
        task.add_done_callback(partial(self._end, self._taking_bytes))
        return task

    def _end(self, size: int, task: asyncio.Future[Any]) -> None:
        self._tasks.discard(task)
        self._outstanding_bytes -= size
        self._capacity.set()

    # -- features

    def _register(self) -> None:
        features: dict[str, Callable[[Any], Any]] = {
            lsp.INITIALIZE: self._initialize,
            lsp.SHUTDOWN: self._shutdown,
            lsp.EXIT: self._exit,
            lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self._change_folders,
            lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: self._change_configuration,
            lsp.TEXT_DOCUMENT_DID_OPEN: self._documents.did_open,
            lsp.TEXT_DOCUMENT_DID_CHANGE: self._documents.did_change,
            lsp.TEXT_DOCUMENT_DID_SAVE: self._documents.did_save,
            lsp.TEXT_DOCUMENT_DID_CLOSE: self._documents.did_close,
            **{method: partial(self._request, method) for method in METHODS},
        }
        for method, feature in features.items():
            self.protocol.fm.feature(method)(Feature(feature))

    def _initialize(self, params: OpeningParams) -> Any:
        options = params.initialization_options
        given = options.get("token") if isinstance(options, dict) else None
        if self._token is not None and not _same_token(given, self._token):
            raise Unauthorized("initializationOptions.token: missing or wrong")
        if self.on_admitted is not None:
            self.on_admitted()
        layer, unknown = read_options(options, "initializationOptions")
        self._options.give(layer)
        self._folders.finds_root = _flag(options, "findRoot")
        self._folders.only_open = _flag(options, "onlyOpen")
        folders = [folder.uri for folder in params.workspace_folders or ()]
        if not folders and params.root_uri:
            folders = [params.root_uri]
        elif not folders and params.root_path:
            # reported like any other name that is not a URI
            folders = [str(params.root_path)]
        opening = [self._add_folder(uri) for uri in folders]
        self._initialized = True
        if self.on_process is not None and params.process_id is not None:
            self.on_process(params.process_id)
        self._warn_of_unknown(unknown, "initializationOptions")
        return self._spawn(_after(opening, _CAPABLE))

    def _shutdown(self, _: Any) -> None:
        self._shut_down = True

    def _exit(self, _: Any) -> None:
        self._exited = True

    def _change_folders(self, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            self._folders.remove(folder.uri)
        for folder in params.event.added:
            self._add_folder(folder.uri)

    def _change_configuration(self, params: lsp.DidChangeConfigurationParams) -> None:
        try:
            layer, unknown = read_options(params.settings, "settings")
        except InvalidParams as error:
            self._show(lsp.MessageType.Error, str(error))
            return
        self._warn_of_unknown(unknown, "settings")
        self._options.give(layer)
        for folder in self._folders:
            ticket = self._folders.enter(folder, Access.SETTING)
            self._spawn(self._give(ticket, folder, layer))

    async def _give(self, ticket: Ticket, folder: Folder, layer: Layer) -> None:
        try:
            await ticket.admitted()
        except SnapdError as error:
            # the settings apply once the folder is open
            logger.info("%s", error.message)
        finally:
            folder.options.give(layer)
            ticket.leave()
        # one after the other, so that the last settings win
        async with self._listening:
            workspace = folder.workspace
            if workspace is None:
                return
            enabled = await self._services.in_thread(workspace.policy.enabled, self)
            if not folder.removed:
                self._services.hub.want_changes(workspace, self, enabled)

    def _add_folder(self, uri: str) -> asyncio.Future[Any] | None:
        folder = self._folders.add(uri)
        if isinstance(folder, SnapdError):
            self._show(lsp.MessageType.Error, str(folder))
            return None
        return self._spawn(self._open_ahead(self._folders.enter(folder, Access.READ, quick=True)))

    async def _open_ahead(self, ticket: Ticket) -> None:
        try:
            await ticket.admitted()
        except SnapdError as error:
            # only for the log: each request for the folder fails with this error
            logger.info("%s", error.message)
        finally:
            ticket.leave()

    # -- requests

    def _request(self, method: str, params: Any) -> asyncio.Future[Any]:
        message_id = self.protocol.msg_id
        assert message_id is not None
        loop = asyncio.get_running_loop()
        try:
            folder = self._folders.find(params.workspace_uri)
        except SnapdError as error:
            refused = loop.create_future()
            refused.set_exception(error)
            return refused
        spec = METHODS[method]
        ticket = self._folders.enter(folder, Access(spec.access_of(params)), quick=spec.quick)
        progress = None
        if params.work_done_token is not None:
            progress = Progress(params.work_done_token, method, loop, partial(self.protocol.notify, "$/progress"))
        # registered before the next message, which may cancel it
        pending = self._pending[message_id] = _Pending(
            Call(progress.report if progress is not None else None, ticket.release_turn_later)
        )
        pending.task = self._answer_at_once(pending, ticket, folder, method, params)
        if pending.task is None:
            pending.task = self._spawn(self._answer(pending, ticket, folder, method, params))
        # not at the end of the task itself: a task that is cancelled at once never begins. It runs before the callback
        # that sends the answer
        pending.task.add_done_callback(partial(self._finish, message_id, ticket, progress))
        return pending.task

    def _finish(self, message_id: MessageId, ticket: Ticket, progress: Progress | None, _: asyncio.Future[Any]) -> None:
        ticket.leave()
        if progress is not None:
            progress.end()
        del self._pending[message_id]

    def _answer_at_once(
        self, pending: _Pending, ticket: Ticket, folder: Folder, method: str, params: Any
    ) -> asyncio.Future[Any] | None:
        """Begins a request that need not wait for anything, without the cost of a task; else returns None."""
        if not (ticket.is_admitted and self._outbox.is_writable and ticket.has_turn()):
            return None
        end = None if ticket.quick else self._services.turns.try_turn()
        if end is None and not ticket.quick:
            return None
        pending.waiting = False
        try:
            answer = self._in_thread(pending, folder, method, params)
        except RuntimeError as error:
            answer = asyncio.get_running_loop().create_future()
            answer.set_exception(error)
        if end is not None:
            answer.add_done_callback(lambda _: end())
        return self._keep(answer)

    def _in_thread(self, pending: _Pending, folder: Folder, method: str, params: Any) -> asyncio.Future[Any]:
        workspace = folder.workspace
        assert workspace is not None
        context = Context(workspace, folder.roots, self, pending.call)
        return self._services.in_thread(_work, method, context, params)

    async def _answer(self, pending: _Pending, ticket: Ticket, folder: Folder, method: str, params: Any) -> Any:
        await ticket.admitted()
        # a client that does not read its answers must not block other writers
        await self._outbox.writable()
        await ticket.turn()
        async with contextlib.nullcontext() if ticket.quick else self._services.turns.turn(folder.workspace):
            pending.waiting = False
            return await self._in_thread(pending, folder, method, params)

    def _cancel(self, message_id: Any) -> None:
        if isinstance(message_id, (int, str)) and message_id in self._pending:
            self._pending[message_id].cancel()

    def _cancel_all(self) -> None:
        for pending in self._pending.values():
            pending.cancel()

    # -- helpers

    @property
    def _limit(self) -> int:
        if self._token is None or self._initialized:
            return self._services.max_message_bytes
        return min(self._services.max_message_bytes, _STRANGER_BYTES)

    def _warn_of_unknown(self, unknown: list[str], where: str) -> None:
        for name in unknown:
            self._show(lsp.MessageType.Warning, f"{where}.{name}: unknown setting, ignored; check its name")

    def _show(self, kind: lsp.MessageType, message: str) -> None:
        self.protocol.notify(lsp.WINDOW_LOG_MESSAGE, {"type": int(kind), "message": message})


async def _after(tasks: Iterable[asyncio.Future[Any] | None], result: Any) -> Any:
    """Returns `result` once the tasks, which cannot fail, are done."""
    for task in tasks:
        if task is not None:
            await task
    return result


def _work(method: str, context: Context, params: Any) -> Any:
    context.call.check()
    # encode here and not on the loop: a page of a diff takes a while
    return orjson.Fragment(encode(wire.unstructure(HANDLERS[method](context, params))))


def _flag(options: Any, name: str) -> bool:
    given = options.get(name) if isinstance(options, dict) else None
    if given is not None and not isinstance(given, bool):
        raise InvalidParams(f"initializationOptions.{name}: expected true or false", field=name)
    return bool(given)


def _same_token(given: Any, token: str) -> bool:
    return isinstance(given, str) and hmac.compare_digest(given.encode(), token.encode())
