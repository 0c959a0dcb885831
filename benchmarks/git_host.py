"""A git host on the loopback: `git http-backend` behind a web server, which counts the bytes that go through it."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    Receive = Callable[[], Awaitable[dict[str, Any]]]
    Send = Callable[[dict[str, Any]], Awaitable[None]]

_CHUNK = 1 << 16


class GitHost:
    """Serves the bare repositories in a directory over HTTP, to anybody who is on this machine.

    Args:
        directory: that they lie in.

    Attributes:
        received: bytes of the bodies of requests so far.
        sent: bytes of the bodies of answers so far.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        backend = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
        self._backend = os.path.join(backend, "git-http-backend")
        self._port = 0
        self.received = 0
        self.sent = 0

    def address(self, name: str) -> str:
        """The address of one of the repositories."""
        return f"http://127.0.0.1:{self._port}/{name}"

    @contextmanager
    def running(self) -> Iterator[GitHost]:
        """Serves while the block runs."""
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self._port = listener.getsockname()[1]
            server = uvicorn.Server(uvicorn.Config(self._answer, interface="asgi3", log_level="error", lifespan="off"))
            thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
            thread.start()
            while not server.started:
                time.sleep(0.01)
            try:
                yield self
            finally:
                server.should_exit = True
                thread.join()

    async def _answer(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Has git answer a request, as any web server has it by CGI (RFC 3875)."""
        process = await asyncio.create_subprocess_exec(
            self._backend,
            env=self._environment(scope),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_CHUNK,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        feeding = asyncio.ensure_future(self._feed(process.stdin, receive))
        status, headers = 200, []
        while (line := await process.stdout.readline()).strip():
            name, _, value = line.strip().partition(b": ")
            if name.lower() == b"status":
                status = int(value.split()[0])
            else:
                headers.append((name.lower(), value))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        while data := await process.stdout.read(_CHUNK):
            self.sent += len(data)
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        await feeding
        await process.wait()

    async def _feed(self, stdin: asyncio.StreamWriter, receive: Receive) -> None:
        while True:
            message = await receive()
            data = message.get("body", b"")
            self.received += len(data)
            try:
                stdin.write(data)
                await stdin.drain()
            except ConnectionError:
                # git has heard enough
                break
            if not message.get("more_body"):
                break
        stdin.close()

    def _environment(self, scope: dict[str, Any]) -> dict[str, str]:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        given = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
        return {
            **given,
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROJECT_ROOT": self._directory,
            "GIT_PROTOCOL": headers.get("git-protocol", ""),
            "CONTENT_LENGTH": headers.get("content-length", ""),
            "CONTENT_TYPE": headers.get("content-type", ""),
            "PATH_INFO": scope["path"],
            "QUERY_STRING": scope["query_string"].decode("latin-1"),
            "REMOTE_ADDR": "127.0.0.1",
            "REMOTE_USER": "bench",
            "REQUEST_METHOD": scope["method"],
        }
