"""The messages of JSON-RPC 2.0, as MCP has them: ids are strings or integers, params are objects, there are no batches.

Sources: https://www.jsonrpc.org/specification; "Messages" and "Transports" of the MCP specification.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs
import orjson

from snapd.wire.errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR

Id: TypeAlias = str | int


class RpcError(Exception):
    """A request is answered with an error of the protocol.

    Args:
        code: of JSON-RPC or MCP.
        message: one sentence.
        data: what a program needs, as JSON values.
    """

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def as_json(self) -> dict[str, Any]:
        """The `error` of the answer."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        return error if self.data is None else {**error, "data": self.data}


@attrs.frozen
class Request:
    """A request of the client."""

    id: Id
    method: str
    params: dict[str, Any]


@attrs.frozen
class Notification:
    """A notification of the client."""

    method: str
    params: dict[str, Any]


@attrs.frozen
class Response:
    """The client's answer to a request of this server; `result` is None where it is an error."""

    id: Id
    result: Any


@attrs.frozen
class Malformed:
    """What is no message. It is answered with `error`, whose id is null where it could not be read."""

    id: Id | None
    error: RpcError


Message: TypeAlias = Request | Notification | Response | Malformed

TOO_LONG = Malformed(None, RpcError(INVALID_REQUEST, "the message is too long"))


def parse(line: bytes) -> Message:
    """Makes a message of a line."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return Malformed(None, RpcError(PARSE_ERROR, f"the message is not JSON: {error}"))
    if isinstance(fields, list):
        return _refused(None, "MCP has no batches: send one message on each line")
    if not isinstance(fields, dict):
        return _refused(None, "a message is a JSON object")
    given = fields.get("id")
    identity = given if _is_id(given) else None
    if fields.get("jsonrpc") != "2.0":
        return _refused(identity, 'jsonrpc: expected "2.0"')
    if "id" in fields and identity is None:
        return _refused(None, "id: expected a string or an integer")
    if "method" in fields:
        return _asked(fields, identity)
    if identity is not None and ("result" in fields) != ("error" in fields):
        return Response(identity, fields.get("result"))
    return _refused(identity, "a message has a method, or an id with a result or an error")


def _asked(fields: dict[str, Any], identity: Id | None) -> Message:
    method = fields["method"]
    params = fields.get("params")
    if params is None or params == []:
        # some languages cannot tell an empty object from an empty array
        params = {}
    if not isinstance(method, str):
        return _refused(identity, "method: expected a string")
    if not isinstance(params, dict):
        return Malformed(identity, RpcError(INVALID_PARAMS, "params: expected an object"))
    return Notification(method, params) if identity is None else Request(identity, method, params)


def _is_id(value: object) -> bool:
    return type(value) in (str, int)


def _refused(identity: Id | None, why: str) -> Malformed:
    return Malformed(identity, RpcError(INVALID_REQUEST, why))
