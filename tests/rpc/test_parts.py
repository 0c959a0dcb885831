"""The parts of the edge that no client can reach in all their states."""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from snapd.model import errors
from snapd.model.errors import InvalidParams, IoError
from snapd.rpc import progress
from snapd.rpc.language_server import CONVERTER, Feature
from snapd.rpc.params import as_rpc_error
from snapd.rpc.progress import Progress
from snapd.rpc.protocol import Protocol
from snapd.rpc.transport import streams
from snapd.rpc.transport.framing import Request, encode, frame
from snapd.rpc.transport.streams import Outbox
from snapd.wire.errors import ERRORS

from .machine import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable


class Server:
    """What pygls wants of a server."""

    def _report_server_error(self, error: Exception, source: object) -> None:
        raise AssertionError(error)


def protocol() -> tuple[Protocol, list[bytes]]:
    """A protocol object and what it sends."""
    sent: list[bytes] = []
    made = Protocol(Server(), CONVERTER)  # type: ignore[arg-type]
    made.send = sent.append
    return made, sent


@pytest.mark.parametrize(
    ("given", "encoded"),
    [
        ({"a": "\udcff\ud800x"}, '{"a":"��x"}'),
        ({"\udcff": ["\udcff", {"b": 1}]}, '{"�":["�",{"b":1}]}'),
        ({"a": "\U0001f600"}, '{"a":"\U0001f600"}'),
    ],
)
def test_text_that_utf8_cannot_say(given: dict[str, Any], encoded: str) -> None:
    assert encode(given).decode() == encoded


def test_a_method_costs_a_connection_little() -> None:
    """pygls looks into what it is given; each hook has a connection of its own, with all methods."""

    def calls(feature: Callable[[Any], Any]) -> int:
        made, _ = protocol()
        found: list[str] = []
        register = made.fm.feature("x/y")
        sys.setprofile(lambda frame, kind, _: found.append(frame.f_code.co_name) if kind == "call" else None)
        try:
            register(feature)
        finally:
            sys.setprofile(None)
        assert made.fm.features["x/y"](7) == 7
        return len(found)

    assert calls(Feature(lambda params: params)) < 25
    assert calls(partial(lambda params: params)) > 25


async def test_failed_request_leaves_nothing_for_the_collector() -> None:
    made, _ = protocol()
    answered = asyncio.Event()
    made.send = lambda _: answered.set()
    failed: list[weakref.ref[Exception]] = []

    async def fail(pending: list[asyncio.Task[None]]) -> None:
        assert pending
        error = InvalidParams("x: wrong")
        failed.append(weakref.ref(error))
        raise error

    def start() -> asyncio.Task[None]:
        pending: list[asyncio.Task[None]] = []
        pending.append(asyncio.ensure_future(fail(pending)))
        return pending[0]

    made.fm.feature("x")(lambda _: start())
    gc.disable()
    try:
        made.handle_message(Request(5, "x", {}))
        await answered.wait()
        assert [error() for error in failed] == [None]
    finally:
        gc.enable()


@pytest.mark.parametrize("result", [object(), {"a": 1 << 70}, {1: 2}])
def test_result_that_is_no_json_is_answered_as_a_defect(result: object) -> None:
    made, sent = protocol()
    made.fm.feature("x")(lambda _: result)
    made.handle_message(Request(5, "x", {}))
    (answer,) = sent
    assert b'"id":5,"error":{"code":-32603' in answer


async def test_task_that_is_cancelled_before_it_ran_is_answered() -> None:
    made, sent = protocol()
    tasks = []

    async def never() -> None:
        raise AssertionError

    def feature(_: Any) -> asyncio.Task[None]:
        tasks.append(asyncio.ensure_future(never()))
        return tasks[0]

    made.fm.feature("x")(feature)
    made.handle_message(Request("a", "x", {}))
    assert not sent
    tasks[0].cancel()
    await asyncio.wait(tasks)
    (answer,) = sent
    assert b'"id":"a","error":{"code":-32800' in answer


def test_error_of_a_defect_tells_nothing_of_the_inside(caplog: pytest.LogCaptureFixture) -> None:
    error = as_rpc_error(ValueError("secret"))
    assert (error.code, set(error.data or {})) == (-32603, {"hint"})
    assert "secret" not in error.message
    assert "defect" in caplog.text
    known = as_rpc_error(IoError("it broke", hint="mend it", path="/x", errno="EIO"))
    assert (known.code, known.data) == (1011, {"kind": "ioError", "hint": "mend it", "path": "/x", "errno": "EIO"})


def test_every_kind_of_error_says_what_to_do_next() -> None:
    kinds = {error.kind: error for error in vars(errors).values() if isinstance(error, type) and "kind" in vars(error)}
    assert set(kinds) == {*ERRORS, "requestCancelled"}
    for kind, error in kinds.items():
        data = as_rpc_error(error("it broke")).data
        assert data == {"kind": kind, "hint": error.default_hint}
        assert error.default_hint.strip(" .\n") == error.default_hint != ""


class Deaf:
    """A client over a socket that reads nothing until it is told to."""

    async def __aenter__(self) -> Deaf:
        self.got = asyncio.Event()
        self.server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        host, port = self.server.sockets[0].getsockname()
        self.reader, self.writer = await asyncio.open_connection(host, port, limit=1)
        await self.got.wait()
        return self

    def _take(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.outbox, self.other = Outbox(writer), writer
        self.got.set()

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()
        self.other.close()
        self.server.close()
        await self.server.wait_closed()


async def test_client_that_lets_too_much_lie_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "PUSHED_BYTES", 50_000_000)
    message = frame(b"x" * 1_000_000)
    async with Deaf() as client:
        pushed = 0
        while not client.other.transport.is_closing():
            client.outbox.push(message)
            pushed += 1
        # what the system takes off our hands counts as read
        assert 50 <= pushed < 60
        client.outbox.push(message)
        client.outbox.send(message)
        await asyncio.wait_for(client.outbox.writable(), PATIENCE)


async def test_answers_alone_drop_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "PUSHED_BYTES", 5_000_000)
    async with Deaf() as client:
        for _ in range(50):
            client.outbox.send(b"x" * 1_000_000)
        for _ in range(4):
            client.outbox.push(b"x" * 1_000_000)
        assert not client.other.transport.is_closing()
        await client.reader.readexactly(54_000_000)
        await asyncio.wait_for(client.outbox.writable(), PATIENCE)
        for _ in range(5):
            client.outbox.push(b"x" * 1_000_000)
        assert not client.other.transport.is_closing()


async def test_client_that_takes_nothing_of_the_rest_is_given_up() -> None:
    async with Deaf() as client:
        client.outbox.send(b"x" * 50_000_000)
        client.outbox.give_up_after(0.05)
        await asyncio.wait_for(client.outbox.close(), PATIENCE)


async def test_client_that_takes_the_rest_slowly_gets_it() -> None:
    async with Deaf() as client:
        client.outbox.send(b"x" * 20_000_000)
        client.outbox.give_up_after(0.5)
        closing = asyncio.ensure_future(client.outbox.close())
        got = 0
        while chunk := await client.reader.read(100_000):
            got += len(chunk)
        await asyncio.wait_for(closing, PATIENCE)
        assert got == 20_000_000


async def test_progress_comes_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(progress, "INTERVAL_SECONDS", 0.0)
    loop = asyncio.get_running_loop()
    begun = asyncio.Event()
    said: list[dict[str, Any]] = []

    def send(params: dict[str, Any]) -> None:
        assert params["token"] == 7
        said.append(params["value"])
        begun.set()

    told = Progress(7, "work", loop, send)
    # on the loop, which has no turn to begin in before the next line
    told.report("early", 1, None)
    assert said == []
    await asyncio.wait_for(begun.wait(), PATIENCE)
    await loop.run_in_executor(None, told.report, "on", 1, 3)
    await loop.run_in_executor(None, told.report, "on", 5, 3)
    told.end()
    assert said == [
        {"kind": "begin", "title": "work", "message": "early: 1"},
        {"kind": "report", "message": "on: 1 of 3", "percentage": 33},
        {"kind": "report", "message": "on: 5 of 3", "percentage": 100},
        {"kind": "end"},
    ]


async def test_short_work_has_no_progress() -> None:
    said: list[dict[str, Any]] = []
    told = Progress("t", "work", asyncio.get_running_loop(), said.append)
    told.report("on", 1, 3)
    await asyncio.get_running_loop().run_in_executor(None, lambda: None)
    told.end()
    assert said == []
