"""Checks every request before it reaches a route.

A page of another site can send requests to a port of this machine, and its own domain name can resolve to it (DNS
rebinding). So a request must name this server, must not come from a page of another origin, must carry the token or the
cookie, and, if it changes something, must declare a JSON body, which no form can do.
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
"""The most bytes of path, query and headers."""
MAX_BODY = 1 << 20
LOGIN = "/login"
ADMITTED = "snapd.admitted"
"""Set in the scope of a request that carries the token or the cookie."""
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
"""Default headers of every response."""
_FOREIGN = (b"cross-site", b"same-site")
"""Values of `Sec-Fetch-Site` for a page of another origin; other ports of a host count as the same site."""
_READING = ("GET", "HEAD")
_SCHEME = b"bearer "


class Guard:
    """Passes permitted requests on to `app`; anyone may read the paths in `public`, the files of the page."""

    def __init__(self, app: ASGIApp, access: Access, public: Collection[str], *, read_only: bool) -> None:
        self._app = app
        self._access = access
        self._public = public
        self._read_only = read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request (ASGI)."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            # before the handshake, this message refuses a WebSocket
            await send({"type": "websocket.close", "code": 1008})
            return
        send = _with_headers(send)
        headers = _grouped(scope["headers"])
        try:
            # the raw path: an encoded slash in a session id does not separate path segments
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
        verb, path = scope["method"], scope["path"]
        self._check_names(headers)
        _check_site(headers, is_page=verb in _READING and path == "/")
        # public files are not secret, but they must not be served under another host name
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
    """Limits a head that arrived in one piece; h11 checks the size only while it waits for more."""
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
        # a number of many digits is over the limit; int() of it could be slow
        if len(length) > len(str(MAX_BODY)) or int(length) > MAX_BODY:
            raise _too_large()


def _too_large() -> SnapdError:
    return errors.BodyTooLarge(f"the body of the request is longer than {MAX_BODY} bytes", limit=MAX_BODY)


def _limited(receive: Receive) -> Receive:
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
    async def send_with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", []))
            there = {name.lower() for name, _ in given}
            message = {**message, "headers": given + [each for each in _ALWAYS.items() if each[0] not in there]}
        await send(message)

    return send_with_headers


def _grouped(headers: list[tuple[bytes, bytes]]) -> dict[bytes, list[bytes]]:
    result: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        result.setdefault(name, []).append(value)
    return result


def _text(value: bytes) -> str:
    return value.decode("latin-1").strip()


class Access:
    """The token for programs and the login, and the accepted values of `Host` (IPv6 in brackets) and `Origin`."""

    def __init__(self, port: int, hosts: Iterable[str], *, secure: bool) -> None:
        scheme, default = ("https", 443) if secure else ("http", 80)
        self.token = secrets.token_urlsafe(32)
        self.cookie = f"snapd-{port}"
        self.hosts = frozenset(name for host in hosts for name in _names(host, port, default))
        self.origins = frozenset(f"{scheme}://{name}" for name in self.hosts)
        # not the token: a browser sends cookies to every port of a host
        self._session = secrets.token_urlsafe(32)
        self._secure = secure

    def is_token(self, given: str) -> bool:
        """Compares with the token in constant time."""
        return _is_same(given.encode("utf-8", "surrogatepass"), self.token)

    def admits(self, authorizations: list[bytes], cookies: list[bytes]) -> bool:
        """Whether these `Authorization` and `Cookie` headers carry the token or the cookie."""
        if authorizations:
            given = authorizations[0]
            is_bearer = len(authorizations) == 1 and given[: len(_SCHEME)].lower() == _SCHEME
            return is_bearer and _is_same(given[len(_SCHEME) :].strip(), self.token)
        wanted = f"{self.cookie}=".encode()
        pairs = (pair.strip() for header in cookies for pair in header.split(b";"))
        return any(_is_same(pair[len(wanted) :], self._session) for pair in pairs if pair.startswith(wanted))

    def set_cookie(self) -> str:
        """The `Set-Cookie` header for a login."""
        secure = "; Secure" if self._secure else ""
        return f"{self.cookie}={self._session}; HttpOnly; SameSite=Strict; Path=/{secure}"


def _names(host: str, port: int, default: int) -> list[str]:
    """How clients write a host: without its port if that is the scheme's default."""
    return [f"{host}:{port}".lower(), *([host.lower()] if port == default else [])]


def _is_same(given: bytes, secret: str) -> bool:
    return hmac.compare_digest(given, secret.encode())
