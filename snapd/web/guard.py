"""Stands before every route: it turns away what the browser's rules alone would let through.

A page of another site can send requests to a port of this machine, and a name of its own can lead there (DNS
rebinding). So a request is answered only if it names this server, was not made by a page of another origin, brings the
token or the cookie, and, where it changes something, says that its body is JSON, which no form can say.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from snapd.model.errors import SnapdError
from snapd.web.errors import problem

from . import errors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, MutableMapping
    from typing import Any

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_HEAD = 32 << 10
"""The longest path with its query and the headers of a request, in bytes."""
MAX_BODY = 1 << 20
"""The longest body of a request, in bytes."""
LOGIN = "/login"
ADMITTED = "snapd.admitted"
"""In the scope of a request that brought the token or the cookie."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_ALWAYS = {
    b"content-security-policy": _POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cache-control": b"no-store",
}
"""The headers of every answer that does not set them itself."""
_FOREIGN = (b"cross-site", b"same-site")
"""What `Sec-Fetch-Site` says of a page of another origin; other ports of a host are the same site."""
_READING = ("GET", "HEAD")
_SCHEME = b"bearer "


class Guard:
    """Passes on what may be answered.

    Args:
        app: answers.
        access: who may ask.
        public: the paths of the page's own files, which everybody may read.
        read_only: whether nothing may be changed.
    """

    def __init__(self, app: ASGIApp, access: Access, public: Collection[str], *, read_only: bool) -> None:
        self._app = app
        self._access = access
        self._public = public
        self._read_only = read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request (the interface of ASGI)."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            # before the handshake, this refuses a WebSocket
            await send({"type": "websocket.close", "code": 1008})
            return
        send = _with_headers(send)
        headers = _grouped(scope["headers"])
        try:
            # as it was sent: a slash in the name of a session is no part of the path
            scope["path"] = scope["raw_path"].decode("ascii", "replace")
            _check_head(scope)
            self._check(scope, headers)
            if self._access.admits(headers.get(b"authorization", []), headers.get(b"cookie", [])):
                scope[ADMITTED] = True
        except SnapdError as error:
            await problem(error)(scope, receive, send)
            return
        await self._app(scope, _limited(receive), send)

    def _check(self, scope: Scope, headers: dict[bytes, list[bytes]]) -> None:
        """Raises the error that answers a request that must not be passed on."""
        verb, path = scope["method"], scope["path"]
        self._check_names(headers)
        _check_site(headers, is_page=verb in _READING and path == "/")
        # what is public is not secret, but a page of another name must not be this page
        is_public = path == LOGIN or (verb in _READING and path in self._public)
        if not is_public and not self._access.admits(headers.get(b"authorization", []), headers.get(b"cookie", [])):
            raise errors.LoginNeeded("the request has neither the token of this server nor its cookie")
        if verb in _READING:
            return
        if self._read_only and path != LOGIN:
            raise errors.ReadOnly("this server only shows, and changes nothing")
        _check_body(headers)

    def _check_names(self, headers: dict[bytes, list[bytes]]) -> None:
        hosts = [_text(host).lower() for host in headers.get(b"host", [])]
        if len(hosts) != 1 or hosts[0] not in self._access.hosts:
            raise errors.Misdirected("the header Host does not name this server")
        if any(_text(origin) not in self._access.origins for origin in headers.get(b"origin", [])):
            raise errors.Forbidden("the request was made by a page of another origin")


def _check_head(scope: Scope) -> None:
    """Holds a head to its limit that came in one piece; h11 looks only at what it has while it waits for more."""
    fields = sum(len(name) + len(value) for name, value in scope["headers"])
    if len(scope["raw_path"]) + len(scope["query_string"]) + fields > MAX_HEAD:
        raise errors.HeadTooLarge(f"the head of the request is longer than {MAX_HEAD} bytes", limit=MAX_HEAD)


def _check_site(headers: dict[bytes, list[bytes]], *, is_page: bool) -> None:
    sites = headers.get(b"sec-fetch-site", [])
    if not any(site.strip().lower() in _FOREIGN for site in sites):
        return
    opens = headers.get(b"sec-fetch-mode") == [b"navigate"] and headers.get(b"sec-fetch-dest") == [b"document"]
    if not (is_page and opens):
        raise errors.Forbidden("the request was made by a page of another site")


def _check_body(headers: dict[bytes, list[bytes]]) -> None:
    types = headers.get(b"content-type", [])
    given = _text(types[0]).partition(";")[0].strip().lower() if len(types) == 1 else ""
    if given != "application/json":
        raise errors.WrongContentType("the body of the request is not declared as JSON")
    for length in headers.get(b"content-length", []):
        # a number of many digits is over the limit without being worked out
        if len(length) > len(str(MAX_BODY)) or int(length) > MAX_BODY:
            raise _too_large()


def _too_large() -> SnapdError:
    return errors.BodyTooLarge(f"the body of the request is longer than {MAX_BODY} bytes", limit=MAX_BODY)


def _limited(receive: Receive) -> Receive:
    """Receives no more of a body than may come."""
    came = 0

    async def receive_limited() -> Message:
        nonlocal came
        message = await receive()
        came += len(message.get("body", b""))
        if came > MAX_BODY:
            raise _too_large()
        return message

    return receive_limited


def _with_headers(send: Send) -> Send:
    """Adds the headers that every answer has."""

    async def send_with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", []))
            there = {name.lower() for name, _ in given}
            message = {**message, "headers": given + [each for each in _ALWAYS.items() if each[0] not in there]}
        await send(message)

    return send_with_headers


def _grouped(headers: list[tuple[bytes, bytes]]) -> dict[bytes, list[bytes]]:
    """All values of each header, by its name, which ASGI gives in lower case."""
    found: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        found.setdefault(name, []).append(value)
    return found


def _text(value: bytes) -> str:
    return value.decode("latin-1").strip()


class Access:
    """What a request has to bring.

    Args:
        port: on which the server listens.
        hosts: under which it is reached; an IPv6 address in brackets.
        secure: whether it speaks TLS.

    Attributes:
        token: what programs send, and what the page logs in with.
        cookie: the name of the cookie.
        hosts: what the header `Host` may be.
        origins: what the header `Origin` may be.
    """

    def __init__(self, port: int, hosts: Iterable[str], *, secure: bool) -> None:
        scheme, default = ("https", 443) if secure else ("http", 80)
        self.token = secrets.token_urlsafe(32)
        self.cookie = f"snapd-{port}"
        self.hosts = frozenset(name for host in hosts for name in _names(host, port, default))
        self.origins = frozenset(f"{scheme}://{name}" for name in self.hosts)
        # another secret than the token: a browser sends cookies to every port of a host
        self._session = secrets.token_urlsafe(32)
        self._secure = secure

    def is_token(self, given: str) -> bool:
        """Whether this is the token; the time that it takes tells nothing about it."""
        return _is_same(given.encode("utf-8", "surrogatepass"), self.token)

    def admits(self, authorizations: list[bytes], cookies: list[bytes]) -> bool:
        """Whether a request with these headers `Authorization` and `Cookie` may ask for something."""
        if authorizations:
            given = authorizations[0]
            is_bearer = len(authorizations) == 1 and given[: len(_SCHEME)].lower() == _SCHEME
            return is_bearer and _is_same(given[len(_SCHEME) :].strip(), self.token)
        wanted = f"{self.cookie}=".encode()
        pairs = (pair.strip() for header in cookies for pair in header.split(b";"))
        return any(_is_same(pair[len(wanted) :], self._session) for pair in pairs if pair.startswith(wanted))

    def set_cookie(self) -> str:
        """The header `Set-Cookie` for whoever has logged in."""
        secure = "; Secure" if self._secure else ""
        return f"{self.cookie}={self._session}; HttpOnly; SameSite=Strict; Path=/{secure}"


def _names(host: str, port: int, default: int) -> list[str]:
    """What clients call a host: without its port where that is the scheme's own."""
    return [f"{host}:{port}".lower(), *([host.lower()] if port == default else [])]


def _is_same(given: bytes, secret: str) -> bool:
    return hmac.compare_digest(given, secret.encode())
