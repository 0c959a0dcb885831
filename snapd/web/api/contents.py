"""`GET /content`, the bytes of a file, and `GET /status`, whether snapd is at work."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from snapd.backend import file_bytes
from snapd.core.errors import SnapdError, UnknownSnapshot

from .asking import as_json

if TYPE_CHECKING:
    from .asking import Asked

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
"""The types that a name may give contents; everything else is bytes."""
_SYMLINK = "120000"
_OF_SVG = {"Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'"}
"""An SVG is a document, with scripts: none of them runs, and nothing is loaded."""
SECONDS = 5.0
"""How long the daemon may take to answer."""


async def content(asked: Asked) -> Response:
    """The bytes of a file in a snapshot, or of the file as it is now.

    Raises:
        SnapdError: the error that answers it; `UnknownSnapshot` if there is no snapshot at all.
    """

    def work() -> tuple[bytes, str]:
        params = dict(asked.params)
        if "hash" not in params:
            params["hash"] = _now(asked, params["file"])
        found: dict[str, Any] = asked.ask("snapshot/fileAt", params)
        return file_bytes(found["content"], found["encoding"]), "" if found["mode"] == _SYMLINK else found["file"]

    data, name = await asked.work(work)
    kind = IMAGES.get(os.path.splitext(name)[1].lower(), PLAIN)
    headers = _OF_SVG if kind == IMAGES[".svg"] else {}
    # a browser that is led here shows an image, and saves all else
    shown = "attachment" if kind == PLAIN else "inline"
    return Response(data, media_type=kind, headers={"Content-Disposition": shown, **headers})


def _now(asked: Asked, file: str) -> str:
    """The snapshot of the folder as it is: whoever compares with the folder has one taken."""
    some = _latest(asked)
    asked.ask("snapshot/diffFull", {"from": some, "files": [file], "contents": False})
    return _latest(asked)


def _latest(asked: Asked) -> str:
    found = asked.ask("snapshot/list", {"limit": 1, "counts": False})["snapshots"]
    if not found:
        raise UnknownSnapshot("this folder has no snapshot yet", hint="'snapd track' takes one")
    latest: str = found[0]["hash"]
    return latest


async def status(asked: Asked) -> Response:
    """The state of the folder; this route answers also where the daemon does not."""
    service = asked.service
    answer: dict[str, Any] = {
        "root": os.fsencode(service.folder).decode("utf-8", "replace"),
        "readOnly": service.read_only,
    }
    why = service.link.trouble
    if why is None:
        try:
            working = asked.work(lambda: asked.ask("snapshot/status", {}), service.quick)
            found = await asyncio.wait_for(working, SECONDS)
            why = _degraded(found)
            answer["status"] = found
        except TimeoutError:
            why = f"the daemon has not answered for {SECONDS:.0f} seconds"
        except SnapdError as error:
            why = error.message
    if why is not None:
        return as_json({"state": "degraded", "why": why, **answer})
    if not answer["status"]["enabled"]:
        return as_json({"state": "off", "why": _off(answer["status"]), **answer})
    return as_json({"state": "on", **answer})


def _degraded(found: dict[str, Any]) -> str | None:
    """What the daemon says is wrong."""
    return "; ".join(found.get("settingsProblems", ())) or None


def _off(found: dict[str, Any]) -> str:
    """Who has turned snapshots off."""
    sources = (each["source"] for each in found.get("settings", ()) if each["name"] == "snapshot")
    return f"snapshots are turned off by the setting 'snapshot' ({next(sources, 'default')})"
