"""The ASGI application: combines the guard, the page and the API routes."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route as Dispatched

from snapd.model.errors import InvalidParams, SnapdError
from snapd.web.api.asking import ApiRequest, as_json, body_of
from snapd.web.api.openapi import document
from snapd.web.api.routes import WORKSPACE
from snapd.web.api.table import ROWS
from snapd.web.errors import problem

from . import errors
from .errors import LoginNeeded
from .guard import LOGIN, Guard

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from snapd.web.api.asking import Service
    from snapd.web.api.table import Row

    from .guard import Access

logger = logging.getLogger(__name__)
FOLDER = os.path.join(os.path.dirname(__file__), "page")
"""Where the build of `clients/web` puts the page."""
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
"""Content types by file extension; files of other types are not served."""
_NOT_BUILT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>snapd web</title>
<h1>The page is not built</h1>
<p>The HTTP API works: <code>/openapi.json</code> describes it.</p>
<p>To build the page, run <code>make page</code> in the source of snapd, then start <code>snapd web</code> again.</p>
</html>
"""


def application(service: Service, access: Access, page: Page) -> ASGIApp:
    """Returns the whole ASGI application."""

    async def log_in(request: Request) -> Response:
        return await login(request, access)

    async def file(request: Request) -> Response:
        return page.answer(request)

    described = document([row.route for row in ROWS], access.cookie)

    async def describe(_: Request) -> Response:
        return as_json(described)

    dispatched = [
        *(_dispatched(row.route.path, row.route.verb, functools.partial(_answer, service, row)) for row in ROWS),
        _dispatched(LOGIN, "POST", log_in),
        _dispatched("/openapi.json", "GET", describe),
        *(Dispatched(path, file, methods=["GET", "HEAD"]) for path in sorted(page.paths)),
    ]
    app = Starlette(routes=dispatched, exception_handlers={HTTPException: _not_routed, SnapdError: _refused})
    app.router.redirect_slashes = False
    return Guard(_without_defects(app), access, page.paths, read_only=service.read_only)


def _dispatched(path: str, verb: str, answer: Callable[[Request], Awaitable[Response]]) -> Dispatched:
    made = Dispatched(path, answer, methods=[verb])
    # starlette adds HEAD, which a stream of events has no answer for
    made.methods = {verb}
    return made


async def _answer(service: Service, row: Row, request: Request) -> Response:
    asked = await ApiRequest.read(service, row.route, request)
    answered = AsyncExitStack()
    try:
        asked.service = await answered.enter_async_context(service.about(asked.given.get(WORKSPACE)))
        return _Answer(await row.answer(asked), answered)
    except BaseException:
        await answered.aclose()
        raise


class _Answer(Response):
    """A response that releases its resources once it has been sent."""

    def __init__(self, answer: Response, until: AsyncExitStack) -> None:
        super().__init__()
        self._answer = answer
        self._until = until

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._until:
            await self._answer(scope, receive, send)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, SnapdError)
    return problem(error)


async def _not_routed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = dict(error.headers or {})
        return problem(errors.MethodNotAllowed(f"this path does not take {request.method}"), allowed)
    return problem(errors.NotFound("there is nothing at this path"))


def _without_defects(app: ASGIApp) -> ASGIApp:
    """Logs unexpected errors; clients see only their type."""

    async def guarded(scope, receive, send):  # type: ignore[no-untyped-def]
        began = False

        async def sending(message):  # type: ignore[no-untyped-def]
            nonlocal began
            began = began or message["type"] == "http.response.start"
            await send(message)

        try:
            await app(scope, receive, sending)
        except Exception as error:
            logger.error("defect", exc_info=error)
            if began:
                raise
            await problem(errors.Defect(f"internal error ({type(error).__name__})"))(scope, receive, send)

    return guarded


async def login(request: Request, access: Access) -> Response:
    """Checks the token and sets the cookie. Raises `InvalidParams`, or `LoginNeeded` for a wrong token."""
    body = await body_of(request)
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidParams("the body is not JSON", field="body") from error
    token = given.get("token") if isinstance(given, dict) else None
    if not isinstance(token, str):
        raise InvalidParams("token: expected a string", field="token")
    if not access.is_token(token):
        raise LoginNeeded("this is not the token of this server")
    return Response(status_code=204, headers={"Set-Cookie": access.set_cookie()})


class Page:
    """The files of the page in `folder`, read once at start. `is_built` reports whether there are any."""

    def __init__(self, folder: str = FOLDER) -> None:
        self._files = dict(_files(folder))
        self.is_built = "/" in self._files
        if not self.is_built:
            self._files = {"/": (_NOT_BUILT.encode(), _TYPES[".html"])}

    @property
    def paths(self) -> frozenset[str]:
        """The URL paths of the files."""
        return frozenset(self._files)

    def answer(self, request: Request) -> Response:
        """The file at the path of a request, which must be one of `paths`."""
        data, kind = self._files[request.scope["path"]]
        tag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache", "Content-Type": kind}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(data, headers=headers)


def _files(folder: str) -> Iterator[tuple[str, tuple[bytes, str]]]:
    for above, _, names in os.walk(folder):
        for name in names:
            kind = _TYPES.get(os.path.splitext(name)[1])
            full = os.path.join(above, name)
            if kind is None or not os.path.isfile(full):
                continue
            with open(full, "rb") as file:
                result = file.read(), kind
            path = "/" + os.path.relpath(full, folder).replace(os.sep, "/")
            yield ("/" if path == "/index.html" else path), result
