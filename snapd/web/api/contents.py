"""Routes without a wire method: file contents, status, the diff of a session, and reverts."""

from __future__ import annotations

import asyncio
import logging
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson
from starlette.responses import Response, StreamingResponse

from snapd.backend import file_bytes, pages
from snapd.model.errors import SnapdError, UnknownSession, UnknownSnapshot
from snapd.web.api.asking import as_json, relay

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from snapd_client.protocol import Session, SessionDiffResult, StatusResult
    from starlette.responses import Response

    from snapd.web.api.asking import ApiRequest

PLAIN = "application/octet-stream"
IMAGES = {
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".gif": "image/gif",
    ".ico": "image/x-icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
}
"""Content types by file extension; everything else is sent as bytes."""
_SYMLINK = "120000"
_OF_SVG = {"Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'"}
"""An SVG may contain scripts: none may run, and nothing may be loaded."""
SECONDS = 5.0


async def content(asked: ApiRequest) -> Response:
    """The bytes of a file in a snapshot or in the folder. Raises `UnknownSnapshot` if there is no snapshot at all."""

    def work() -> tuple[bytes, str]:
        file = asked.params["file"]
        tree = asked.params.get("hash") or _now(asked, file)
        answer = asked.ask("snapshot/fileAt", {"hash": tree, "file": file})
        return file_bytes(answer["content"], answer["encoding"]), "" if answer["mode"] == _SYMLINK else answer["file"]

    data, name = await asked.work(work)
    kind = IMAGES.get(os.path.splitext(name)[1].lower(), PLAIN)
    headers = _OF_SVG if kind == IMAGES[".svg"] else {}
    # a browser that opens this URL shows images and downloads everything else
    shown = "attachment" if kind == PLAIN else "inline"
    return Response(data, media_type=kind, headers={"Content-Disposition": shown, **headers})


def _now(asked: ApiRequest, file: str) -> str:
    """A snapshot that has the file as it is."""
    # comparing with the folder takes one, unless the folder is again as in an older one
    for _ in range(2):
        tree = _latest(asked)
        if not asked.ask("snapshot/diffFull", {"from": tree, "files": [file], "contents": False})["diffs"]:
            return tree
    return str(asked.ask("snapshot/track", {})["hash"])


def _latest(asked: ApiRequest) -> str:
    snapshots = asked.ask("snapshot/list", {"limit": 1, "counts": False})["snapshots"]
    if not snapshots:
        raise UnknownSnapshot("this folder has no snapshot yet", hint="'snapd track' takes one")
    return snapshots[0]["hash"]


async def status(asked: ApiRequest) -> Response:
    """The state of the folder; this route answers even if the daemon does not."""
    service = asked.service
    answer: dict[str, Any] = {
        "root": os.fsencode(service.folder).decode("utf-8", "replace"),
        "readOnly": service.read_only,
    }
    why = service.link.problem
    if why is None:
        try:
            working = asked.work(lambda: asked.ask("snapshot/status", {}), service.quick)
            result = await asyncio.wait_for(working, SECONDS)
            why = "; ".join(result.get("settingsProblems", ())) or None
            answer["status"] = result
        except TimeoutError:
            why = f"the daemon has not answered for {SECONDS:.0f} seconds"
        except SnapdError as error:
            why = error.message
    if why is not None:
        return as_json({"state": "degraded", "why": why, **answer})
    if not answer["status"]["enabled"]:
        return as_json({"state": "off", "why": _off(answer["status"]), **answer})
    return as_json({"state": "on", **answer})


def _off(result: StatusResult) -> str:
    sources = (each["source"] for each in result.get("settings", ()) if each["name"] == "snapshot")
    return f"snapshots are turned off by the setting 'snapshot' ({next(sources, 'default')})"


logger = logging.getLogger(__name__)

_OF_REVERT = ("messageId", "partId", "snapshot", "diff", "applied", "files", "git")
_SPELLED = {"messageID": "messageId", "partID": "partId"}
_ON_A_PAGE = 500


async def diff(asked: ApiRequest) -> Response:
    """All changes of the session, or one page of them if the client asks for pages."""
    if "cursor" in asked.params or "limit" in asked.params:
        return await relay(asked)
    page = await asked.work(partial(_page, asked))
    if "nextCursor" not in page:
        return as_json(page)
    return StreamingResponse(_joined(asked, page), media_type="application/json")


def _page(asked: ApiRequest, cursor: str | None = None) -> SessionDiffResult:
    params: Any = {**asked.params, "cursor": cursor}
    return asked.ask("session/diff", params)


async def _joined(asked: ApiRequest, page: SessionDiffResult) -> AsyncIterator[bytes]:
    """Joins all pages into one answer, with at most one page in memory."""
    yield b'{"diffs":['
    separator = b""
    while True:
        for each in page["diffs"]:
            yield separator + orjson.dumps(each)
            separator = b","
        cursor = page.get("nextCursor")
        if cursor is None:
            break
        try:
            page = await asked.work(partial(_page, asked, cursor))
        except SnapdError as error:
            # the JSON stays incomplete, so that no client takes it for the whole answer
            logger.warning("an answer was cut off: %s", error.kind)
            return
    yield b"]}"


async def revert(asked: ApiRequest) -> Response:
    """Reverts the session to before a message or a part of it."""

    def work() -> Mapping[str, Any]:
        outcome: Mapping[str, Any] = asked.ask("session/revert", asked.params)
        if asked.params.get("dryRun"):
            return outcome
        done = {name: outcome[name] for name in _OF_REVERT if name in outcome}
        # the agents' spelling
        done |= {spelled: outcome[name] for spelled, name in _SPELLED.items() if name in outcome}
        return {**_session(asked), "revert": done}

    return as_json(await asked.work(work))


async def unrevert(asked: ApiRequest) -> Response:
    """Undoes a revert."""

    def work() -> Mapping[str, Any]:
        outcome = asked.ask("session/unrevert", asked.params)
        return outcome if asked.params.get("dryRun") else _session(asked)

    return as_json(await asked.work(work))


def _session(asked: ApiRequest) -> Session:
    wanted = asked.params["sessionId"]
    for each in pages(asked.ask, "session/list", {"limit": _ON_A_PAGE}, "sessions"):
        if each["sessionId"] == wanted:
            session: Session = each
            return session
    raise UnknownSession(f"session {wanted} was removed meanwhile", sessionId=wanted)
