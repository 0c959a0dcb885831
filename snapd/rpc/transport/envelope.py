"""Reads the envelope of a JSON-RPC 2.0 message, before anything is done with the message."""

from __future__ import annotations

from typing import Any

import attrs
import orjson

from snapd.wire.errors import INVALID_REQUEST, PARSE_ERROR

MessageId = int | str


class EnvelopeError(Exception):
    """The body is not a JSON-RPC message. The client gets an error, and the connection goes on.

    Attributes:
        code: the code of the JSON-RPC error.
        message_id: the id of the request, None if the body has no valid one.
    """

    def __init__(self, code: int, message: str, message_id: MessageId | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message_id = message_id


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
        EnvelopeError: the body is not JSON, is a batch, or is not a JSON-RPC 2.0 message.
    """
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise EnvelopeError(PARSE_ERROR, f"the message is not JSON: {error.msg}") from None
    if isinstance(message, list):
        raise EnvelopeError(INVALID_REQUEST, "batches are not supported; send one message at a time")
    if not isinstance(message, dict):
        raise EnvelopeError(INVALID_REQUEST, "the message is not an object")
    message_id = message.get("id")
    known_id = message_id if type(message_id) in (int, str) else None
    if message.get("jsonrpc") != "2.0":
        raise EnvelopeError(INVALID_REQUEST, 'jsonrpc: expected "2.0"', known_id)
    if "method" not in message:
        if "result" in message or "error" in message:
            return Response(known_id)
        raise EnvelopeError(INVALID_REQUEST, "method: missing", known_id)
    method = message["method"]
    if type(method) is not str:
        raise EnvelopeError(INVALID_REQUEST, "method: expected a string", known_id)
    params = message.get("params")
    if params is None or params == []:
        # some languages, such as Lua, cannot tell an empty object from an empty array
        params = {}
    if "id" not in message:
        return Notification(method, params)
    if known_id is None:
        raise EnvelopeError(INVALID_REQUEST, "id: expected a string or an integer")
    return Request(known_id, method, params)
