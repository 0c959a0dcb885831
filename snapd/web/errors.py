"""The errors that only HTTP has; all others are those of the daemon."""

from __future__ import annotations

from snapd.core.errors import SnapdError


class NotFound(SnapdError):
    """No route has this path."""

    kind = "notFound"
    default_hint = "'/openapi.json' lists the routes"


class MethodNotAllowed(SnapdError):
    """The route has another verb."""

    kind = "methodNotAllowed"
    default_hint = "'/openapi.json' lists the routes, each with its verb"


class LoginNeeded(SnapdError):
    """The request brings neither the token nor the cookie, or a wrong one."""

    kind = "unauthorized"
    default_hint = "open the address that 'snapd web' printed, or send its token as 'Authorization: Bearer TOKEN'"


class Forbidden(SnapdError):
    """The request was made by a page of another origin."""

    kind = "foreignOrigin"
    default_hint = "open the address that 'snapd web' printed"


class Misdirected(SnapdError):
    """The request names another host than the server's."""

    kind = "foreignHost"
    default_hint = "use the address that 'snapd web' printed"


class ReadOnly(SnapdError):
    """The request would change something, and the server only shows."""

    kind = "readOnly"
    default_hint = "start 'snapd web' without --read-only to change something"


class HeadTooLarge(SnapdError):
    """The path and the headers of the request are over the limit."""

    kind = "headTooLarge"
    default_hint = "ask for less in one request, or send fewer cookies and headers"


class BodyTooLarge(SnapdError):
    """The body of the request is over the limit."""

    kind = "bodyTooLarge"
    default_hint = "name fewer files in one request"


class BodyTooSlow(SnapdError):
    """The body of the request did not come in time."""

    kind = "bodyTooSlow"
    default_hint = "send the request again"


class WrongContentType(SnapdError):
    """The body of the request is not declared as JSON."""

    kind = "wrongContentType"
    default_hint = "send JSON, with 'Content-Type: application/json'"


class Busy(SnapdError):
    """The server has as many requests or streams as it serves at once."""

    kind = "busy"
    default_hint = "close other pages of this server, then try again"


class Defect(SnapdError):
    """The server itself failed."""

    kind = "internalError"
    default_hint = "the server's standard error says more; try again"
