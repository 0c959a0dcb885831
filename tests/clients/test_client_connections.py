"""How the Python client comes to a daemon: sockets, TCP and commands, and what it does when a connection ends."""

from __future__ import annotations

import os
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import (
    Client,
    ConnectionLost,
    SnapdError,
    to_uri,
)

from tests.clients.peer import WAIT, Peer, taken
from tests.support.processes import own_children

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def welcome(peer: Peer) -> dict[str, Any]:
    """Answers `initialize`, sees `initialized`, and gives the params."""
    asked = peer.read()
    assert asked["method"] == "initialize"
    peer.send(id=asked["id"], result={"capabilities": {"n": 1}})
    assert peer.read()["method"] == "initialized"
    params: dict[str, Any] = asked["params"]
    return params


def test_unix_socket_initialize_folders_and_shutdown(listener: socket.socket, tmp_path: Path) -> None:
    with Client.connect(listener.getsockname()) as client, ThreadPoolExecutor(1) as pool:
        peer = Peer(listener.accept()[0])
        asked = pool.submit(client.initialize, [str(tmp_path), "file:///b%20c"], {"watch": False}, client_name="me")
        params = welcome(peer)
        assert asked.result(WAIT) == {"capabilities": {"n": 1}}
        assert client.initialize_result is asked.result()
        first = {"uri": to_uri(str(tmp_path)), "name": tmp_path.name}
        assert params["processId"] == os.getpid()
        assert params["rootUri"] == first["uri"]
        assert params["workspaceFolders"] == [first, {"uri": "file:///b%20c", "name": "b%20c"}]
        assert params["capabilities"]["window"] == {"workDoneProgress": True}
        assert params["initializationOptions"] == {"watch": False}
        assert params["clientInfo"]["name"] == "me"
        assert client.open_folder("/d/") == "file:///d"
        added = {"uri": "file:///d", "name": "d"}
        told = peer.read()
        assert told["method"] == "workspace/didChangeWorkspaceFolders"
        assert told["params"] == {"event": {"added": [added], "removed": []}}
        client.close_folder("file:///b%20c")
        assert peer.read()["params"]["event"]["removed"][0]["uri"] == "file:///b%20c"
        assert client.folders == [first["uri"], "file:///d"]
        ended = pool.submit(client.shutdown)
        peer.send(id=peer.read()["id"], result=None)
        assert peer.read() == {"jsonrpc": "2.0", "method": "exit"}
        ended.result(WAIT)
        assert peer.at_end()
        peer.close()


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Client.connect(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        Client.spawn([str(tmp_path / "none")])


def test_reconnect_initialises_again_and_keeps_subscriptions(listener: socket.socket) -> None:
    with Client.connect(listener.getsockname()) as client, ThreadPoolExecutor(2) as pool:
        peer = Peer(listener.accept()[0])
        asked = pool.submit(client.initialize, ["/a"], {"watch": False})
        before = welcome(peer)
        asked.result(WAIT)
        client.open_folder("/b")
        subscription = client.subscribe({"wanted"})
        peer.tell("wanted", n=1)
        peer.close()
        assert taken(subscription).params == {"n": 1}
        lost = taken(subscription)
        assert (lost.method, bool(lost.params["reason"])) == ("snapd/disconnected", True)

        again = pool.submit(client.reconnect)
        peer = Peer(listener.accept()[0])
        message = peer.read()
        # What is said before the client knows that it is connected again comes after that.
        peer.tell("wanted", n=2)
        peer.send(id=message["id"], result={"capabilities": {}})
        assert peer.read()["method"] == "initialized"
        again.result(WAIT)
        after = message["params"]
        assert after["initializationOptions"] == before["initializationOptions"]
        assert [folder["uri"] for folder in after["workspaceFolders"]] == ["file:///a", "file:///b"]
        assert taken(subscription).method == "snapd/reconnected"
        assert taken(subscription).params == {"n": 2}
        answered = pool.submit(client.request, "any")
        peer.send(id=peer.read()["id"], result=5)
        assert answered.result(WAIT) == 5
        assert client.connected
        peer.close()


def test_reconnect_of_several_threads_is_one(listener: socket.socket) -> None:
    with Client.connect(listener.getsockname()) as client, ThreadPoolExecutor(4) as pool:
        subscription = client.subscribe()
        listener.accept()[0].close()
        assert taken(subscription).method == "snapd/disconnected"
        start = threading.Barrier(4)
        client._reconnecting.acquire()  # noqa: SLF001 - all of them have to come while it is held

        def again() -> None:
            start.wait(WAIT)
            client.reconnect()

        threads = [pool.submit(again) for _ in range(3)]
        start.wait(WAIT)
        client._reconnecting.release()  # noqa: SLF001
        peer = Peer(listener.accept()[0])
        for thread in threads:
            thread.result(WAIT)
        assert taken(subscription).method == "snapd/reconnected"
        peer.close()


@pytest.fixture
def lost(listener: socket.socket) -> Iterator[tuple[Client, ThreadPoolExecutor]]:
    """A client that has been initialised and whose connection ended, and a thread for its calls."""
    with Client.connect(listener.getsockname()) as client, ThreadPoolExecutor(1) as pool:
        peer = Peer(listener.accept()[0])
        asked = pool.submit(client.initialize, [])
        welcome(peer)
        asked.result(WAIT)
        peer.close()
        yield client, pool


def test_reconnect_that_fails_can_be_tried_again(
    listener: socket.socket, lost: tuple[Client, ThreadPoolExecutor]
) -> None:
    client, pool = lost
    again = pool.submit(client.reconnect)
    peer = Peer(listener.accept()[0])
    peer.send(id=peer.read()["id"], error={"code": 1012, "message": "no", "data": {"kind": "unauthorized"}})
    with pytest.raises(SnapdError):
        again.result(WAIT)
    peer.close()
    again = pool.submit(client.reconnect)
    peer = Peer(listener.accept()[0])
    assert welcome(peer)["workspaceFolders"] == []
    again.result(WAIT)
    peer.close()


def test_close_ends_a_reconnect_under_way(listener: socket.socket, lost: tuple[Client, ThreadPoolExecutor]) -> None:
    client, pool = lost
    again = pool.submit(client.reconnect)
    peer = Peer(listener.accept()[0])
    peer.read()
    client.close()
    with pytest.raises(ConnectionLost):
        again.result(WAIT)
    peer.close()


def test_tcp_shows_its_token() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        server.settimeout(WAIT)
        with Client.tcp("127.0.0.1", server.getsockname()[1], "secret") as client:
            peer = Peer(server.accept()[0])
            asked = pool.submit(client.initialize, [], {"a": 1})
            assert welcome(peer)["initializationOptions"] == {"a": 1, "token": "secret"}
            asked.result(WAIT)
            peer.close()


CHILD = """
import json, sys
while True:
    header = sys.stdin.buffer.readline()
    if not header:
        sys.exit(0)
    sys.stdin.buffer.readline()
    asked = json.loads(sys.stdin.buffer.read(int(header.split(b":")[1])))
    if asked["method"] == "exit":
        sys.exit(int(asked.get("params", {}).get("code", 0)))
    if "id" in asked:
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": asked.get("params")}).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
        sys.stdout.buffer.flush()
"""


def test_command(tmp_path: Path) -> None:
    with Client.spawn([sys.executable, "-c", CHILD], cwd=str(tmp_path), timeout=WAIT) as client:
        large = {"x": "é" * (1 << 20)}
        assert client.request("echo", large) == large
        client.notify("exit", {"code": 7})
        with pytest.raises(ConnectionLost, match=r"exit code 7"):
            client.request("echo")
        client.reconnect()
        assert client.request("echo", {}) == {}
        client.shutdown()


def test_command_that_does_not_end_is_made_to() -> None:
    deaf = CHILD.replace("sys.exit(0)", "signal.pause()")
    code = f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{deaf}"
    before = own_children()
    with Client.spawn([sys.executable, "-c", code], grace=0.05, timeout=WAIT) as client:
        client.request("echo")
        assert len(own_children() - before) == 1
    assert own_children() == before
