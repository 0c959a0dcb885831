"""The envelope of a JSON-RPC 2.0 message: reads that of a message from the client; holds what an error answer has."""

from __future__ import annotations

from typing import Any

import attrs
import orjson

from snapd.wire.errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    SERVER_NOT_INITIALIZED,
)

MessageId = int | str


_HINTS = {
    PARSE_ERROR: "send each message as `Content-Length: N`, a blank line, and N bytes of JSON in UTF-8",
    INVALID_REQUEST: "send one JSON-RPC 2.0 request or notification at a time, as a JSON object",
    METHOD_NOT_FOUND: "`capabilities.experimental.snapshot.methods` in the answer to `initialize` lists the methods",
    SERVER_NOT_INITIALIZED: "send `initialize` first, and wait for its answer",
    INTERNAL_ERROR: "the log of the daemon says more; please report it",
}
"""What to do next about an error that is not one of snapd's own."""


class RpcError(Exception):
    """An error answer.

    Args:
        code: of JSON-RPC, LSP or snapd.
        message: one sentence.
        hint: what to do next; default: what is true of every error with this code.
        message_id: the id of the request, None if it is not known.
        data: more JSON values, such as `kind` for an error of snapd.
    """

    def __init__(
        self,
        code: int,
        message: str,
        hint: str | None = None,
        *,
        message_id: MessageId | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.message_id = message_id
        self.data = {"hint": hint or _HINTS[code], **(data or {})}


@attrs.define
class Request:
    """A message that must be answered exactly once."""

    id: MessageId
    method: str
    params: Any
    jsonrpc: str = "2.0"


@attrs.define
class Notification:
    """A message that must never be answered."""

    method: str
    params: Any
    jsonrpc: str = "2.0"


@attrs.frozen
class Response:
    """An answer to a request of ours; the daemon sends none, so nothing waits for it."""

    id: MessageId | None


def parse(body: bytes) -> Request | Notification | Response:
    """Parses a message; its params stay JSON values.

    Raises:
        RpcError: the body is not JSON, is a batch, or is not a JSON-RPC 2.0 message.
    """
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RpcError(PARSE_ERROR, f"the message is not JSON: {error.msg}") from None
    if isinstance(message, list):
        raise RpcError(INVALID_REQUEST, "batches are not supported")
    if not isinstance(message, dict):
        raise RpcError(INVALID_REQUEST, "the message is not an object")
    message_id = message.get("id")
    known_id = message_id if type(message_id) in (int, str) else None
    if message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'jsonrpc: expected "2.0"', message_id=known_id)
    if "method" not in message:
        if "result" in message or "error" in message:
            return Response(known_id)
        raise RpcError(INVALID_REQUEST, "method: missing", message_id=known_id)
    method = message["method"]
    if type(method) is not str:
        raise RpcError(INVALID_REQUEST, "method: expected a string", message_id=known_id)
    params = message.get("params")
    if params is None or params == []:
        # some languages, such as Lua, cannot tell an empty object from an empty array
        params = {}
    if "id" not in message:
        return Notification(method, params)
    if known_id is None:
        raise RpcError(INVALID_REQUEST, "id: expected a string or an integer")
    return Request(known_id, method, params)
