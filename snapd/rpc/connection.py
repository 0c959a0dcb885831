"""One client: its frames, its lifecycle, its folders and its requests under way."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from lsprotocol.converters import get_converter
from pygls.server import JsonRPCServer

from snapd import __version__
from snapd.config import Settings, read_options
from snapd.core.call import Call
from snapd.core.errors import InvalidParams, SnapdError, Unauthorized
from snapd.handlers import HANDLERS, Context
from snapd.wire import converter as wire
from snapd.wire.errors import INVALID_PARAMS, INVALID_REQUEST, SERVER_NOT_INITIALIZED
from snapd.wire.methods import METHODS, NOTIFICATIONS, PROTOCOL_VERSION
from snapd.workspaces import apply_settings

from .envelope import EnvelopeError, Notification, Request, parse
from .errors import RpcError
from .folders import Folders
from .framing import FramingError, read_frame
from .progress import Progress
from .protocol import Protocol

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from snapd.config import Layer
    from snapd.core.workspace import Workspace
    from snapd.workspaces import Workspaces

    from .envelope import MessageId
    from .hub import Hub

logger = logging.getLogger(__name__)

_LSP = get_converter()
_LSP_TYPES: dict[str, Any] = {
    lsp.INITIALIZE: lsp.InitializeParams,
    lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: lsp.DidChangeWorkspaceFoldersParams,
    lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: lsp.DidChangeConfigurationParams,
    lsp.CANCEL_REQUEST: lsp.CancelParams,
}

_AT_ONCE = 8
"""Requests of one client that are worked on at the same time."""
_OUTSTANDING = 1000
"""Requests of one client that may wait for an answer; then no more are read."""
_UNREAD_BYTES = 1 << 20
"""Output that a client has not read before its next request waits."""
_DROP_BYTES = 64 << 20
"""Output that a client has not read before it is dropped instead of being told more."""


class Connection(JsonRPCServer):
    """Serves one client.

    Args:
        reader: its frames come from here.
        writer: its answers go there.
        workspaces: shared by all connections.
        hub: likewise.
        executor: for blocking work, likewise.
        base: settings from file and environment.
        max_message_bytes: longer frames are refused.
        token: what `initialize` must bring, None where no token is needed.
    """

    protocol: Protocol

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        workspaces: Workspaces,
        hub: Hub,
        executor: Executor,
        base: tuple[Layer, ...],
        max_message_bytes: int,
        token: str | None,
    ) -> None:
        super().__init__(Protocol, lambda: _LSP)
        self._reader = reader
        self._writer = writer
        self._hub = hub
        self._executor = executor
        self._base = base
        self._options: Layer = {}
        self._max_message_bytes = max_message_bytes
        self._token = token
        self._folders = Folders(workspaces, executor, self._opened, self._closed)
        self._calls: dict[MessageId, Call] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._initialized = False
        self._shut_down = False
        self._exited = False
        self._told_end = False
        self.protocol.send = self._send
        self.protocol.on_cancel = self._cancel
        self._register()

    @property
    def exit_code(self) -> int:
        """What a process that served this client alone ends with: 1 after `exit` without `shutdown`."""
        return 1 if self._exited and not self._shut_down else 0

    async def run(self) -> None:
        """Serves the client until it leaves; every request it made is answered or over by then."""
        try:
            await self._read_all()
            await self._settle()
        finally:
            for call in self._calls.values():
                call.cancel()
            self._folders.remove_all()
            self._writer.close()
            with contextlib.suppress(ConnectionError, OSError):
                await self._writer.wait_closed()

    def stop(self) -> None:
        """Takes back what is under way and reads no more."""
        for call in self._calls.values():
            call.cancel()
        self._reader.feed_eof()

    def push(self, framed: bytes) -> None:
        """Sends a notification without waiting."""
        self._send(framed)

    # -- frames

    async def _read_all(self) -> None:
        while not self._exited:
            try:
                body = await read_frame(self._reader, self._max_message_bytes)
            except FramingError as error:
                self.protocol.refuse(None, RpcError(error.code, str(error)))
                return
            except ConnectionError:
                return
            if body is None:
                return
            self._take(body)
            await self._writable()

    def _take(self, body: bytes) -> None:
        try:
            message = parse(body)
        except EnvelopeError as error:
            self.protocol.refuse(error.message_id, RpcError(error.code, str(error)))
            return
        if isinstance(message, Request):
            try:
                self._check_stage(message.method)
                params = _structure(message.method, message.params)
            except RpcError as error:
                self.protocol.refuse(message.message_id, error)
                return
            self.protocol.request(message.message_id, message.method, params)
        elif isinstance(message, Notification):
            self._take_notification(message)

    def _take_notification(self, message: Notification) -> None:
        if message.method != lsp.EXIT and not self._initialized:
            return
        try:
            params = _structure(message.method, message.params)
        except RpcError as error:
            self._show(lsp.MessageType.Error, f"{message.method}: {error.message}")
            return
        self.protocol.notification(message.method, params)

    def _check_stage(self, method: str) -> None:
        if self._shut_down:
            raise RpcError(INVALID_REQUEST, "the connection was shut down")
        if method == lsp.INITIALIZE:
            if self._initialized:
                raise RpcError(INVALID_REQUEST, "initialize was called already")
        elif not self._initialized:
            raise RpcError(SERVER_NOT_INITIALIZED, "initialize comes first")

    async def _writable(self) -> None:
        """Waits while the client does not read, or waits for too much already."""
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()
        while len(self._tasks) >= _OUTSTANDING:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def _send(self, framed: bytes) -> None:
        transport = self._writer.transport
        if transport.is_closing():
            return
        if transport.get_write_buffer_size() > _DROP_BYTES:
            logger.warning("a client that does not read is dropped")
            transport.abort()
            return
        self._writer.write(framed)

    async def _settle(self) -> None:
        if self._exited:
            for call in self._calls.values():
                call.cancel()
        while self._tasks:
            await asyncio.wait(self._tasks)
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    # -- features

    def _register(self) -> None:
        lifecycle = {
            lsp.INITIALIZE: self._initialize,
            lsp.INITIALIZED: _ignore,
            lsp.SHUTDOWN: self._shutdown,
            lsp.EXIT: self._exit,
            lsp.SET_TRACE: _ignore,
            lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self._change_folders,
            lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: self._change_configuration,
        }
        register = self.protocol.fm.feature
        for method, feature in lifecycle.items():
            # pygls writes attributes on what it registers, which a bound method does not take
            register(method)(partial(feature))
        for method in METHODS:
            register(method)(self._task(partial(self._serve, method)))

    def _task(self, serve: Any) -> Any:
        async def tracked(params: Any) -> Any:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            # pygls' own callback, which sends the answer, was added before and runs before
            task.add_done_callback(self._tasks.discard)
            return await serve(params)

        return tracked

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
        for uri in folders:
            self._add_folder(uri)
        self._initialized = True
        self._tell_unknown(unknown, "initializationOptions")
        result = lsp.InitializeResult(
            capabilities=lsp.ServerCapabilities(
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
        return _LSP.unstructure(result, lsp.InitializeResult)

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
            apply_settings(workspace, self._settings)

    def _add_folder(self, uri: str) -> None:
        folder = self._folders.add(uri)
        if isinstance(folder, SnapdError):
            self._show(lsp.MessageType.Error, folder.message)
            return
        task = asyncio.ensure_future(self._open_early(folder))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _open_early(self, folder: Any) -> None:
        try:
            await self._folders.open(folder, self._settings)
        except SnapdError as error:
            # each request that names the folder fails with the reason; this is for whoever reads a log
            logger.info("%s", error.message)

    # -- requests

    async def _serve(self, method: str, params: Any) -> Any:
        message_id = self.protocol.msg_id
        assert message_id is not None
        loop = asyncio.get_running_loop()
        progress = None
        if params.work_done_token is not None:
            progress = Progress(params.work_done_token, method, loop, partial(self.protocol.notify, "$/progress"))
        call = Call(progress.report if progress is not None else None)
        self._calls[message_id] = call
        try:
            async with self._slots if method != "snapshot/status" else contextlib.nullcontext():
                folder = self._folders.find(params.workspace_uri)
                workspace = await self._folders.open(folder, self._settings)
                context = Context(workspace, folder.roots, self._settings.snapshot, call)
                return await loop.run_in_executor(self._executor, _work, method, context, params)
        finally:
            self._calls.pop(message_id, None)
            if progress is not None:
                progress.end()

    def _cancel(self, message_id: MessageId) -> None:
        call = self._calls.get(message_id)
        if call is not None:
            call.cancel()

    # -- helpers

    @property
    def _settings(self) -> Settings:
        return Settings.of(*self._base, self._options)

    def _opened(self, workspace: Workspace) -> None:
        self._hub.subscribe(workspace.root, self)

    def _closed(self, workspace: Workspace) -> None:
        self._hub.unsubscribe(workspace.root, self)

    def _tell_unknown(self, unknown: list[str], where: str) -> None:
        for name in unknown:
            self._show(lsp.MessageType.Warning, f"{where}.{name}: unknown setting, ignored")

    def _show(self, kind: lsp.MessageType, message: str) -> None:
        self.protocol.notify(lsp.WINDOW_LOG_MESSAGE, {"type": int(kind), "message": message})


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
            # what LSP wants there and nobody needs
            params = {"capabilities": {}, "processId": None, "rootUri": None, **params}
        return _LSP.structure(params, _LSP_TYPES[method])
    except wire.InvalidParams as error:
        data = {"kind": "invalidParams", "field": error.field}
        raise RpcError(INVALID_PARAMS, str(error), data) from None
    except Exception as error:
        data = {"kind": "invalidParams", "field": "params"}
        raise RpcError(INVALID_PARAMS, f"params: not those of {method}: {type(error).__name__}", data) from None


def _same_token(given: Any, token: str) -> bool:
    import hmac

    return isinstance(given, str) and hmac.compare_digest(given.encode(), token.encode())


def _ignore(_: Any) -> None:
    return None
