"""The files of the page: a fixed list, read from the package. No path of a request reaches the disk."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

FOLDER = os.path.join(os.path.dirname(__file__), "page")
"""Where the build of `clients/web` puts them."""

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
"""The type of each kind of file that the page may have; files of other kinds are not served."""

_NOT_BUILT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>snapd web</title>
<h1>The page is not built</h1>
<p>The HTTP API works: <code>/openapi.json</code> describes it.</p>
<p>To build the page, run <code>make page</code> in the source of snapd, then start <code>snapd web</code> again.</p>
</html>
"""


class Page:
    """The files of the page, as they are when the server starts.

    Args:
        folder: that has them.

    Attributes:
        is_built: whether they are there.
    """

    def __init__(self, folder: str = FOLDER) -> None:
        self._files = dict(_files(folder))
        self.is_built = "/" in self._files
        if not self.is_built:
            self._files = {"/": (_NOT_BUILT.encode(), _TYPES[".html"])}

    @property
    def paths(self) -> frozenset[str]:
        """The paths under which they are served."""
        return frozenset(self._files)

    def answer(self, request: Request) -> Response:
        """The file at the path of a request, which is one of `paths`."""
        data, kind = self._files[request.scope["path"]]
        tag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache", "Content-Type": kind}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(data, headers=headers)


def _files(folder: str) -> Iterator[tuple[str, tuple[bytes, str]]]:
    """The path, the bytes and the type of each file."""
    for above, _, names in os.walk(folder):
        for name in names:
            kind = _TYPES.get(os.path.splitext(name)[1])
            full = os.path.join(above, name)
            if kind is None or not os.path.isfile(full):
                continue
            with open(full, "rb") as file:
                found = file.read(), kind
            path = "/" + os.path.relpath(full, folder).replace(os.sep, "/")
            yield ("/" if path == "/index.html" else path), found
