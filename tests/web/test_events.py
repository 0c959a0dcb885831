"""What is told without being asked: in order, each once, also to a client that was away."""

from __future__ import annotations

import asyncio
import re
import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, ClassVar

import pytest

from snapd.web.api.events import events
from snapd.web.hub import MAX_STREAMS, Hub
from tests.rpc.machine import wait_until

from .browser import PATIENCE
from .stream import Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from .browser import Web
    from .conftest import World


def test_a_step_is_told(web: Web, world: World) -> None:
    with Stream(web) as stream:
        began = int(stream.begin())
        step = world.step("s", {"a.txt": "told\n"})
        seen = []
        while not seen or seen[-1].params.get("step", {}).get("state") != "applied":
            event = stream.next()
            assert event is not None
            seen.append(event)
    assert seen[-1].params["step"]["stepId"] == step
    # what a client of the daemon gets, in the same order, none missing and none twice
    told = world.client.request("snapshot/events", {"since": began})["events"]
    assert [(each.method, each.params) for each in seen] == [
        (each["method"], each["params"]) for each in told[: len(seen)]
    ]
    assert [int(each.id) for each in seen] == [each.params["seq"] for each in seen]
    assert {each.params["workspaceUri"] for each in seen} == {world.folder.as_uri()}


@pytest.mark.parametrize("how", ["Last-Event-ID", "since"])
def test_catching_up(web: Web, world: World, how: str) -> None:
    with Stream(web) as stream:
        stream.begin()
        world.step("s", {"b.txt": f"before {how}\n"})
        last = stream.until("session/didChange").id
    first = world.step("away", {"b.txt": f"first {how}\n"})
    second = world.step("away", {"b.txt": f"second {how}\n"})
    wanted = world.client.request("snapshot/events", {"since": int(last)})["events"]
    with Stream(web, last=last) if how == "Last-Event-ID" else Stream(web, path=f"/events?since={last}") as stream:
        assert stream.begin() == last
        found = [stream.next() for _ in wanted]
        assert [(each.method, each.params) for each in found if each] == [(w["method"], w["params"]) for w in wanted]
        steps = [each.params["step"]["stepId"] for each in found if each and "step" in each.params]
        assert steps.index(first) < steps.index(second)
        # and then what happens from now on
        world.step("s", {"b.txt": f"after {how}\n"})
        event = stream.next()
        assert event is not None
        assert event.params["seq"] > int(found[-1].id if found[-1] else 0)


def test_an_id_that_was_never_given(web: Web, world: World) -> None:
    """As after a daemon that is gone: everything has to be loaded anew, and the numbers go on from there."""
    with Stream(web, last=str(10**17)) as stream:
        stream.begin()
        event = stream.until("reset")
        latest = world.client.request("snapshot/events", {"since": 10**17})["latest"]
        assert (event.params, event.id) == ({"latest": latest}, str(latest))
        world.step("s", {"b.txt": "after the reset\n"})
        assert stream.until("session/didChange").params["seq"] > latest


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "9" * 30, "1 2", "\xb2"])
def test_an_id_that_is_none(web: Web, last: str) -> None:
    answer = web.get("/events", **{"Last-Event-ID": last})
    assert (answer.status, answer.json["field"]) == (400, "Last-Event-ID")


def test_there_is_a_limit_to_streams(web: Web) -> None:
    opened = [Stream(web) for _ in range(MAX_STREAMS)]
    try:
        assert {each.status for each in opened} == {200}
        assert web.get("/events").kind == "busy"
        # everybody else is served
        assert web.get("/session").status == 200
    finally:
        for each in opened:
            each.close()

    def is_free() -> bool:
        with Stream(web) as again:
            return again.status == 200

    wait_until(is_free, "a free place")


def test_whoever_does_not_read_is_let_go_of() -> None:
    """Its queue ends rather than grows; the client comes again, and catches up."""

    async def play() -> None:
        hub = Hub(asyncio.get_running_loop())
        hub.begin(0)
        waiting = hub.add()
        assert waiting is not None
        for seq in range(1, 3000):
            hub.notified("snapshot/didTrack", {"seq": seq})
            await asyncio.sleep(0)
        assert waiting.has_ended.is_set()
        assert await waiting.take(0) == []
        late = hub.add()
        assert late is not None
        assert late.begins_at == 2999
        for seq in range(3000, 3010):
            hub.notified("snapshot/didChange", {"seq": seq, "much": "x" * (1 << 20)})
        await asyncio.sleep(0.01)
        assert late.has_ended.is_set()

    asyncio.run(play())


async def test_what_comes_twice_is_sent_once() -> None:
    """As what was missed, and while the daemon is asked for that."""
    hub = Hub(asyncio.get_running_loop())
    hub.begin(3)

    class Catching:
        params: ClassVar = {"since": 3}
        request = SimpleNamespace(headers={})
        service = SimpleNamespace(hub=hub)

        def ask(self, *_: object) -> object:
            return {"events": [{"method": "snapshot/didTrack", "params": {"seq": seq}} for seq in (4, 5)]}

        async def work(self, work: Callable[[], object]) -> object:
            for seq in (4, 5, 6):
                hub.notified("snapshot/didTrack", {"seq": seq})
            await asyncio.sleep(0)
            return work()

    response = await events(Catching())  # type: ignore[arg-type]
    sent = b""

    async def send(message: dict[str, object]) -> None:
        nonlocal sent
        data = message.get("body", b"")
        assert isinstance(data, bytes)
        sent += data
        if b"id: 6" in sent:
            hub.end()

    async def receive() -> dict[str, str]:
        await asyncio.Event().wait()
        return {}

    await asyncio.wait_for(response({}, receive, send), PATIENCE)  # type: ignore[arg-type]
    assert re.findall(rb"id: (\d+)", sent) == [b"3", b"4", b"5", b"6"]


def test_a_reader_that_stands_still(web: Web, world: World) -> None:
    """The server goes on for everybody else, and its stream is over once too much waits."""
    with socket.create_connection(("127.0.0.1", web.port), PATIENCE) as still:
        still.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        head = f"GET /events HTTP/1.1\r\nHost: {web.host}\r\nAuthorization: Bearer {web.token}\r\n\r\n"
        still.sendall(head.encode())
        assert still.recv(12) == b"HTTP/1.1 200"
        with Stream(web) as reader:
            reader.begin()
            step = world.step("still", {f"many/{number}.txt": "x\n" for number in range(300)})
            while reader.until("session/didChange").params.get("step", {}).get("state") != "applied":
                pass
        assert web.get("/session/still/steps").json["steps"][0]["stepId"] == step
