"""One client: its frames, its lifecycle, its folders and its requests under way."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
from lsprotocol import types as lsp
from lsprotocol.converters import get_converter
from pygls.server import JsonRPCServer

from snapd import __version__
from snapd.config import Settings, read_options
from snapd.core.call import Call
from snapd.core.errors import InvalidParams, SnapdError, Unauthorized
from snapd.handlers import HANDLERS, Context
from snapd.wire import converter as wire
from snapd.wire.errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, SERVER_NOT_INITIALIZED
from snapd.wire.methods import METHODS, NOTIFICATIONS, PROTOCOL_VERSION
from snapd.workspaces import apply_settings

from .documents import Documents
from .envelope import EnvelopeError, Notification, Request, parse
from .errors import RpcError
from .folders import Folders
from .framing import FramingError, HttpRequest, read_frame
from .outbox import Outbox
from .progress import Progress
from .protocol import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from concurrent.futures import Executor

    from snapd.config import Layer
    from snapd.core.workspace import Workspace
    from snapd.workspaces import Workspaces

    from .envelope import MessageId
    from .folders import Folder
    from .hub import Hub
    from .turns import Turns

logger = logging.getLogger(__name__)

_LSP = get_converter()
_LSP_TYPES: dict[str, Any] = {
    lsp.INITIALIZE: lsp.InitializeParams,
    lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: lsp.DidChangeWorkspaceFoldersParams,
    lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: lsp.DidChangeConfigurationParams,
    lsp.CANCEL_REQUEST: lsp.CancelParams,
    lsp.TEXT_DOCUMENT_DID_OPEN: lsp.DidOpenTextDocumentParams,
    lsp.TEXT_DOCUMENT_DID_CHANGE: lsp.DidChangeTextDocumentParams,
    lsp.TEXT_DOCUMENT_DID_SAVE: lsp.DidSaveTextDocumentParams,
    lsp.TEXT_DOCUMENT_DID_CLOSE: lsp.DidCloseTextDocumentParams,
}

_AT_ONCE = 8
"""Requests of one client that are worked on at the same time."""
_OUTSTANDING = 1000
"""Requests of one client that may wait for an answer; then no more are read."""
_LEFT_SECONDS = 30.0
"""How long a client that has said its last may take nothing of what it is still to be told."""
_GRACE_SECONDS = 0.25
"""What an operation beyond its point of no return has left, when the daemon is told to end."""
_STOPPED_SECONDS = 2.0
"""Likewise, when the daemon ends."""

_STRANGER_BYTES = 1 << 20
"""The longest message of who has not brought the token yet: whoever can reach the port may send it."""

_NOTIFICATIONS = frozenset(
    {
        lsp.INITIALIZED,
        lsp.EXIT,
        lsp.SET_TRACE,
        lsp.CANCEL_REQUEST,
        lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
        lsp.WORKSPACE_DID_CHANGE_CONFIGURATION,
        lsp.TEXT_DOCUMENT_DID_OPEN,
        lsp.TEXT_DOCUMENT_DID_CHANGE,
        lsp.TEXT_DOCUMENT_DID_SAVE,
        lsp.TEXT_DOCUMENT_DID_CLOSE,
    }
)
"""What a client may say without asking; all else that it says so is passed over."""


@attrs.define(eq=False)
class _Pending:
    """A request under way.

    Attributes:
        call: what its work asks whether it is still wanted.
        task: answers it.
        waiting: whether the work is still to begin.
    """

    call: Call
    task: asyncio.Task[Any] | None = None
    waiting: bool = True

    def cancel(self) -> None:
        """Takes it back."""
        self.call.cancel()
        self._abandon()

    def stop(self) -> None:
        """As `cancel`; what cannot be taken back any more is broken off where it is not done soon."""
        self.call.stop(_GRACE_SECONDS)
        self._abandon()

    def _abandon(self) -> None:
        if self.waiting and self.task is not None:
            self.task.cancel()


class Connection(JsonRPCServer):
    """Serves one client.

    Args:
        reader: its frames come from here.
        writer: its answers go there.
        workspaces: shared by all connections.
        hub: likewise.
        executor: for the work that requests ask for, likewise.
        quick: for what must not wait behind such work: opening folders, and telling how things are.
        turns: who may work at the same time, likewise.
        base: settings from file and environment.
        max_message_bytes: longer frames are refused.
        token: what `initialize` must bring, None where no token is needed.
    """

    protocol: Protocol
    on_process: Callable[[int], None] | None = None
    """Told the process that the client says it is, once it may be believed."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        workspaces: Workspaces,
        hub: Hub,
        executor: Executor,
        quick: Executor,
        turns: Turns,
        base: tuple[Layer, ...],
        max_message_bytes: int,
        token: str | None,
    ) -> None:
        super().__init__(Protocol, lambda: _LSP)
        self._reader = reader
        self._outbox = Outbox(writer)
        self._hub = hub
        self._executor = executor
        self._quick = quick
        self._turns = turns
        self._base = base
        self._options: Layer = {}
        self._max_message_bytes = max_message_bytes
        self._token = token
        self._folders = Folders(workspaces, self, quick, self._opened, self._closed)
        self._documents = Documents(workspaces.unsaved, quick)
        self._pending: dict[MessageId, _Pending] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._slots = asyncio.Semaphore(_AT_ONCE)
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
        """What a process that served this client alone ends with: 1 after `exit` without `shutdown`."""
        return 1 if self._exited and not self._shut_down else 0

    async def run(self) -> None:
        """Serves the client until it leaves; every request it made is answered or over by then."""
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
        """Takes back what is under way and reads no more."""
        self._stopped = True
        for pending in self._pending.values():
            pending.stop()
        self._outbox.give_up_after(_STOPPED_SECONDS)
        if self._reading is not None:
            self._reading.cancel()

    def push(self, framed: bytes) -> None:
        """Sends a notification without waiting."""
        self._outbox.push(framed)

    # -- frames

    async def _read_all(self) -> None:
        while not self._exited:
            try:
                body = await read_frame(self._reader, self._limit)
            except FramingError as error:
                self.protocol.refuse(None, RpcError(error.code, str(error)))
                return
            except (OSError, HttpRequest):
                return
            if body is None:
                return
            self._take(body)
            await self._outbox.writable()
            while len(self._tasks) >= _OUTSTANDING:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def _take(self, body: bytes) -> None:
        try:
            message = parse(body)
        except EnvelopeError as error:
            self.protocol.refuse(error.message_id, RpcError(error.code, str(error)))
            return
        if isinstance(message, Request):
            try:
                self._check_stage(message)
                params = _structure(message.method, message.params)
            except RpcError as error:
                self.protocol.refuse(message.message_id, error)
                return
            self.protocol.request(message.message_id, message.method, params)
        elif isinstance(message, Notification):
            self._take_notification(message)

    def _take_notification(self, message: Notification) -> None:
        if message.method not in _NOTIFICATIONS or not (self._initialized or message.method == lsp.EXIT):
            return
        try:
            params = _structure(message.method, message.params)
        except RpcError as error:
            self._show(lsp.MessageType.Error, f"{message.method}: {error.message}")
            return
        self.protocol.notification(message.method, params)

    def _check_stage(self, request: Request) -> None:
        if self._shut_down:
            raise RpcError(INVALID_REQUEST, "the connection was shut down")
        if request.method == lsp.INITIALIZE:
            if self._initialized:
                raise RpcError(INVALID_REQUEST, "initialize was called already")
        elif not self._initialized:
            raise RpcError(SERVER_NOT_INITIALIZED, "initialize comes first")
        if request.message_id in self._pending:
            raise RpcError(INVALID_REQUEST, "id: that of a request which is still under way")
        if request.method in _NOTIFICATIONS:
            raise RpcError(METHOD_NOT_FOUND, f"{request.method!r} is a notification")

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- features

    def _register(self) -> None:
        features: dict[str, Callable[[Any], Any]] = {
            lsp.INITIALIZE: self._initialize,
            lsp.INITIALIZED: _ignore,
            lsp.SHUTDOWN: self._shutdown,
            lsp.EXIT: self._exit,
            lsp.SET_TRACE: _ignore,
            lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self._change_folders,
            lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: self._change_configuration,
            lsp.TEXT_DOCUMENT_DID_OPEN: self._documents.did_open,
            lsp.TEXT_DOCUMENT_DID_CHANGE: self._documents.did_change,
            lsp.TEXT_DOCUMENT_DID_SAVE: self._documents.did_save,
            lsp.TEXT_DOCUMENT_DID_CLOSE: self._documents.did_close,
            **{method: partial(self._request, method) for method in METHODS},
        }
        for method, feature in features.items():
            # pygls writes attributes on what it registers, which a bound method does not take
            self.protocol.fm.feature(method)(partial(feature))

    def _initialize(self, params: lsp.InitializeParams) -> Any:
        options = params.initialization_options
        given = options.get("token") if isinstance(options, dict) else None
        if self._token is not None and not _same_token(given, self._token):
            raise Unauthorized("initializationOptions.token: missing or wrong")
        layer, unknown = read_options(options, "initializationOptions")
        self._options = layer
        folders = [folder.uri for folder in params.workspace_folders or ()]
        if not folders and params.root_uri:
            folders = [params.root_uri]
        opening = [self._add_folder(uri) for uri in folders]
        self._initialized = True
        if self.on_process is not None and params.process_id is not None:
            self.on_process(params.process_id)
        self._tell_unknown(unknown, "initializationOptions")
        result = lsp.InitializeResult(
            capabilities=lsp.ServerCapabilities(
                text_document_sync=lsp.TextDocumentSyncOptions(
                    open_close=True, change=lsp.TextDocumentSyncKind.Full, save=True
                ),
                workspace=lsp.WorkspaceOptions(
                    workspace_folders=lsp.WorkspaceFoldersServerCapabilities(supported=True, change_notifications=True)
                ),
                experimental={
                    "snapshot": {
                        "protocolVersion": PROTOCOL_VERSION,
                        "methods": sorted(METHODS),
                        "notifications": sorted(NOTIFICATIONS),
                    }
                },
            ),
            server_info=lsp.ServerInfo(name="snapd", version=__version__),
        )
        return self._spawn(_after(opening, _LSP.unstructure(result, lsp.InitializeResult)))

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
            self._show(lsp.MessageType.Error, error.message)
            return
        self._tell_unknown(unknown, "settings")
        self._options = {**self._options, **layer}
        for workspace in self._folders.open_workspaces:
            apply_settings(workspace, self._settings, layer)
            self._hub.want_changes(workspace, self, self._settings.snapshot)

    def _add_folder(self, uri: str) -> asyncio.Task[Any] | None:
        folder = self._folders.add(uri)
        if isinstance(folder, SnapdError):
            self._show(lsp.MessageType.Error, folder.message)
            return None
        return self._spawn(self._open_early(folder))

    async def _open_early(self, folder: Folder) -> None:
        try:
            async with self._folders.use(folder, self._settings, self._options):
                return
        except SnapdError as error:
            # each request that names the folder fails with the reason; this is for whoever reads a log
            logger.info("%s", error.message)

    # -- requests

    def _request(self, method: str, params: Any) -> asyncio.Task[Any]:
        message_id = self.protocol.msg_id
        assert message_id is not None
        progress = None
        if params.work_done_token is not None:
            loop = asyncio.get_running_loop()
            progress = Progress(params.work_done_token, method, loop, partial(self.protocol.notify, "$/progress"))
        # known before the next message is looked at, which may take it back
        pending = self._pending[message_id] = _Pending(Call(progress.report if progress is not None else None))
        pending.task = self._spawn(self._answer(pending, method, params, progress))
        pending.task.add_done_callback(lambda _: self._pending.pop(message_id))
        return pending.task

    async def _answer(self, pending: _Pending, method: str, params: Any, progress: Progress | None) -> Any:
        quick = method == "snapshot/status"
        try:
            async with contextlib.nullcontext() if quick else self._slots:
                await self._outbox.writable()
                await self._documents.settled()
                pending.waiting = False
                folder = await self._folders.find(params.workspace_uri)
                settings = self._settings
                async with self._folders.use(folder, settings, self._options) as workspace:
                    context = Context(workspace, folder.roots, self, settings.snapshot, pending.call)
                    executor = self._quick if quick else self._executor
                    async with contextlib.nullcontext() if quick else self._turns.turn():
                        return await asyncio.get_running_loop().run_in_executor(
                            executor, _work, method, context, params
                        )
        finally:
            if progress is not None:
                progress.end()

    def _cancel(self, message_id: Any) -> None:
        if isinstance(message_id, (int, str)) and message_id in self._pending:
            self._pending[message_id].cancel()

    def _cancel_all(self) -> None:
        for pending in self._pending.values():
            pending.cancel()

    # -- helpers

    @property
    def _limit(self) -> int:
        """Bytes of a message."""
        if self._token is None or self._initialized:
            return self._max_message_bytes
        return min(self._max_message_bytes, _STRANGER_BYTES)

    @property
    def _settings(self) -> Settings:
        return Settings.of(*self._base, self._options)

    def _opened(self, workspace: Workspace) -> None:
        self._hub.subscribe(workspace, self)
        self._hub.want_changes(workspace, self, self._settings.snapshot)

    def _closed(self, workspace: Workspace) -> None:
        self._hub.unsubscribe(workspace, self)

    def _tell_unknown(self, unknown: list[str], where: str) -> None:
        for name in unknown:
            self._show(lsp.MessageType.Warning, f"{where}.{name}: unknown setting, ignored")

    def _show(self, kind: lsp.MessageType, message: str) -> None:
        self.protocol.notify(lsp.WINDOW_LOG_MESSAGE, {"type": int(kind), "message": message})


async def _after(tasks: Iterable[asyncio.Task[Any] | None], result: Any) -> Any:
    """A result, once tasks that do not fail are done."""
    for task in tasks:
        if task is not None:
            await task
    return result


def _work(method: str, context: Context, params: Any) -> Any:
    context.call.check()
    return wire.unstructure(HANDLERS[method](context, params))


def _structure(method: str, params: Any) -> Any:
    spec = METHODS.get(method)
    try:
        if spec is not None:
            return wire.structure(params, spec.params)
        if method not in _LSP_TYPES:
            return params
        if method == lsp.INITIALIZE and isinstance(params, dict):
            # whatever else a client says of itself there is nobody's concern, and no reason to refuse it
            given = params
            params = {name: given.get(name) for name in ("rootUri", "workspaceFolders", "initializationOptions")}
            process = given.get("processId")
            params |= {"capabilities": {}, "processId": process if type(process) is int else None}
        return _LSP.structure(params, _LSP_TYPES[method])
    except wire.InvalidParams as error:
        data = {"kind": "invalidParams", "field": error.field}
        raise RpcError(INVALID_PARAMS, str(error), data) from None
    except Exception as error:
        data = {"kind": "invalidParams", "field": "params"}
        raise RpcError(INVALID_PARAMS, f"params: not those of {method}: {type(error).__name__}", data) from None


def _same_token(given: Any, token: str) -> bool:
    return isinstance(given, str) and hmac.compare_digest(given.encode(), token.encode())


def _ignore(_: Any) -> None:
    return None
