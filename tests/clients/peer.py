"""The daemon's side of a client's connection, played by a test, with a framing of its own."""

from __future__ import annotations

import json
import socket
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from snapd_client import Client, Notification, Subscription
from snapd_client.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

WAIT = 60.0
HASH = "0123456789abcdef0123456789abcdef01234567"


class Peer:
    """The daemon's side of one connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.settimeout(WAIT)
        self.stream = sock.makefile("rb")

    def read(self) -> dict[str, Any]:
        header = self.stream.readline()
        assert header.startswith(b"Content-Length: "), header
        assert self.stream.readline() == b"\r\n"
        message: dict[str, Any] = json.loads(self.stream.read(int(header[16:])))
        assert message["jsonrpc"] == "2.0"
        return message

    def at_end(self) -> bool:
        return self.stream.read(1) == b""

    def send(self, **fields: Any) -> None:
        self.sock.sendall(framed({"jsonrpc": "2.0", **fields}))

    def tell(self, method: str, **params: Any) -> None:
        self.send(method=method, params=params)

    def progress(self, token: str, **value: Any) -> None:
        self.tell("$/progress", token=token, value=value)

    def close(self) -> None:
        self.stream.close()
        self.sock.close()


def framed(message: object) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body


class World:
    """What a test plays with: both ends of a connection, and threads for the calls that wait."""

    def __init__(self, stack: ExitStack) -> None:
        self.pool = ThreadPoolExecutor(8)
        stack.callback(self.pool.shutdown)
        ours, theirs = socket.socketpair()
        self.peer = Peer(theirs)
        stack.callback(self.peer.close)
        fd = ours.detach()
        self.client = Client(lambda: Transport(fd, fd))
        stack.callback(self.client.close)

    def later(self, call: Callable[..., Any], *args: Any, **options: Any) -> Future[Any]:
        return self.pool.submit(call, *args, **options)

    def ask(self, method: str = "any", params: dict[str, Any] | None = None, **options: Any) -> Future[Any]:
        return self.later(self.client.request, method, params, **options)


def taken(subscription: Subscription) -> Notification:
    notification = subscription.get(WAIT)
    assert notification is not None
    return notification
