"""Messages of JSON-RPC 2.0 as MCP uses them, one per line; and the revisions of MCP that this server supports."""

from __future__ import annotations

import os
import select
import threading
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import orjson

from snapd._version import __version__
from snapd.wire.errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR

if TYPE_CHECKING:
    from collections.abc import Iterator

Id: TypeAlias = str | int
MAX_LINE = 4 << 20
"""The longest line that is read, in bytes; calls of tools need a few kilobytes at most."""
_CHUNK = 1 << 16


class RpcError(Exception):
    """A protocol error with a code of JSON-RPC or MCP; `data` are JSON values for programs."""

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
    """The client's answer to a request of this server; `result` is None for an error."""

    id: Id
    result: Any


@attrs.frozen
class Malformed:
    """Invalid input, answered with `error`; the id is None if it could not be read."""

    id: Id | None
    error: RpcError


Message: TypeAlias = Request | Notification | Response | Malformed

TOO_LONG = Malformed(None, RpcError(INVALID_REQUEST, "the message is too long"))


def parse(line: bytes) -> Message:
    """Parses a line."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return Malformed(None, RpcError(PARSE_ERROR, f"the message is not JSON: {error}"))
    if isinstance(fields, list):
        return _refused(None, "MCP has no batches: send one message per line")
    if not isinstance(fields, dict):
        return _refused(None, "a message must be a JSON object")
    given = fields.get("id")
    identity = given if type(given) in (str, int) else None
    if fields.get("jsonrpc") != "2.0":
        return _refused(identity, 'jsonrpc: expected "2.0"')
    if "id" in fields and identity is None:
        return _refused(None, "id: expected a string or an integer")
    if "method" in fields:
        return _asked(fields, identity)
    if identity is not None and ("result" in fields) != ("error" in fields):
        return Response(identity, fields.get("result"))
    return _refused(identity, "a message needs a method, or an id with a result or an error")


def _asked(fields: dict[str, Any], identity: Id | None) -> Message:
    method = fields["method"]
    params = fields.get("params")
    if params is None or params == []:
        # some languages encode an empty object as an empty array
        params = {}
    if not isinstance(method, str):
        return _refused(identity, "method: expected a string")
    if not isinstance(params, dict):
        return Malformed(identity, RpcError(INVALID_PARAMS, "params: expected an object"))
    return Notification(method, params) if identity is None else Request(identity, method, params)


def _refused(identity: Id | None, why: str) -> Malformed:
    return Malformed(identity, RpcError(INVALID_REQUEST, why))


def read_lines(descriptor: int, longest: int = MAX_LINE) -> Iterator[bytes | None]:
    """Yields each line that is not blank, without its end; None in place of one of more than `longest` bytes."""
    line = bytearray()
    is_too_long = False
    while chunk := _read(descriptor):
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            is_too_long = is_too_long or len(line) + len(part) > longest
            if is_too_long:
                yield None
            elif whole := (bytes(line) + part).strip():
                yield whole
            line.clear()
            is_too_long = False
        is_too_long = is_too_long or len(line) + len(rest) > longest
        if is_too_long:
            line.clear()
        else:
            line += rest
    if is_too_long:
        yield None
    elif last := bytes(line).strip():
        # the client may have closed it without a last line break
        yield last


class Output:
    """Writes messages; thread-safe. Once the reader is gone (`is_lost`), messages are dropped."""

    def __init__(self, descriptor: int) -> None:
        self.is_lost = False
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Writes a message as one line."""
        view = memoryview(orjson.dumps({"jsonrpc": "2.0", **message}) + b"\n")
        with self._lock:
            try:
                while view and not self.is_lost:
                    try:
                        view = view[os.write(self._descriptor, view) :]
                    except BlockingIOError:
                        _wait(self._descriptor, select.POLLOUT)
            except OSError:
                self.is_lost = True


def _read(descriptor: int) -> bytes:
    """Reads available bytes, or waits for some; empty at the end."""
    while True:
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:
            _wait(descriptor, select.POLLIN)


def _wait(descriptor: int, event: int) -> None:
    """Waits for a descriptor that another process has made non-blocking."""
    poll = select.poll()
    poll.register(descriptor, event)
    poll.poll()


HANDSHAKES = ("2025-06-18", "2025-11-25")
"""The revisions with `initialize`, the newest last."""
STATELESS = ("2026-07-28",)
"""The revisions without a handshake."""
SUPPORTED = (*HANDSHAKES, *STATELESS)

UNSUPPORTED_VERSION = -32022
"""The code of `UnsupportedProtocolVersionError` (2026-07-28)."""

_VERSION = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_SERVER = "io.modelcontextprotocol/serverInfo"

INFO = {"name": "snapd", "title": "snapd", "version": __version__}
CAPABILITIES: dict[str, Any] = {"tools": {}}
INSTRUCTIONS = (
    "snapd keeps snapshots of this folder and a timeline of what agents and the user changed in it, step by step. "
    "`history` and `show` show what happened, `diff` shows what changed since. `undo` takes back exactly what steps "
    "changed and keeps what others wrote since, even in the same files; it does not need git. Tools that change files "
    "return a plan first: read it, and show it to the user if it does more than they asked for. `comments` lists what "
    "the user says about lines that you wrote; answer with `reply`."
)


@attrs.frozen
class RevisionTerms:
    """The revision of a request, and whether the client can show forms to the user (form elicitation)."""

    version: str
    shows_forms: bool

    @property
    def is_stateless(self) -> bool:
        """Whether the server asks the client by results instead of requests."""
        return self.version in STATELESS

    def complete(self, result: dict[str, Any], *, cacheable: bool = False) -> dict[str, Any]:
        """Adds the fields that the revision requires in all results, and in `cacheable` ones a lifetime."""
        if not self.is_stateless:
            return result
        # the tools stay the same as long as this process runs, which may end at any time
        caching = {"ttlMs": 0, "cacheScope": "public"} if cacheable else {}
        return {"resultType": "complete", **result, **caching, "_meta": {_SERVER: INFO}}


def shake_hands(params: dict[str, Any]) -> RevisionTerms:
    """The terms after `initialize`: the requested version if supported, else the newest. Raises `RpcError`."""
    wanted = params.get("protocolVersion")
    if not isinstance(wanted, str):
        raise RpcError(INVALID_PARAMS, "protocolVersion: expected a string")
    version = wanted if wanted in HANDSHAKES else HANDSHAKES[-1]
    return RevisionTerms(version, _shows_forms("capabilities", params.get("capabilities", {})))


def stated(params: dict[str, Any]) -> RevisionTerms | None:
    """The terms that a request states, or None. Raises `RpcError` if they are incomplete or not supported."""
    meta = params.get("_meta", {})
    if not isinstance(meta, dict):
        raise RpcError(INVALID_PARAMS, "_meta: expected an object")
    if _VERSION not in meta:
        return None
    version = meta[_VERSION]
    if version not in STATELESS:
        raise RpcError(
            UNSUPPORTED_VERSION,
            f"_meta.{_VERSION}: this server supports {', '.join(STATELESS)} without a handshake",
            {"supported": list(SUPPORTED), "requested": str(version)},
        )
    if _CAPABILITIES not in meta:
        raise RpcError(INVALID_PARAMS, f"_meta.{_CAPABILITIES}: is missing")
    return RevisionTerms(version, _shows_forms(f"_meta.{_CAPABILITIES}", meta[_CAPABILITIES]))


def _shows_forms(name: str, capabilities: Any) -> bool:
    if not isinstance(capabilities, dict):
        raise RpcError(INVALID_PARAMS, f"{name}: expected an object")
    elicitation = capabilities.get("elicitation")
    # before 2025-11-25 it is an empty object and means forms; since then it may name forms, URLs, or both
    return isinstance(elicitation, dict) and (not elicitation or isinstance(elicitation.get("form"), dict))
