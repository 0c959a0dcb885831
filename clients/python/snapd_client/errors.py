"""The errors of the client.

All derive from `ClientError`. If no connection can be opened (no such socket, no such command, nobody listens), the
system's own `OSError` is raised instead.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Cancelled", "ClientError", "ConnectionLost", "FramingError", "RequestTimeout", "SnapdError"]

REQUEST_CANCELLED = -32800


class ClientError(Exception):
    """The base of every error of this package."""


class FramingError(ClientError):
    """The other side does not speak the LSP base protocol, or exceeds a limit."""


class ConnectionLost(ClientError, ConnectionError):
    """The connection has ended, or ended before the answer came.

    It is then unknown whether the request was carried out. `Client.reconnect` opens the connection again.

    Attributes:
        repeatable: Whether the request may be sent again: sent twice, it has the same effect and the same answer.
    """

    repeatable = False


class RequestTimeout(ClientError, TimeoutError):
    """No answer came in time. The client asked the daemon to cancel the request."""


class SnapdError(ClientError):
    """The daemon answered with an error.

    Attributes:
        code: The JSON-RPC error code.
        kind: The stable `error.data.kind`, empty if the daemon gave none.
        message: The daemon's text, for people.
        data: The whole `error.data`: what a program needs (`file`, `hash`, `path`, ...).
    """

    def __init__(self, code: int, kind: str, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(code, kind, message, data)
        self.code = code
        self.kind = kind
        self.message = message
        self.data: dict[str, Any] = {} if data is None else data

    def __str__(self) -> str:
        return f"{self.message} ({self.kind or self.code})"


class Cancelled(SnapdError):
    """The daemon cancelled the request, and left no half-done work."""


def error_from_answer(error: object) -> SnapdError:
    """Returns the exception for the `error` member of an answer, whatever that contains."""
    fields: dict[str, Any] = error if isinstance(error, dict) else {"message": repr(error)}
    code, message, data = fields.get("code"), fields.get("message"), fields.get("data")
    if not isinstance(code, int):
        code = 0
    if not isinstance(data, dict):
        data = {} if data is None else {"value": data}
    kind = data.get("kind")
    made = Cancelled if code == REQUEST_CANCELLED else SnapdError
    return made(code, kind if isinstance(kind, str) else "", str(message), data)
