"""The daemon is killed and started again under the server, or cannot be started."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from snapd_client import Client

from snapd.web.api import contents
from tests.rpc.machine import Machine, wait_until

from .browser import PATIENCE
from .conftest import world_on
from .stream import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .browser import Answer, Web
    from .conftest import World


@pytest.fixture
def machine() -> Iterator[Machine]:
    """One whose daemon may be killed."""
    made = Machine()
    made.serve_socket()
    yield made
    made.finish()


@pytest.fixture
def world(machine: Machine) -> Iterator[World]:
    with world_on(machine) as made:
        yield made


def kill(machine: Machine) -> None:
    """Kills the daemon that the machine started, and has its socket stay as it leaves it."""
    daemon = machine.processes[0]
    daemon.send_signal(signal.SIGKILL)
    machine.exit_code(daemon)


def another(machine: Machine, folder: Path) -> Client:
    client = Client.connect(str(machine.socket), timeout=PATIENCE)
    client.initialize([folder])
    return client


def test_killed_under_it(machine: Machine, world: World) -> None:
    web = world.serve()
    first = world.step("s", {"a.txt": "before\n"})
    with Stream(web) as stream:
        stream.begin()
        kill(machine)
        assert stream.until("disconnected").params["reason"]
        # asked in between, it waits for the next daemon
        answer = web.get("/session/s/steps")
        assert answer.json["steps"][0]["stepId"] == first
        stream.until("reconnected")
        wait_until(lambda: web.get("/status").json["state"] == "on", "the state")
        with another(machine, world.folder) as client:
            begun = client.step_begin("s")["stepId"]
            world.write({"a.txt": "after\n"})
            client.step_end(begun)
        while stream.until("session/didChange").params.get("step", {}).get("state") != "applied":
            pass
        last = stream.id
    with Stream(web, last=last) as stream:
        assert stream.begin() == last
    # what a killed daemon told is not kept: whoever comes with its numbers loads everything anew
    with Stream(web, last="1") as stream:
        stream.until("reset")
    assert web.post("/session/s/undo").json["applied"] is True
    assert world.text("a.txt") == "before\n"


def test_killed_in_the_middle_of_a_request(machine: Machine, world: World) -> None:
    """What only reads is answered by the next daemon; of what changes something, the answer says that nobody knows."""
    web = world.serve()
    world.step("s", {"a.txt": "before\n"})
    answers: dict[str, Answer] = {}

    def ask(name: str, path: str, body: dict[str, bool] | None) -> None:
        answers[name] = web.get(path) if body is None else web.post(path, body)

    asked = [
        ("reads", "/review", None),
        ("plans", "/session/s/undo", {"dryRun": True}),
        ("writes", "/session/s/undo", {}),
    ]
    threads = [threading.Thread(target=ask, args=each) for each in asked]
    with machine.held_up("look", world.folder) as somebody_waits:
        (world.folder / "b.txt").write_text("changed\n")
        for thread in threads:
            thread.start()
        wait_until(somebody_waits, "a request that is held up")
        # everything else goes on meanwhile
        assert web.get("/session").status == 200
        assert web.get("/status").json["state"] == "on"
        kill(machine)
    for thread in threads:
        thread.join(PATIENCE)
    assert answers["reads"].status == 200
    if answers["writes"].status == 200:
        # it came after the death, and maybe before the plan
        assert answers["plans"].status == 200 or answers["plans"].kind == "nothingToUndo"
    else:
        assert (answers["writes"].status, answers["writes"].kind) == (503, "ioError")
        assert "may have" in answers["writes"].json["hint"]
        assert answers["plans"].json["applied"] is False


def test_no_daemon_can_be_started(machine: Machine, world: World) -> None:
    web = world.serve()
    config = machine.config / "snapd" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text("snapshot = 7\n")
    with Stream(web) as stream:
        stream.begin()
        kill(machine)

        def trouble() -> dict[str, str] | None:
            found: dict[str, str] = web.get("/status").json
            return found if found["state"] == "degraded" and "snapshot" in found["why"] else None

        found = wait_until(trouble, "the reason")
        assert "status" not in found
        assert found["root"] == str(world.folder)
        for answer in (web.get("/session"), web.post("/session/s/undo"), web.get("/search", {"q": "x"})):
            assert (answer.status, answer.kind) == (503, "ioError")
        config.unlink()
        stream.until("reconnected")
    assert web.get("/session").status == 200


async def test_a_daemon_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its state is told all the same."""
    monkeypatch.setattr(contents, "SECONDS", 0.01)

    class Silent:
        service = SimpleNamespace(folder="/f", read_only=False, link=SimpleNamespace(problem=None), quick=None)

        async def work(self, *_: object) -> None:
            await asyncio.Event().wait()

    answer = json.loads((await contents.status(Silent())).body)  # type: ignore[arg-type]
    assert answer["state"] == "degraded"
    assert "not answered" in answer["why"]


@pytest.mark.parametrize(("written", "state", "why"), [("snapshot = false\n", "off", "snapshot"), ("", "on", None)])
def test_turned_off(machine: Machine, world: World, written: str, state: str, why: str | None) -> None:
    config = machine.config / "snapd" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(written)
    web: Web = world.serve()
    found = wait_until(lambda: (now := web.get("/status").json)["state"] == state and now, state)
    assert why is None or why in found["why"]
    assert found["status"]["enabled"] is (state == "on")


def test_the_folder_is_gone(world: World) -> None:
    web = world.serve()
    moved = world.folder.with_name(world.folder.name + "-moved")
    world.folder.rename(moved)
    try:
        assert web.post("/session/s/undo").kind == "workspaceRefused"
        answer = web.get("/review")
        assert (answer.status, answer.kind) == (410, "workspaceGone")
    finally:
        moved.rename(world.folder)
