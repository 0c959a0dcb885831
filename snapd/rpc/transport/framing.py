"""Frames of the LSP base protocol: a header block, a blank line, a body of the announced length."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from snapd.wire.errors import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, SERVER_NOT_INITIALIZED

if TYPE_CHECKING:
    from asyncio import StreamReader

_NO_HEADER = "not a header: expected a line `Content-Length: N` that ends with CR LF"
MAX_HEADER_BYTES = 16 << 10
MAX_MESSAGE_BYTES = 64 << 20
_HEADER = re.compile(rb"[A-Za-z0-9_.-]+[ \t]*:[^\r\n]*\r\n")
_LINE_END = b"\n"
_SURROGATE = re.compile("[\ud800-\udfff]")
_HTTP = re.compile(rb"[A-Z]+ |[A-Za-z-]+ [^ ]+ HTTP/")
"""An HTTP request line: unlike a header field, it has a space before any colon."""
_HTTP_BYTES = 64
MessageId = int | str
_HINTS = {
    PARSE_ERROR: "send each message as `Content-Length: N`, a blank line, and N bytes of JSON in UTF-8",
    INVALID_REQUEST: "send one JSON-RPC 2.0 request or notification at a time, as a JSON object",
    METHOD_NOT_FOUND: "`capabilities.experimental.snapshot.methods` in the answer to `initialize` lists the methods",
    SERVER_NOT_INITIALIZED: "send `initialize` first, and wait for its answer",
    INTERNAL_ERROR: "the log of the daemon says more; please report it",
}


class HttpRequest(Exception):
    """The stream begins like an HTTP request, as from a web page that probes this port."""


async def read_frame(reader: StreamReader, limit: int, *, is_first: bool = False) -> bytes | None:
    """Reads one frame and returns its body; None at the end of the stream, even within a body.

    `reader` has a limit of at least `MAX_HEADER_BYTES`; `limit` is for the body. With `is_first`, JSON without a header
    is refused before a line ends. After an `RpcError`, nothing more can be read.
    """
    length = await _read_header(reader, is_first=is_first)
    if length is None:
        return None
    if length > limit:
        raise RpcError(
            INVALID_REQUEST,
            f"a message of {length} bytes is over the limit of {limit} bytes",
            "send less in one message",
        )
    try:
        return await reader.readexactly(length)
    except asyncio.IncompleteReadError:
        return None


async def _read_header(reader: StreamReader, *, is_first: bool) -> int | None:
    """Reads a header block; returns the length of the body, or None at the end of the stream."""
    lengths: list[bytes] = []
    size = 0
    begun = await reader.read(1) if is_first else b""
    if begun in (b"{", b"["):
        raise RpcError(PARSE_ERROR, _NO_HEADER)
    while True:
        try:
            line = begun + await reader.readuntil(_LINE_END)
        except asyncio.IncompleteReadError as error:
            partial = begun + error.partial
            if size == 0 and not partial.strip():
                return None
            if size == 0 and _HTTP.match(partial):
                raise HttpRequest from None
            raise RpcError(PARSE_ERROR, "the stream ended within a header") from error
        except asyncio.LimitOverrunError as error:
            # the reader has these bytes already, so this does not wait
            if size == 0 and _HTTP.match(begun + await reader.read(_HTTP_BYTES)):
                raise HttpRequest from None
            raise RpcError(PARSE_ERROR, "the header block is too long") from error
        if line == b"\r\n" and size:
            return _content_length(lengths)
        if size == 0 and _HTTP.match(line):
            raise HttpRequest
        begun = b""
        size += len(line)
        if size > MAX_HEADER_BYTES:
            raise RpcError(PARSE_ERROR, "the header block is too long")
        if not _HEADER.fullmatch(line):
            raise RpcError(PARSE_ERROR, _NO_HEADER)
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            lengths.append(value.strip())


def _content_length(lengths: list[bytes]) -> int:
    if len(lengths) != 1:
        raise RpcError(PARSE_ERROR, f"{len(lengths)} Content-Length headers instead of one")
    # bytes.isdigit is ASCII only, and a number of twenty digits is over every limit
    if not lengths[0].isdigit() or len(lengths[0]) > 19:
        raise RpcError(PARSE_ERROR, "Content-Length is not a number of bytes")
    return int(lengths[0])


def frame(body: bytes) -> bytes:
    """Returns a body with its header."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def encode(message: dict[str, Any]) -> bytes:
    """Encodes JSON, with U+FFFD for surrogates of names that are not UTF-8. Raises `TypeError` if it is not JSON."""
    try:
        return orjson.dumps(message)
    except TypeError:
        return orjson.dumps(_without_surrogates(message))


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(each) for each in value]
    return value


class RpcError(Exception):
    """An error answer; `code` sets the default `hint`, `message_id` is None if unknown, `data` has more JSON values."""

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
    """A message that gets exactly one answer."""

    id: MessageId
    method: str
    params: Any
    jsonrpc: str = "2.0"


@attrs.define
class Notification:
    """A message that is never answered."""

    method: str
    params: Any
    jsonrpc: str = "2.0"


@attrs.frozen
class Response:
    """An answer; ignored, as the daemon sends no requests."""

    id: MessageId | None


def parse(body: bytes) -> Request | Notification | Response:
    """Parses a message; its params stay JSON values. Raises `RpcError` if it is a batch or not JSON-RPC 2.0."""
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
        # some languages, such as Lua, encode an empty object as an empty array
        params = {}
    if "id" not in message:
        return Notification(method, params)
    if known_id is None:
        raise RpcError(INVALID_REQUEST, "id: expected a string or an integer")
    return Request(known_id, method, params)
