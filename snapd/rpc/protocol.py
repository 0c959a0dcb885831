"""The pygls protocol object for one connection.

pygls keeps the table of features and dispatches messages to them. This class ensures that every request gets exactly
one answer, with the right error code, without a traceback, and encoded only once. No client data is logged.
"""

from __future__ import annotations

import asyncio
import contextvars
from functools import partial
from typing import TYPE_CHECKING, Any

from snapd.rpc.transport.framing import Notification, Request, RpcError, encode, frame
from snapd.wire.errors import METHOD_NOT_FOUND

from .language_server import JsonRPCProtocol, lsp
from .params import as_rpc_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from snapd.rpc.transport.framing import MessageId

    from .language_server import RPCMessage


class Protocol(JsonRPCProtocol):
    """The protocol object of a connection, which sets `send` and `on_cancel` before the first message.

    A feature does what must happen before the next message, and may return a task whose result is the answer.
    """

    send: Callable[[bytes], None]
    on_cancel: Callable[[Any], None]

    def handle_message(self, message: RPCMessage) -> None:
        """Dispatches a message, each handler in its own context; several times faster than that of pygls."""
        run = contextvars.copy_context().run
        if isinstance(message, Request):
            if message.method in self.fm.features:
                run(self._handle_request, message.id, message.method, message.params)
            else:
                self.refuse(message.id, RpcError(METHOD_NOT_FOUND, f"no method {message.method!r}"))
        elif isinstance(message, Notification):
            if message.method == lsp.CANCEL_REQUEST:
                self.on_cancel(message.params.id)
            else:
                run(self._handle_notification, message.method, message.params)

    def answer(self, message_id: MessageId | None, result: Any) -> None:
        """Sends an answer; `result` is a JSON value."""
        self._write({"jsonrpc": self.VERSION, "id": message_id, "result": result})

    def refuse(self, message_id: MessageId | None, error: RpcError) -> None:
        """Sends an error answer."""
        body = {"code": error.code, "message": error.message, "data": error.data}
        self._write({"jsonrpc": self.VERSION, "id": message_id, "error": body})

    def notify(self, method: str, params: Any | None = None) -> None:
        """Sends a notification; `params` is a JSON value."""
        self._write({"jsonrpc": self.VERSION, "method": method, "params": params})

    def _write(self, message: dict[str, Any]) -> None:
        self.send(frame(encode(message)))

    def _send_handler_result(self, future: Future[Any] | asyncio.Future[Any], *, msg_id: MessageId) -> None:
        try:
            result = future.result()
            if isinstance(result, asyncio.Future):
                result.add_done_callback(partial(self._send_handler_result, msg_id=msg_id))
            else:
                self.answer(msg_id, result)
        except BaseException as error:
            self.refuse(msg_id, as_rpc_error(error))
            # the error leads to its task by the frames in its traceback, and the task to the error: without this, each
            # failed request would stay until the collector finds it, which stops every thread meanwhile
            error.__traceback__ = None

    def _check_handler_result(self, future: Future[Any] | asyncio.Future[Any]) -> None:
        error = None if future.cancelled() else future.exception()
        if error is not None:
            as_rpc_error(error)
