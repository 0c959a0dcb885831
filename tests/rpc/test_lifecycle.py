"""From `initialize` to the end of the process."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING

import pytest
from snapd_client import SnapdError

from snapd.wire.methods import METHODS, NOTIFICATIONS

from .machine import error_of, initialize, notification, request, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from .machine import Machine


def test_initialize_tells_what_there_is(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw()
    raw.send(initialize(folder))
    result = raw.answer(0)["result"]
    assert result["serverInfo"]["name"] == "snapd"
    assert result["capabilities"]["experimental"]["snapshot"] == {
        "protocolVersion": 1,
        "methods": sorted(METHODS),
        "notifications": sorted(NOTIFICATIONS),
    }
    assert result["capabilities"]["workspace"]["workspaceFolders"] == {"supported": True, "changeNotifications": True}


def test_root_uri_is_taken_where_there_are_no_workspace_folders(
    daemon: Machine, folder: Path, other_folder: Path
) -> None:
    for folders in (None, []):
        raw = daemon.raw()
        raw.result("initialize", {"rootUri": folder.as_uri(), "workspaceFolders": folders})
        assert raw.result("snapshot/status")["workspaceUri"] == folder.as_uri()
    raw = daemon.raw()
    folders = [{"uri": other_folder.as_uri(), "name": "o"}]
    raw.result("initialize", {"rootUri": folder.as_uri(), "workspaceFolders": folders})
    assert raw.result("snapshot/status")["workspaceUri"] == other_folder.as_uri()


def test_exit_of_one_client_is_no_end_for_others(daemon: Machine, folder: Path) -> None:
    bystander = daemon.raw().open(folder)
    raw = daemon.raw()
    raw.send(notification("exit"))
    assert raw.says_nothing_more()
    assert bystander.result("snapshot/status")["enabled"] is True


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([request(1, "shutdown"), notification("exit")], 0),
        ([notification("exit")], 1),
        ([request(1, "shutdown")], 0),
        ([], 0),
    ],
    ids=["shutdown and exit", "exit", "shutdown and the end of input", "the end of input"],
)
def test_exit_codes(machine: Machine, folder: Path, words: list[bytes], code: int) -> None:
    process, raw = machine.serve_stdio()
    raw.open(folder)
    raw.send(b"".join(words))
    if not words or b"exit" not in words[-1]:
        raw.half_close()
    assert machine.exit_code(process) == code


def test_pending_requests_are_answered_at_the_end_of_input(machine: Machine, folder: Path) -> None:
    process, raw = machine.serve_stdio()
    raw.send(initialize(folder) + b"".join(request(number, "snapshot/track") for number in range(1, 21)))
    raw.half_close()
    answers = [raw.answer() for _ in range(21)]
    assert sorted(answer["id"] for answer in answers) == list(range(21))
    assert all("result" in answer for answer in answers)
    assert raw.says_nothing_more()
    assert machine.exit_code(process) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_a_private_daemon_in_order(machine: Machine, folder: Path, number: int) -> None:
    process, raw = machine.serve_stdio()
    raw.open(folder)
    process.send_signal(number)
    assert raw.says_nothing_more()
    assert machine.exit_code(process) == 0


def test_signal_ends_the_daemon_in_order(machine: Machine, folder: Path) -> None:
    process = machine.serve_socket()
    raw = machine.raw().open(folder)
    process.send_signal(signal.SIGTERM)
    assert raw.says_nothing_more()
    assert machine.exit_code(process) == 0
    assert not machine.socket.exists()
    assert machine.run("track", "--no-daemon", "-C", str(folder)).returncode == 0


def test_signal_ends_the_daemon_though_a_client_does_not_read(machine: Machine, folder: Path) -> None:
    (folder / "large").write_bytes(b"x" * 3_000_000)
    process = machine.serve_socket()
    raw = machine.raw().open(folder)
    tree = raw.result("snapshot/track")["hash"]
    raw.send(b"".join(request(number, "snapshot/fileAt", {"hash": tree, "file": "large"}) for number in range(20)))
    assert machine.raw().open(folder).result("snapshot/status")["files"] == 3
    process.send_signal(signal.SIGTERM)
    assert machine.exit_code(process) == 0


def test_signal_in_the_middle_of_a_restore_leaves_the_rest_to_the_next_daemon(machine: Machine, folder: Path) -> None:
    files = [folder / f"many-{at}" for at in range(3000)]
    for file in files:
        file.write_bytes(b"one")
    process = machine.serve_socket()
    raw = machine.raw().open(folder)
    tree = raw.result("snapshot/track")["hash"]
    for file in files:
        file.write_bytes(b"two")
    raw.result("snapshot/track")
    raw.send(request(5, "snapshot/restore", {"hash": tree}))
    wait_until(lambda: any(file.read_bytes() == b"one" for file in files), "the first file is back")
    process.send_signal(signal.SIGTERM)
    answer = raw.answer(5)
    # it was nearly done, or is not done yet: it is told which
    assert "result" in answer or (error_of(answer) == (1011, "ioError") and answer["error"]["data"]["errno"] == "EINTR")
    assert machine.exit_code(process) == 0
    assert not list(folder.glob(".snapd-*"))
    machine.serve_socket()
    assert machine.raw().open(folder).result("snapshot/track")["hash"] == tree
    assert {file.read_bytes() for file in files} == {b"one"}


def test_standard_input_and_output_may_be_files(machine: Machine, folder: Path) -> None:
    source, target = machine.root / "in", machine.root / "out"
    source.write_bytes(initialize(folder) + request(1, "snapshot/track") + request(2, "shutdown"))
    with source.open("rb") as stdin, target.open("wb") as stdout:
        process = machine.start("serve", "--stdio", stdin=stdin, stdout=stdout)
    assert machine.exit_code(process) == 0
    said = target.read_bytes()
    assert said.count(b"Content-Length") >= 3
    for number in (0, 1, 2):
        assert f'"id":{number},"result"'.encode() in said


def test_standard_input_may_be_the_null_device(machine: Machine) -> None:
    process = machine.start("serve", "--stdio", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    assert machine.exit_code(process) == 0


def test_standard_output_that_takes_nothing_ends_the_daemon(machine: Machine, folder: Path) -> None:
    (folder / "large").write_bytes(b"x" * 1_000_000)
    source = machine.root / "in"
    frames = b"".join(request(number, "snapshot/listFiles", {"hash": "0" * 40}) for number in range(1, 2000))
    source.write_bytes(initialize(folder) + frames)
    with source.open("rb") as stdin, open("/dev/full", "wb") as stdout:
        process = machine.start("serve", "--stdio", stdin=stdin, stdout=stdout)
    assert machine.exit_code(process) == 0


def test_idle_exit(machine: Machine, folder: Path) -> None:
    process = machine.serve_socket("--idle-exit", "0.5")
    raw = machine.raw().open(folder)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.8)
    raw.close()
    assert machine.exit_code(process) == 0
    assert not machine.socket.exists()


def test_second_daemon_on_a_socket_is_refused(machine: Machine) -> None:
    machine.serve_socket()
    second = machine.run("serve")
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr.splitlines() == [
        f"snapd: a daemon already serves {machine.socket}",
        "hint: 'snapd stop' ends it",
    ]
    assert machine.raw().open()


def test_stop_and_serve_again_at_once(machine: Machine, folder: Path) -> None:
    machine.serve_socket()
    for _ in range(3):
        assert machine.run("stop").returncode == 0
        machine.serve_socket()
        assert machine.raw().open(folder).result("snapshot/status")["enabled"] is True


def test_socket_path_that_is_too_long_is_refused(machine: Machine) -> None:
    done = machine.run("serve", "--socket", "/tmp/" + "x" * 200)
    assert done.returncode == 1
    assert "is too long" in done.stderr


def test_a_client_can_join_those_who_have_a_folder_open(daemon: Machine, folder: Path) -> None:
    joining = {"onlyOpen": True}
    early = daemon.client(folder, options=joining)
    with pytest.raises(SnapdError, match="is not open") as refused:
        early.status()
    assert (refused.value.kind, refused.value.data["hint"]) == (
        "workspaceNotOpen",
        "'snapd status' in that folder opens it",
    )
    hash_ = daemon.client(folder).track()["hash"]
    # a folder that was refused is tried again
    for client in (early, daemon.client(folder, options=joining)):
        assert client.status()["lastHash"] == hash_
    answer = daemon.raw().ask(1, "initialize", {"initializationOptions": {"onlyOpen": 1}})
    assert answer["error"]["message"].startswith("initializationOptions.onlyOpen: expected true or false")


def test_a_folder_can_stand_for_the_one_around_it(daemon: Machine, folder: Path, tmp_path: Path) -> None:
    below = folder / "src" / "app"
    below.mkdir(parents=True)
    (folder / "src" / "a.txt").write_text("a\n")
    link = tmp_path / "link"
    link.symlink_to(below)
    around = {"workspaceUri": folder.as_uri(), "within": "src/app"}
    daemon.raw().open(folder).result("snapshot/track")
    for named in (below, link):
        raw = daemon.raw().open(named, options={"findRoot": True})
        status = raw.result("snapshot/status", {"workspaceUri": named.as_uri()})
        assert {name: status.get(name) for name in around} == around
        assert status["lastHash"] == raw.result("snapshot/track")["hash"]
    raw = daemon.raw().open(folder, options={"findRoot": True})
    status = raw.result("snapshot/status")
    assert (status["workspaceUri"], "within" in status) == (folder.as_uri(), False)
    for options in ({"findRoot": False}, {}):
        raw = daemon.raw().open(below, options=options)
        assert raw.result("snapshot/status")["workspaceUri"] == below.as_uri()
    answer = daemon.raw().ask(1, "initialize", {"initializationOptions": {"findRoot": "yes"}})
    assert error_of(answer)[1] == "invalidParams"
    assert answer["error"]["message"].startswith("initializationOptions.findRoot: expected true or false")
