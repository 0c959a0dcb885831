"""A minimal connection to the daemon: sends several requests in one write, then reads their answers."""

from __future__ import annotations

import _socket
import os
import struct

from .json_text import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Request = tuple[str, dict[str, Any]]

_PASSING = frozenset({"storeLocked", "storageFull", "storeCorrupt", "ioError"})
_UNKNOWN_METHOD = -32601
_READ_BYTES = 1 << 16
_MOST_BYTES = 64 << 20


class RequestRefused(Exception):
    """The daemon answered with an error; if `is_passing`, the same request may succeed later."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error.get("message") or "the daemon refused")
        result = error.get("data")
        self.data: dict[str, Any] = result if isinstance(result, dict) else {}
        self.kind = str(self.data.get("kind") or "")
        # the daemon may be older than this hook until it restarts
        self.is_passing = self.kind in _PASSING or error.get("code") == _UNKNOWN_METHOD


class Broken(Exception):
    """The daemon cannot be reached, or its answers are invalid."""


class DaemonConnection:
    """A connection to the daemon at a socket.

    Raises `OSError` (`FileNotFoundError` or `ConnectionRefusedError` if no daemon listens), or `Broken` if a process of
    another user listens.
    """

    def __init__(self, path: str) -> None:
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._buffer = b""
        self._number = 0
        try:
            self._socket.connect(path)
            if not _is_of_user(self._socket):
                raise Broken(f"another user's process listens at {path}")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the connection; the daemon still carries out its requests."""
        self._socket.close()

    def ask(self, *requests: Request) -> list[Any]:
        """Sends requests together; returns each result or `RequestRefused`. Raises `OSError` or `Broken`."""
        first = self._number
        frames = []
        for method, params in requests:
            frames.append(_frame({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}))
            self._number += 1
        answers: dict[int, Any] = {}
        try:
            self._send(b"".join(frames))
            while len(answers) < len(requests):
                message = self._read()
                number = message.get("id")
                if "method" in message or not isinstance(number, int) or not first <= number < self._number:
                    continue
                answers[number] = RequestRefused(message["error"]) if "error" in message else message.get("result")
        except BaseException:
            self._cancel(number for number in range(first, self._number) if number not in answers)
            raise
        return [answers[number] for number in range(first, self._number)]

    def _cancel(self, numbers: Iterable[int]) -> None:
        """Cancels unanswered requests that have not begun: a busy daemon may read them later."""
        frames = [_frame({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": each}}) for each in numbers]
        try:
            self._socket.setblocking(False)
            self._socket.send(b"".join(frames))
        except OSError:
            # the daemon has closed the connection
            return

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._socket.send(view) :]

    def _read(self) -> dict[str, Any]:
        while b"\r\n\r\n" not in self._buffer:
            self._more()
        header, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        lengths = [line.partition(b":")[2] for line in header.split(b"\r\n") if line[:15].lower() == b"content-length:"]
        try:
            length = int(lengths[0])
        except (ValueError, IndexError) as error:
            raise Broken("the daemon sent no frame") from error
        if length > _MOST_BYTES:
            raise Broken("the daemon sent too much")
        while len(self._buffer) < length:
            self._more()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        try:
            message = decode(body.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError) as error:
            raise Broken("the daemon sent no JSON") from error
        if not isinstance(message, dict):
            raise Broken("the daemon sent no message")
        return message

    def _more(self) -> None:
        data = self._socket.recv(_READ_BYTES)
        if not data:
            raise ConnectionResetError("the daemon closed the connection")
        self._buffer += data


def _frame(message: dict[str, Any]) -> bytes:
    # an unpaired surrogate in a prompt becomes a question mark
    body = encode(message).encode("utf-8", "replace")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _is_of_user(connection: _socket.socket) -> bool:
    """Whether the process at the other end runs as this user or root; as `launch.is_of_user`."""
    option = getattr(_socket, "SO_PEERCRED", None)
    if option is None:
        return True
    _, user, _ = struct.unpack("3i", connection.getsockopt(_socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return user in (os.geteuid(), 0)
