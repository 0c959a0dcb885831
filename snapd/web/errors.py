"""Errors as `application/problem+json` (RFC 9457), including those that only HTTP has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import orjson
from starlette.responses import Response

from snapd.model.errors import SnapdError
from snapd.wire.errors import ERRORS
from snapd.wire.words import ERROR_TITLES

if TYPE_CHECKING:
    from collections.abc import Mapping

MEDIA_TYPE = "application/problem+json"
STATUS = {kind: error.status for kind, error in ERRORS.items()} | {"requestCancelled": 503}
"""The HTTP status of each kind of error."""
_NO_DAEMON = frozenset({"ECONNREFUSED", "EPIPE"})


def _of_http(name: str, status: int, hint: str) -> type[SnapdError]:
    class OfHttp(SnapdError):
        __doc__ = f"An error of the kind `{name}`."
        kind = name
        default_hint = hint

    STATUS[name] = status
    return OfHttp


NotFound = _of_http("notFound", 404, "'/openapi.json' lists the routes")
MethodNotAllowed = _of_http("methodNotAllowed", 405, "'/openapi.json' lists the routes with their methods")
LoginNeeded = _of_http(
    "unauthorized", 401, "open the address that 'snapd web' printed, or send its token as 'Authorization: Bearer TOKEN'"
)
Forbidden = _of_http("foreignOrigin", 403, "open the address that 'snapd web' printed")
Misdirected = _of_http("foreignHost", 421, "use the address that 'snapd web' printed")
ReadOnly = _of_http("readOnly", 403, "start 'snapd web' without --read-only to change something")
HeadTooLarge = _of_http("headTooLarge", 431, "ask for less in one request, or send fewer cookies and headers")
BodyTooLarge = _of_http("bodyTooLarge", 413, "name fewer files in one request")
BodyTooSlow = _of_http("bodyTooSlow", 408, "send the request again")
WrongContentType = _of_http("wrongContentType", 415, "send JSON, with 'Content-Type: application/json'")
Busy = _of_http("busy", 503, "close other pages of this server, then try again")
Defect = _of_http("internalError", 500, "see the server's standard error for details, then try again")


def status_of(error: SnapdError) -> int:
    """The HTTP status of an error; a kind that only a newer daemon has is an upstream failure (502)."""
    if error.data.get("errno") in _NO_DAEMON:
        return 503
    return STATUS.get(error.kind, 502)


def problem(error: SnapdError, headers: Mapping[str, str] | None = None) -> Response:
    """The response for an error, whose data become fields of the problem."""
    status = status_of(error)
    fields = {
        **error.data,
        "type": f"urn:snapd:problem:{error.kind}",
        "title": _title(error.kind),
        "status": status,
        "detail": error.message,
        "kind": error.kind,
        "hint": error.hint,
    }
    more = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return Response(orjson.dumps(fields), status, {**more, **(headers or {})}, MEDIA_TYPE)


def _title(kind: str) -> str:
    """The heading for a kind; a kind that only HTTP has is split into words: `readOnly` is "read only"."""
    return ERROR_TITLES.get(kind) or re.sub("[A-Z]", lambda letter: f" {letter[0].lower()}", kind)
