"""Who may ask: the token, the cookie that is given for it, and the names under which the server is known."""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_SCHEME = b"bearer "


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
