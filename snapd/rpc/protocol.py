"""pygls' protocol object for one connection, with what it leaves open closed.

pygls keeps the table of features, dispatches, and runs coroutines. What is ours: every request gets exactly one answer
with its right error and without a traceback, answers are encoded once and written on the loop's thread, a cancel goes
to the work itself, and nothing that a client sends is logged.
"""

from __future__ import annotations

import asyncio
import contextvars
from functools import partial
from typing import TYPE_CHECKING, Any

from pygls.protocol import JsonRPCProtocol

from snapd.rpc.transport.framing import encode, frame
from snapd.wire.errors import METHOD_NOT_FOUND

from .errors import RpcError, as_rpc_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from snapd.rpc.transport.envelope import MessageId


class Protocol(JsonRPCProtocol):
    """One connection's protocol object.

    `send` and `on_cancel` are set by the connection before the first message. A feature is a plain function: it does at
    once what must be done before the next message is looked at, and may give a task whose result is the answer.
    """

    send: Callable[[bytes], None]
    on_cancel: Callable[[MessageId], None]

    def request(self, message_id: MessageId, method: str, params: Any) -> None:
        """Dispatches a request whose params are structured."""
        # what `handle_message` does once it has found out, by a look at every attribute, that this is a request
        contextvars.copy_context().run(self._handle_request, message_id, method, params)

    def notification(self, method: str, params: Any) -> None:
        """Dispatches a notification whose params are structured."""
        contextvars.copy_context().run(self._handle_notification, method, params)

    def answer(self, message_id: MessageId | None, result: Any) -> None:
        """Sends an answer; `result` is a JSON value."""
        self._write({"jsonrpc": self.VERSION, "id": message_id, "result": result})

    def refuse(self, message_id: MessageId | None, error: RpcError) -> None:
        """Sends an error answer."""
        body: dict[str, Any] = {"code": error.code, "message": error.message}
        if error.data is not None:
            body["data"] = error.data
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

    def _check_handler_result(self, future: Future[Any] | asyncio.Future[Any]) -> None:
        error = None if future.cancelled() else future.exception()
        if error is not None:
            as_rpc_error(error)

    def _handle_request(self, msg_id: MessageId, method_name: str, params: Any) -> None:
        if method_name not in self.fm.features:
            self.refuse(msg_id, RpcError(METHOD_NOT_FOUND, f"no method {method_name!r}"))
            return
        super()._handle_request(msg_id, method_name, params)

    def _handle_cancel_notification(self, msg_id: MessageId) -> None:
        self.on_cancel(msg_id)
