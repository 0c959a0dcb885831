"""Requests about another folder that the daemon has open."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from snapd.model.errors import IoError
from snapd.web.errors import Busy
from snapd.web.link import MAX_OTHERS, OtherFolders
from tests.rpc.machine import short_folder

from .browser import PATIENCE
from .conftest import World
from .stream import Stream
from .test_link import Connection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from snapd.web.link import Connect
    from tests.rpc.machine import Machine

    from .browser import Web


@pytest.fixture(scope="module")
def other(machine: Machine, world: World) -> Iterator[World]:
    """Another folder, which a client of the daemon has open."""
    with short_folder("so-", {"there.txt": "there\n"}) as folder:
        made = World(machine, folder)
        made.client.track()
        yield made


def at(path: str, folder: Path | str) -> str:
    return f"{path}?{urlencode({'workspace': str(folder)})}"


def test_it_is_read_and_changed(web: Web, world: World, other: World) -> None:
    step = other.step("elsewhere", {"there.txt": "changed\n"})
    world.step("here", {"a.txt": "here\n"})
    for name in (str(other.folder), other.folder.as_uri(), f"{other.folder}/"):
        assert [each["sessionId"] for each in web.get("/session", {"workspace": name}).json["sessions"]] == [
            "elsewhere"
        ]
    assert [each["sessionId"] for each in web.get("/session").json["sessions"]] == ["here"]
    status = web.get("/status", {"workspace": str(other.folder)}).json
    assert (status["state"], status["root"]) == ("on", str(other.folder))
    diff = web.get(f"/session/elsewhere/steps/{step}/diff", {"workspace": str(other.folder)})
    assert "+changed" in diff.body.decode()
    assert web.post(at("/session/elsewhere/undo", other.folder)).json["applied"] is True
    assert (other.text("there.txt"), world.text("a.txt")) == ("there\n", "here\n")
    assert web.get("/session", {"workspace": str(world.folder)}).json == web.get("/session").json


def test_what_is_told_of_it(web: Web, other: World) -> None:
    with Stream(web, path=at("/events", other.folder)) as stream:
        stream.begin()
        other.step("told", {"there.txt": "told\n"})
        event = stream.until("session/didChange")
    assert event.params["workspaceUri"] == other.folder.as_uri()
    with Stream(web, path=at("/events", other.folder), last=event.id) as stream:
        assert stream.begin() == event.id
        assert stream.until("session/didChange").params["seq"] > int(event.id)


def test_a_folder_that_is_not_open(web: Web, machine: Machine) -> None:
    def stores() -> list[Path]:
        return sorted(machine.data.rglob("HEAD"))

    before = stores()
    assert before
    with short_folder("sn-", {"secret.txt": "secret\n"}) as folder:
        for verb in (web.get, web.post):
            path = "/session" if verb == web.get else "/session/s/undo"
            answer = verb(at(path, folder))
            assert (answer.status, answer.kind) == (404, "workspaceNotOpen")
    assert stores() == before


@pytest.mark.parametrize("name", ["", "relative", "../a", "file:relative", "http://x/y", "/a\0b"])
def test_what_is_no_folder(web: Web, name: str) -> None:
    answer = web.get("/session", {"workspace": name})
    assert (answer.status, answer.kind, answer.json["field"]) == (400, "invalidParams", "workspace")


def test_a_body_does_not_name_it(web: Web, other: World) -> None:
    answer = web.post("/session/s/undo", {"workspace": str(other.folder)})
    assert (answer.status, answer.kind) == (400, "invalidParams")
    assert "belongs in the query" in answer.json["detail"]


def test_only_so_many_at_once() -> None:
    connections: list[Connection] = []

    def connect_to(folder: str) -> Connect:
        def connect() -> Any:
            if folder == "/none":
                raise IoError("there is none", errno="ECONNREFUSED")
            connections.append(Connection())
            return connections[-1], connections[-1]

        return connect

    async def ask() -> None:
        with ThreadPoolExecutor(1) as executor:
            others = OtherFolders(connect_to, executor)
            # one that could not be opened does not count
            with pytest.raises(IoError):
                await others.opened("/none").__aenter__()
            async with AsyncExitStack() as opened:
                for _ in range(MAX_OTHERS):
                    await opened.enter_async_context(others.opened("/there"))
                with pytest.raises(Busy):
                    await others.opened("/there").__aenter__()
            assert not any(each.is_open for each in connections)
            async with others.opened("/there"):
                assert connections[-1].is_open

    asyncio.run(ask())


def test_whoever_gives_up_leaves_no_connection() -> None:
    begun, goes_on = threading.Event(), threading.Event()
    connection = Connection()

    def connect_to(_: str) -> Connect:
        def connect() -> Any:
            begun.set()
            goes_on.wait(PATIENCE)
            return connection, connection

        return connect

    async def give_up() -> None:
        with ThreadPoolExecutor(2) as executor:
            others = OtherFolders(connect_to, executor)
            asking = asyncio.ensure_future(others.opened("/there").__aenter__())
            await asyncio.get_running_loop().run_in_executor(executor, begun.wait)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            goes_on.set()

    asyncio.run(give_up())
    assert not connection.is_open
