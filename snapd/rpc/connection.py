"""One client: its frames, its lifecycle, its folders and its requests under way."""

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
from lsprotocol import types as lsp
from pygls.server import JsonRPCServer

from snapd._version import __version__
from snapd.core.call import Call
from snapd.core.errors import InvalidParams, SnapdError, Unauthorized
from snapd.handlers import HANDLERS, Context
from snapd.rpc.scheduling.workspace_queue import Access
from snapd.rpc.transport.envelope import EnvelopeError, Notification, Request, parse
from snapd.rpc.transport.framing import FramingError, HttpRequest, encode, read_frame
from snapd.rpc.transport.outbox import Outbox
from snapd.settings.in_force import Options
from snapd.settings.sources import read_options
from snapd.wire import converter as wire
from snapd.wire.errors import INVALID_REQUEST, METHOD_NOT_FOUND, SERVER_NOT_INITIALIZED
from snapd.wire.methods import METHODS, NOTIFICATIONS, PROTOCOL_VERSION

from .documents import Documents
from .errors import RpcError
from .folders import Folders
from .params import CLIENT_NOTIFICATIONS, LSP, access_of, structure
from .progress import Progress
from .protocol import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from concurrent.futures import Executor

    from snapd.core.workspace import Workspace
    from snapd.rpc.scheduling.turns import Turns
    from snapd.rpc.scheduling.workspace_queue import Place, WorkspaceQueues
    from snapd.rpc.transport.envelope import MessageId
    from snapd.settings.in_force import Base
    from snapd.settings.table import Layer
    from snapd.workspaces import Workspaces

    from .folders import Folder
    from .hub import Hub

logger = logging.getLogger(__name__)

T = TypeVar("T")

_OUTSTANDING = 20_000
"""Requests of one client that may wait for an answer; then no more are read, not even those for other folders."""
_OUTSTANDING_BYTES = 64 << 20
"""What these may take as they were sent; a single one may be larger."""
_LONG_BYTES = 1 << 20
"""A longer message is not parsed on the loop."""
_READ_SECONDS = 0.005
"""How long the messages of one client are taken before others have the loop."""
_LEFT_SECONDS = 30.0
"""How long a client that has said its last may take nothing of what it is still to be told."""
_GRACE_SECONDS = 0.25
"""What an operation beyond its point of no return has left, when the daemon is told to end."""
_STOPPED_SECONDS = 2.0
"""Likewise, when the daemon ends."""

_STRANGER_BYTES = 1 << 20
"""The longest message of who has not brought the token yet: whoever can reach the port may send it."""


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
        executor: for all that may wait, likewise; has a thread for whoever needs one.
        queues: in which order requests are carried out, likewise.
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
        queues: WorkspaceQueues,
        turns: Turns,
        base: Base,
        max_message_bytes: int,
        token: str | None,
    ) -> None:
        super().__init__(Protocol, lambda: LSP)
        self._reader = reader
        self._outbox = Outbox(writer)
        self._hub = hub
        self._executor = executor
        self._turns = turns
        self._options = Options(base, self)
        self._max_message_bytes = max_message_bytes
        self._token = token
        self._folders = Folders(workspaces, queues, self._options, executor, self._opened, self._closed)
        self._documents = Documents(workspaces.unsaved, self._folders, executor, self._spawn)
        self._pending: dict[MessageId, _Pending] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._taking_bytes = 0
        self._outstanding_bytes = 0
        self._room = asyncio.Event()
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
        until = time.monotonic() + _READ_SECONDS
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
            await self._take(body)
            await self._outbox.writable()
            while len(self._tasks) >= _OUTSTANDING or self._outstanding_bytes > _OUTSTANDING_BYTES:
                self._room.clear()
                await self._room.wait()
            if time.monotonic() > until:
                # what lies in the buffer already is read without a pause
                await asyncio.sleep(0)
                until = time.monotonic() + _READ_SECONDS

    async def _take(self, body: bytes) -> None:
        self._taking_bytes = len(body)
        try:
            message = await self._unless_long(parse, body)
        except EnvelopeError as error:
            self.protocol.refuse(error.message_id, RpcError(error.code, str(error)))
            return
        if isinstance(message, Request):
            try:
                self._check_stage(message)
                params = await self._unless_long(structure, message.method, message.params)
            except RpcError as error:
                self.protocol.refuse(message.message_id, error)
                return
            if message.method in METHODS:
                await self._folders.look_up(params.workspace_uri)
            self.protocol.request(message.message_id, message.method, params)
        elif isinstance(message, Notification):
            await self._take_notification(message)

    async def _take_notification(self, message: Notification) -> None:
        if message.method not in CLIENT_NOTIFICATIONS or not (self._initialized or message.method == lsp.EXIT):
            return
        try:
            params = await self._unless_long(structure, message.method, message.params)
        except RpcError as error:
            self._show(lsp.MessageType.Error, f"{message.method}: {error.message}")
            return
        self.protocol.notification(message.method, params)

    async def _unless_long(self, work: Callable[..., T], *arguments: Any) -> T:
        """Does something with a message: on the loop, or beside it where it is long, or the converter may be cold."""
        if self._initialized and self._taking_bytes <= _LONG_BYTES:
            return work(*arguments)
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)

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
        if request.method in CLIENT_NOTIFICATIONS:
            raise RpcError(METHOD_NOT_FOUND, f"{request.method!r} is a notification")

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        self._outstanding_bytes += self._taking_bytes
        task.add_done_callback(partial(self._end, self._taking_bytes))
        return task

    def _end(self, size: int, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        self._outstanding_bytes -= size
        self._room.set()

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
        self._options.give(layer)
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
        return self._spawn(_after(opening, LSP.unstructure(result, lsp.InitializeResult)))

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
        self._tell_unknown(unknown, "settings")
        self._options.give(layer)
        for folder in self._folders:
            place = self._folders.enter(folder, Access.SETTING)
            self._spawn(self._give(place, folder, layer))

    async def _give(self, place: Place, folder: Folder, layer: Layer) -> None:
        """Has settings hold for what the client asks from now on of a folder."""
        try:
            await place.admitted()
        except SnapdError as error:
            # they will hold when it is open
            logger.info("%s", error.message)
        finally:
            folder.options.give(layer)
            place.leave()
        # one after the other: what was given last counts
        async with self._listening:
            workspace = folder.workspace
            if workspace is None:
                return
            loop = asyncio.get_running_loop()
            enabled = await loop.run_in_executor(self._executor, workspace.policy.enabled, self)
            if not folder.removed:
                self._hub.want_changes(workspace, self, enabled)

    def _add_folder(self, uri: str) -> asyncio.Task[Any] | None:
        folder = self._folders.add(uri)
        if isinstance(folder, SnapdError):
            self._show(lsp.MessageType.Error, str(folder))
            return None
        return self._spawn(self._open_early(self._folders.enter(folder, Access.READ, quick=True)))

    async def _open_early(self, place: Place) -> None:
        try:
            await place.admitted()
        except SnapdError as error:
            # each request that names the folder fails with the reason; this is for whoever reads a log
            logger.info("%s", error.message)
        finally:
            place.leave()

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
        place = self._folders.enter(folder, access_of(method, params), quick=METHODS[method].quick)
        progress = None
        if params.work_done_token is not None:
            progress = Progress(params.work_done_token, method, loop, partial(self.protocol.notify, "$/progress"))
        # known before the next message is looked at, which may take it back
        pending = self._pending[message_id] = _Pending(
            Call(progress.report if progress is not None else None, place.leave_turn_soon)
        )
        pending.task = self._spawn(self._answer(pending, place, folder, method, params))

        def finish(_: asyncio.Task[Any]) -> None:
            # not at the end of the task: one that is cancelled at once never begins
            place.leave()
            if progress is not None:
                progress.end()
            del self._pending[message_id]

        # before the one that sends the answer
        pending.task.add_done_callback(finish)
        return pending.task

    async def _answer(self, pending: _Pending, place: Place, folder: Folder, method: str, params: Any) -> Any:
        await place.admitted()
        # who does not read what it asked for must not keep others from writing
        await self._outbox.writable()
        await place.turn()
        workspace = folder.workspace
        assert workspace is not None
        context = Context(workspace, folder.roots, self, pending.call)
        async with contextlib.nullcontext() if place.quick else self._turns.turn(workspace):
            pending.waiting = False
            return await asyncio.get_running_loop().run_in_executor(self._executor, _work, method, context, params)

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

    def _opened(self, workspace: Workspace, enabled: bool) -> None:
        self._hub.subscribe(workspace, self)
        self._hub.want_changes(workspace, self, enabled)

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
    # put into words here, and not on the loop: a page of a diff takes its time
    return orjson.Fragment(encode(wire.unstructure(HANDLERS[method](context, params))))


def _same_token(given: Any, token: str) -> bool:
    return isinstance(given, str) and hmac.compare_digest(given.encode(), token.encode())


def _ignore(_: Any) -> None:
    return None
