"""The process: which folder it serves, the daemon that it reaches again, what cancelling does, and its streams."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import SnapdError

from tests.rpc.machine import Machine, short_folder, wait_until

from .conftest import World, start
from .peer import MIDDLE, VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def other(machine: Machine) -> Iterator[Path]:
    """Another folder, with a step in it."""
    with short_folder("so-", {"sub/x.txt": "x\n"}) as folder:
        made = World(machine, folder)
        made.step("in-the-other", y_txt="y\n")
        yield folder
        made.close()


def sessions(peer: Any) -> set[str]:
    return {entry["sessionId"] for entry in peer.done("history")["entries"]}


# -- the folder


def test_the_folder_is_the_one_that_claude_names(world: World, other: Path) -> None:
    world.step()
    assert sessions(world.peer(env={"CLAUDE_PROJECT_DIR": str(other)})) == {"in-the-other"}


def test_the_folder_is_the_one_that_it_is_started_in(world: World, other: Path) -> None:
    os.chdir(other / "sub")
    try:
        # the folder around it that has a history
        assert sessions(world.peer(env={"CLAUDE_PROJECT_DIR": ""})) == {"in-the-other"}
    finally:
        os.chdir("/")


def test_the_folder_is_the_one_that_is_given(world: World, other: Path) -> None:
    world.step()
    assert sessions(world.peer(MIDDLE, None, "-C", str(other / "sub"))) == {"in-the-other"}
    assert sessions(world.peer(MIDDLE, None, "-C", str(other / "sub"), "--here")) == set()


def test_a_folder_that_cannot_be_a_workspace_is_told_to_the_model(world: World) -> None:
    peer = world.peer(env={"CLAUDE_PROJECT_DIR": "/nowhere/at/all"})
    assert peer.failed("history")["kind"] == "workspaceRefused"
    peer = world.peer(env={"CLAUDE_PROJECT_DIR": str(world.machine.home)})
    assert peer.failed("history")["kind"] == "workspaceRefused"


def test_a_wrong_setting_is_told_to_the_model(world: World) -> None:
    peer = world.peer(env={"SNAPD_NONSENSE": "1"})
    error = peer.failed("history")
    assert error["kind"] == "invalidParams"
    assert "SNAPD_NONSENSE" in error["message"]


def test_codex_names_its_session_in_each_request(world: World) -> None:
    step = world.step("of-codex", a_txt="codex\n")
    world.step("of-another", b_txt="another\n")
    peer = world.peer(env={"CLAUDE_CODE_SESSION_ID": ""})
    meta = {"x-codex-turn-metadata": {"session_id": "of-codex", "turn_id": "t"}}
    plan = peer.result("tools/call", {"name": "undo", "arguments": {}, "_meta": meta})["structuredContent"]
    assert [each["stepId"] for each in plan["steps"]] == [step]
    for wrong in ({"x-codex-turn-metadata": "of-codex"}, {"x-codex-turn-metadata": {"session_id": 1}}):
        result = peer.result("tools/call", {"name": "diff", "arguments": {}, "_meta": wrong})
        assert "did not report its session" in result["structuredContent"]["error"]["message"]


# -- the daemon


@pytest.fixture
def own_machine() -> Iterator[Machine]:
    made = Machine()
    yield made
    made.finish()


@pytest.fixture
def alone(own_machine: Machine) -> Iterator[World]:
    """A folder whose daemon may be ended."""
    own_machine.serve_socket()
    with short_folder("sm-", {"a.txt": "one\n"}) as folder:
        made = World(own_machine, folder)
        yield made
        made.close()


def test_a_daemon_is_started_where_none_runs_and_again_after_it_was_stopped(own_machine: Machine) -> None:
    with short_folder("sm-", {"a.txt": "one\n"}) as folder:
        _, peer = start(own_machine, folder)
        assert not own_machine.socket.exists()
        peer.connect()
        peer.done("checkpoint", name="first")
        (folder / "a.txt").write_text("two\n")
        token = peer.done("restore_file", path="a.txt", snapshot="first")["token"]
        assert own_machine.run("stop").returncode == 0
        done = peer.done("restore_file", path="a.txt", snapshot="first", token=token)
        assert (done["status"], (folder / "a.txt").read_text()) == ("done", "one\n")
        peer.close()
        assert own_machine.run("stop").returncode == 0


def test_a_read_survives_the_end_of_the_daemon(alone: World) -> None:
    alone.step(a_txt="mine\n")
    peer = alone.peer()
    peer.done("history")
    daemon = alone.machine.processes[0]
    with alone.machine.held_up("look", alone.folder) as is_waiting:
        call = peer.begin("diff", step="last")
        wait_until(is_waiting, "the look")
        daemon.kill()
        alone.machine.exit_code(daemon)
    found = peer.checked(peer.answer(call))
    assert found["structuredContent"]["fileCount"] == 1
    assert alone.machine.run("stop").returncode == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_cancelling_ends_what_the_daemon_does(world: World, version: str) -> None:
    world.step(a_txt="mine\n")
    peer = world.peer(version)
    token = peer.done("undo")["token"]
    with world.machine.held_up("look", world.folder) as is_waiting:
        call = peer.begin("undo", token=token)
        wait_until(is_waiting, "the look")
        assert peer.result("ping" if version != "2026-07-28" else "tools/list") is not None
        peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}})
        # read by then
        peer.result("tools/list")
        # the daemon reads what comes in its order: it has heard of that once it answers another client
        with pytest.raises(SnapdError, match="no method"):
            world.client.request("no/suchMethod", {})
    # it comes after the other one in the daemon; the cancelled call is not answered
    assert peer.done("undo")["token"] == token
    assert world.text("a.txt") == "mine\n"


# -- the process


def test_nothing_but_the_protocol_is_on_standard_output(world: World) -> None:
    process, peer = world.start(MIDDLE, None, "-C", str(world.folder))
    peer.send_line(b"nonsense")
    answer = peer.read()
    assert answer is not None
    assert answer["error"]["code"] == -32700
    peer.connect()
    world.step(a_txt="mine\n")
    peer.done("history")
    shutil.rmtree(world.folder)
    peer.call("checkpoint", name="x")
    peer.hang_up()
    # `read` fails for whatever is no message
    assert peer.read() is None
    assert world.machine.exit_code(process) == 0


def test_a_client_that_dies_ends_the_process(world: World) -> None:
    process, peer = world.start()
    peer.connect()
    peer.close()
    assert world.machine.exit_code(process) == 0
