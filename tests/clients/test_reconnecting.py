"""A client that reconnects by itself: what it sends again, and that subscriptions miss nothing."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import Client, ConnectionLost, SnapdError

from tests.clients.peer import WAIT, Peer, taken
from tests.rpc.machine import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

URI = "file:///w"


class Daemon:
    """Accepts connections on a socket, and answers what comes with each of them."""

    def __init__(self, listener: socket.socket, pool: ThreadPoolExecutor) -> None:
        self.listener = listener
        self.pool = pool
        self.latest = 7
        self.events: dict[str, Any] = {}

    def accept(self) -> Peer:
        return Peer(self.listener.accept()[0])

    def welcome(self, *, follows: bool = False) -> Peer:
        """Accepts a connection and answers `initialize`; with `follows`, also what a subscriber asks."""
        peer = self.accept()
        self.answer(peer, {"capabilities": {}})
        assert peer.read()["method"] == "initialized"
        if follows:
            self.tell_numbers(peer)
        return peer

    def tell_numbers(self, peer: Peer) -> None:
        self.answer(peer, {"workspaceUri": URI})
        self.asked = self.answer(peer, {"latest": self.latest, **self.events})["params"]

    def answer(self, peer: Peer, result: Any) -> dict[str, Any]:
        request = peer.read()
        peer.send(id=request["id"], result=result)
        return request


@pytest.fixture
def daemon(listener: socket.socket) -> Iterator[Daemon]:
    with ThreadPoolExecutor(4) as pool:
        yield Daemon(listener, pool)


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    with Client.connect(daemon.listener.getsockname(), reconnects=True, timeout=WAIT) as made:
        yield made


def begin(daemon: Daemon, client: Client) -> Peer:
    asked = daemon.pool.submit(client.initialize, ["/w"])
    peer = daemon.welcome()
    asked.result(WAIT)
    return peer


def subscribe(daemon: Daemon, client: Client, peer: Peer) -> Any:
    subscribed = daemon.pool.submit(client.subscribe)
    daemon.tell_numbers(peer)
    return subscribed.result(WAIT)


def test_a_request_after_the_loss_reconnects(daemon: Daemon, client: Client) -> None:
    begin(daemon, client).close()
    wait_until(lambda: not client.connected, "the client to notice the loss")
    answer = daemon.pool.submit(client.request, "session/undo", {})
    for _ in range(2):
        # a daemon that ends accepts connections for a moment
        daemon.accept().close()
    peer = daemon.welcome()
    assert daemon.answer(peer, "undone")["method"] == "session/undo"
    assert answer.result(WAIT) == "undone"
    peer.close()


@pytest.mark.parametrize(
    ("method", "params", "again"),
    [
        ("snapshot/track", {}, True),
        ("session/undo", {"dryRun": True}, True),
        ("session/undo", {"dryRun": False}, False),
        ("session/undo", {"dryRun": None}, False),
        ("session/start", {"sessionId": "s"}, True),
        ("session/start", {"sessionId": None}, False),
        ("step/begin", {"sessionId": "s"}, False),
    ],
)
def test_what_is_sent_again(daemon: Daemon, client: Client, method: Any, params: Any, again: bool) -> None:
    peer = begin(daemon, client)
    answer = daemon.pool.submit(client.request, method, params)
    assert peer.read()["method"] == method
    peer.close()
    if again:
        peer = daemon.welcome()
        assert daemon.answer(peer, "done")["method"] == method
        assert answer.result(WAIT) == "done"
    else:
        with pytest.raises(ConnectionLost):
            answer.result(WAIT)
    peer.close()


def test_a_request_is_sent_again_once(daemon: Daemon, client: Client) -> None:
    peer = begin(daemon, client)
    answer = daemon.pool.submit(client.request, "snapshot/track")
    peer.read()
    peer.close()
    peer = daemon.welcome()
    peer.read()
    peer.close()
    with pytest.raises(ConnectionLost):
        answer.result(WAIT)


def test_each_notification_arrives_once_and_in_order(daemon: Daemon, client: Client) -> None:
    peer = begin(daemon, client)
    subscription = subscribe(daemon, client, peer)
    peer.tell("snapshot/didTrack", workspaceUri=URI, seq=8)
    peer.close()
    assert [taken(subscription).params.get("seq") for _ in range(2)] == [8, None]
    missed = [{"method": "snapshot/didTrack", "params": {"workspaceUri": URI, "seq": seq}} for seq in (9, 10)]
    daemon.latest, daemon.events = 10, {"events": missed}
    peer = daemon.accept()
    daemon.answer(peer, {"capabilities": {}})
    assert peer.read()["method"] == "initialized"
    # one comes by itself, too, and one after the answer
    peer.tell("snapshot/didTrack", workspaceUri=URI, seq=10)
    peer.tell("snapshot/didTrack", workspaceUri=URI, seq=11)
    daemon.tell_numbers(peer)
    assert daemon.asked == {"workspaceUri": URI, "since": 8}
    told = [taken(subscription) for _ in range(4)]
    assert [each.params.get("seq", each.method) for each in told] == [9, 10, "snapd/reconnected", 11]
    peer.close()


def test_what_the_daemon_does_not_have_any_more_is_a_reset(daemon: Daemon, client: Client) -> None:
    peer = begin(daemon, client)
    subscription = subscribe(daemon, client, peer)
    peer.close()
    assert taken(subscription).method == "snapd/disconnected"
    daemon.latest, daemon.events = 3, {"reset": True}
    peer = daemon.welcome(follows=True)
    reset = taken(subscription)
    assert (reset.method, reset.params) == ("snapd/reset", {"workspaceUri": URI, "seq": 3})
    assert taken(subscription).method == "snapd/reconnected"
    # the numbers of another store began anew
    peer.tell("snapshot/didTrack", workspaceUri=URI, seq=4)
    assert taken(subscription).params["seq"] == 4
    peer.close()


def test_another_subscription_loses_nothing_of_the_first(daemon: Daemon, client: Client) -> None:
    peer = begin(daemon, client)
    first = subscribe(daemon, client, peer)
    daemon.latest = 20
    subscribe(daemon, client, peer)
    peer.tell("snapshot/didTrack", workspaceUri=URI, seq=8)
    assert taken(first).params["seq"] == 8
    peer.close()


def test_subscribers_hear_why_there_is_no_daemon(daemon: Daemon, client: Client) -> None:
    peer = begin(daemon, client)
    subscription = subscribe(daemon, client, peer)
    peer.close()
    assert taken(subscription).method == "snapd/disconnected"
    for _ in range(2):
        peer = daemon.accept()
        peer.send(id=peer.read()["id"], error={"code": 1, "message": "no", "data": {"kind": "unauthorized"}})
        peer.close()
    peer = daemon.welcome(follows=True)
    heard = [taken(subscription) for _ in range(2)]
    # the same reason is reported once
    assert [each.method for each in heard] == ["snapd/unreachable", "snapd/reconnected"]
    assert heard[0].params["reason"] == "no (unauthorized)"
    assert isinstance(heard[0].params["error"], SnapdError)
    peer.close()


def test_the_end_of_the_client_ends_its_attempts(daemon: Daemon, client: Client) -> None:
    peer = begin(daemon, client)
    subscription = subscribe(daemon, client, peer)
    peer.close()
    assert taken(subscription).method == "snapd/disconnected"
    peer = daemon.accept()
    peer.read()
    client.close()
    assert peer.at_end()
    with pytest.raises(ConnectionLost):
        client.request("snapshot/track")
    peer.close()
