"""Clients that say nothing, say it slowly, or leave, harm nobody."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
from typing import TYPE_CHECKING

import pytest
import uvicorn

from snapd.web.server import Connection
from tests.rpc.machine import wait_until

from .browser import PATIENCE
from .conftest import world_on

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from tests.rpc.machine import Machine

    from .browser import Web

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize("said", [[], [b"GET / HT"], [HEAD, b"GET"], [HEAD, HEAD, b"GET / HTTP/1.1\r\nX:"]])
async def test_who_does_not_finish_a_request_is_hung_up_on(said: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snapd.web.server.HEAD_SECONDS", 0.2)
    config = uvicorn.Config(answer, http=Connection, log_config=None, lifespan="off", timeout_keep_alive=300)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup([listener])
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.getsockname()[1])
        for part in said:
            writer.write(part)
            if part == HEAD:
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204 ")
        assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
        writer.close()
        await server.shutdown([listener])


def left(web: Web, path: str) -> None:
    """A request whose client leaves at once."""
    with socket.create_connection(("127.0.0.1", web.port), PATIENCE) as connection:
        head = f"GET {path} HTTP/1.1\r\nHost: {web.host}\r\nAuthorization: Bearer {web.token}\r\n\r\n"
        connection.sendall(head.encode())


def test_what_nobody_waits_for_is_cancelled(machine: Machine) -> None:
    """Else the threads that wait for the daemon would all be taken."""
    with world_on(machine) as world:
        world.client.track()
        web = world.serve()
        with machine.held_up("look", world.folder) as somebody_waits:
            world.write({"a.txt": "changed\n"})
            for _ in range(40):
                left(web, "/review")
            wait_until(somebody_waits, "a request that is held up")
            assert web.get("/session").status == 200


def test_half_a_body(web: Web) -> None:
    """Whoever leaves in the middle of a body has asked for nothing."""
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", web.port), PATIENCE) as connection:
            connection.sendall(
                f"POST /review/keep HTTP/1.1\r\nHost: {web.host}\r\nAuthorization: Bearer {web.token}\r\n"
                'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"all": true}'.encode()
            )
    assert web.get("/status").json["state"] == "on"


def test_strangers_take_the_places_of_strangers_alone(web: Web) -> None:
    def ask() -> int:
        known.request("GET", "/status", headers={"Host": web.host, "Authorization": f"Bearer {web.token}"})
        with known.getresponse() as response:
            response.read()
            return response.status

    known = http.client.HTTPConnection("127.0.0.1", web.port, timeout=PATIENCE)
    with contextlib.closing(known), contextlib.ExitStack() as opened:
        assert ask() == 200
        socket_of_known = known.sock
        # more than there are places for all connections together
        strangers = [
            opened.enter_context(socket.create_connection(("127.0.0.1", web.port), PATIENCE)) for _ in range(400)
        ]
        for each in strangers[:300]:
            with contextlib.suppress(ConnectionResetError):
                assert each.recv(1) == b""
        assert web.get("/status").json["state"] == "on"
        assert ask() == 200
        assert known.sock is socket_of_known, "another connection was opened"
