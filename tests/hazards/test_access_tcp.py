"""What a port lets in: who brings the token, on the loopback interface, and no browser."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from snapd.cli.commands.serve import address
from snapd.model.errors import InvalidParams
from snapd.wire.methods import METHODS
from tests.hazards.hostile import HostileMachine
from tests.rpc.machine import error_of, framed, initialize, notification, request
from tests.support.published import until_all_published

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.hazards.traps import Traps
    from tests.rpc.machine import Machine

TOKEN = "the token of these tests, and of nothing else"
LOOPBACK = "127.0.0.1"
MIB = 1 << 20


@pytest.fixture(scope="module")
def served(_all_traps: Traps) -> Iterator[tuple[Machine, int]]:
    """A daemon on a port."""
    machine = HostileMachine(_all_traps)
    _, port = machine.serve_tcp(env={"SNAPD_TOKEN": TOKEN})
    yield machine, port
    machine.finish()


@pytest.mark.hazard(75)
def test_without_the_token_nothing_is_opened_and_nothing_is_told(served: tuple[Machine, int], folder: Path) -> None:
    machine, port = served
    until_all_published(machine.data)
    stores = sorted(machine.data.rglob("*"))
    raw = machine.raw((LOOPBACK, port))
    wrong = (None, "", TOKEN[:-1], TOKEN + " ", TOKEN.upper(), 5, [TOKEN], {"": TOKEN})
    for options in (None, {}, [], *({"token": token} for token in wrong)):
        raw.send(initialize(folder, options=options))
        answer = raw.answer(0)
        assert error_of(answer) == (1012, "unauthorized"), options
        assert TOKEN not in str(answer)
    for method in METHODS:
        assert raw.ask(1, method, {"workspaceUri": folder.as_uri()})["error"]["code"] == -32002
    for method in ("workspace/didChangeWorkspaceFolders", "workspace/didChangeConfiguration"):
        event = {"added": [{"uri": folder.as_uri(), "name": "x"}], "removed": []}
        raw.send(notification(method, {"event": event, "settings": {"token": TOKEN}}))
    assert raw.ask(2, "snapshot/track")["error"]["code"] == -32002
    assert sorted(machine.data.rglob("*")) == stores
    assert machine.raw((LOOPBACK, port)).open(folder, options={"token": TOKEN})
    assert TOKEN not in machine.logged()


@pytest.mark.hazard(75)
def test_port_without_a_token_given_makes_one_that_only_the_user_can_read(machine: Machine, folder: Path) -> None:
    umask = os.umask(0)
    try:
        _, port = machine.serve_tcp()
    finally:
        os.umask(umask)
    file = machine.runtime / "token"
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(file.read_text()) >= 32
    raw = machine.raw((LOOPBACK, port))
    raw.send(initialize(folder))
    assert error_of(raw.answer(0)) == (1012, "unauthorized")
    assert not list(machine.data.rglob("*"))
    assert machine.raw((LOOPBACK, port)).open(folder, options={"token": file.read_text()})
    assert file.read_text() not in machine.logged()


@pytest.mark.hazard(75)
def test_stranger_cannot_make_the_daemon_hold_much(served: tuple[Machine, int], folder: Path) -> None:
    machine, port = served
    raw = machine.raw((LOOPBACK, port))
    raw.send(b"Content-Length: %d\r\n\r\n" % ((MIB >> 2) + 1))
    assert raw.answer(None)["error"]["code"] == -32600
    assert raw.says_nothing_more()
    known = machine.raw((LOOPBACK, port)).open(folder, options={"token": TOKEN})
    tree = known.result("snapshot/track")["hash"]
    assert known.result("snapshot/fileExists", {"hash": tree, "file": "x" * (2 * MIB)}) == {"exists": False}


INNER = initialize("/tmp", options={"token": TOKEN}) + request(1, "snapshot/track")
HTTP = {
    "a form": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s"
    % (len(INNER), INNER),
    "a page": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + INNER,
    "a preflight": b"OPTIONS / HTTP/1.1\r\nOrigin: https://example.com\r\n\r\n",
    "a web socket": b"GET /chat HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a preflight for all": b"OPTIONS * HTTP/1.1\r\nOrigin: http://example.com\r\n",
    "a page by a proxy": b"GET http://127.0.0.1:80/ HTTP/1.1\r\n",
    "a proxy's": b"CONNECT localhost:80 HTTP/1.1\r\n\r\n",
    "an own method": b"patch-it / HTTP/1.1\r\n\r\n" + INNER,
    "a long address": b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n\r\n" + INNER,
    "an old one": b"GET /\r\n" + INNER,
}


@pytest.mark.hazard(76)
def test_browser_that_posts_to_the_port_is_closed_without_a_word(served: tuple[Machine, int], folder: Path) -> None:
    machine, port = served
    other = machine.raw((LOOPBACK, port)).open(folder, options={"token": TOKEN})
    for what, request_line in HTTP.items():
        with socket.create_connection((LOOPBACK, port), 30) as browser:
            try:
                browser.sendall(request_line)
                said = browser.recv(1000)
            except ConnectionError:
                # closed while it still spoke
                said = b""
        assert said == b"", what
        assert "lastHash" not in other.result("snapshot/status"), what


@pytest.mark.hazard(76)
def test_header_fields_that_only_look_like_it_are_read(served: tuple[Machine, int], folder: Path) -> None:
    machine, port = served
    raw = machine.raw((LOOPBACK, port)).open(folder, options={"token": TOKEN})
    body = framed(b'{"jsonrpc":"2.0","id":5,"method":"snapshot/status"}')
    raw.send(b"X-Was: GET / HTTP/1.1\r\n" + body)
    assert "result" in raw.answer(5)
    raw.send(b"GET: / HTTP/1.1\r\n" + body)
    assert "result" in raw.answer(5)


@pytest.mark.hazard(77)
def test_port_beyond_the_loopback_interface_is_opened_only_when_told(machine: Machine, folder: Path) -> None:
    for host in ("[::]", "192.0.2.1", "example.com", "[fe80::1]", "localhost.example.com", "127.0.0.1.example.com"):
        with pytest.raises(InvalidParams, match=r"is not the loopback interface \(hint: add --allow-remote"):
            address(f"{host}:0", False)
    done = machine.run("serve", "--tcp", "0.0.0.0:0", env={"SNAPD_TOKEN": TOKEN})
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not the loopback interface\nhint: add --allow-remote" in done.stderr
    process = machine.start("serve", "--tcp", "0.0.0.0:0", "--allow-remote", env={"SNAPD_TOKEN": TOKEN}, stdout=-1)
    assert process.stdout is not None
    said, _, port = process.stdout.readline().rpartition(b":")
    assert said == b"listening on 0.0.0.0"
    assert (
        machine.raw((LOOPBACK, int(port))).open(folder, options={"token": TOKEN}).result("snapshot/status")["enabled"]
    )
