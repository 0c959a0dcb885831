"""A request that another thread cancels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from snapd_client import Cancellation, Cancelled

from .peer import WAIT

if TYPE_CHECKING:
    from .peer import World


def test_the_daemon_is_told_and_its_answer_counts(world: World) -> None:
    cancellation = Cancellation()
    waiting = world.ask(cancellation=cancellation)
    request = world.peer.read()
    cancellation.cancel()
    assert world.peer.read() == {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": request["id"]}}
    assert not waiting.done()
    world.peer.send(id=request["id"], error={"code": -32800, "message": "cancelled"})
    with pytest.raises(Cancelled):
        waiting.result(WAIT)
    assert cancellation.cancelled


def test_a_result_that_came_first_counts(world: World) -> None:
    cancellation = Cancellation()
    waiting = world.ask(cancellation=cancellation)
    request = world.peer.read()
    cancellation.cancel()
    world.peer.send(id=request["id"], result={"done": True})
    assert waiting.result(WAIT) == {"done": True}


def test_what_begins_after_it_is_not_sent(world: World) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        world.client.request("any", cancellation=cancellation)
    other = world.ask("other")
    request = world.peer.read()
    assert request["method"] == "other"
    world.peer.send(id=request["id"], result=1)
    assert other.result(WAIT) == 1


def test_one_serves_several_requests_one_after_the_other(world: World) -> None:
    cancellation = Cancellation()
    first = world.ask("first", cancellation=cancellation)
    world.peer.send(id=world.peer.read()["id"], result=1)
    assert first.result(WAIT) == 1
    second = world.ask("second", cancellation=cancellation)
    request = world.peer.read()
    cancellation.cancel()
    assert world.peer.read()["params"] == {"id": request["id"]}
    world.peer.send(id=request["id"], result=2)
    assert second.result(WAIT) == 2


def test_cancelling_what_has_ended_tells_nobody(world: World) -> None:
    cancellation = Cancellation()
    waiting = world.ask(cancellation=cancellation)
    world.peer.send(id=world.peer.read()["id"], result=1)
    assert waiting.result(WAIT) == 1
    cancellation.cancel()
    world.ask("other")
    assert world.peer.read()["method"] == "other"
    world.client.close()
