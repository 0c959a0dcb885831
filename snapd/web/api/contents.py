"""`GET /content`: the bytes of a file. Nothing in them is run or obeyed: only images have a type of their own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from snapd.backend import file_bytes
from snapd.core.errors import UnknownSnapshot

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
