"""Errors as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import orjson
from starlette.responses import Response

from snapd.core.errors import SnapdError

if TYPE_CHECKING:
    from collections.abc import Mapping

MEDIA_TYPE = "application/problem+json"

STATUS: Mapping[str, int] = {
    "invalidParams": 400,
    "unknownSnapshot": 404,
    "workspaceNotOpen": 404,
    "workspaceRefused": 403,
    "workspaceGone": 410,
    "pathOutsideWorkspace": 400,
    "storeLocked": 423,
    "storeCorrupt": 500,
    "storageFull": 507,
    "unknownSession": 404,
    "unknownStep": 404,
    "nothingToUndo": 409,
    "nothingToRedo": 409,
    "ioError": 500,
    "unauthorized": 401,
    "fileNotInSnapshot": 404,
    "fileChanged": 409,
    "planChanged": 409,
    "requestCancelled": 503,
    "notFound": 404,
    "methodNotAllowed": 405,
    "foreignOrigin": 403,
    "readOnly": 403,
    "foreignHost": 421,
    "headTooLarge": 431,
    "bodyTooLarge": 413,
    "bodyTooSlow": 408,
    "wrongContentType": 415,
    "busy": 503,
    "internalError": 500,
}
"""The status of each kind of error."""

_NO_DAEMON = frozenset({"ECONNREFUSED", "EPIPE"})


def status_of(error: SnapdError) -> int:
    """The HTTP status of an error; one of a kind that only a newer daemon knows is a failure behind this server."""
    if error.data.get("errno") in _NO_DAEMON:
        return 503
    return STATUS.get(error.kind, 502)


def problem(error: SnapdError, headers: Mapping[str, str] | None = None) -> Response:
    """The answer for an error.

    Args:
        error: its data become fields of the problem, beside those that every problem has.
        headers: more of them.
    """
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
    """The words of a kind: `unknownSession` is "Unknown session"."""
    return re.sub("[A-Z]", lambda letter: f" {letter[0].lower()}", kind).capitalize()
