"""Several at once: requests of one client, clients of one daemon, daemons that start."""

from __future__ import annotations

import os
import shutil
import threading
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import Client

from .machine import PATIENCE, Raw, error_of, initialize, messages, notification, request, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from .machine import Machine

pytestmark = pytest.mark.slow


def fill(folder: Path, files: int = 60_000) -> None:
    """Makes a folder whose first snapshot takes long: every file has its own price, however small."""
    for number in range(files):
        if number % 200 == 0:
            above = folder / f"d{number // 200}"
            above.mkdir()
        (above / str(number)).write_bytes(b"%d" % number)


def begun(message: dict[str, Any]) -> bool:
    """Whether a message says that a request takes long."""
    return message["method"] == "$/progress" and message["params"]["value"]["kind"] == "begin"


def test_long_track(machine: Machine, folder: Path) -> None:
    """Progress, requests beside it, a cancel of it, and that nothing of it is left behind."""
    machine.serve_socket()
    fill(folder)
    raw = machine.raw().open(folder)
    other = machine.raw().open(folder)
    raw.send(request("long", "snapshot/track", {"workDoneToken": "t"}))
    begin = raw.until(begun)["params"]
    assert begin["token"] == "t"
    assert begin["value"]["title"] == "snapshot/track"
    # of another client: answered while the first one's request runs
    assert other.result("snapshot/status")["files"] == 0
    other.send(request("waits", "snapshot/track") + notification("$/cancelRequest", {"id": "waits"}))
    assert error_of(other.answer("waits"))[0] == -32800
    raw.send(notification("$/cancelRequest", {"id": "long"}))
    assert error_of(raw.answer("long")) == (-32800, "requestCancelled")
    values = [each["value"]["kind"] for each in messages(raw.others, "$/progress")]
    assert values == ["report"] * (len(values) - 1) + ["end"]
    assert not messages(raw.others, "snapshot/didTrack")
    assert "lastHash" not in raw.result("snapshot/status")

    for above in folder.glob("d*"):
        if above.name != "d0" and above.is_dir():
            shutil.rmtree(above)
    raw.others.clear()
    raw.send(request("again", "snapshot/track", {"workDoneToken": 5}))
    again = raw.answer("again")["result"]
    progress = [each for each in messages(raw.others, "$/progress") if each["token"] == 5]
    if progress:
        kinds = [each["value"]["kind"] for each in progress]
        assert kinds == ["begin"] + ["report"] * (len(kinds) - 2) + ["end"]
        shares = [each["value"]["percentage"] for each in progress if "percentage" in each["value"]]
        assert shares == sorted(shares)
    assert raw.result("snapshot/status")["files"] == 200 + 2
    raw.close()
    other.close()

    _, fresh = machine.serve_stdio()
    fresh.open(folder, options={"dataDir": str(machine.root / "elsewhere")})
    assert fresh.result("snapshot/track")["hash"] == again["hash"]


def test_long_export(daemon: Machine, folder: Path, other_folder: Path) -> None:
    """It reports progress, lets others write meanwhile, and leaves nothing if it is cancelled."""
    fill(folder, 40_000)
    raw, other = daemon.raw().open(folder), daemon.raw().open(folder)
    tree = raw.result("snapshot/track")["hash"]
    out = other_folder / "out"
    raw.send(request("long", "snapshot/export", {"hash": tree, "directory": str(out), "workDoneToken": "t"}))
    assert raw.until(begun)["params"]["value"]["title"] == "snapshot/export"
    wait_until(out.is_dir, "the folder")
    (folder / "a.txt").write_text("changed meanwhile\n")
    assert other.result("snapshot/track")["hash"] != tree
    raw.send(notification("$/cancelRequest", {"id": "long"}))
    assert error_of(raw.answer("long")) == (-32800, "requestCancelled")
    assert not out.exists()


def test_shutdown_of_the_daemon_while_a_track_runs(machine: Machine, folder: Path) -> None:
    process = machine.serve_socket()
    fill(folder)
    raw = machine.raw().open(folder)
    raw.send(request("long", "snapshot/track", {"workDoneToken": "t"}))
    raw.until(begun)
    process.terminate()
    assert error_of(raw.answer("long"))[0] == -32800
    assert raw.says_nothing_more()
    assert machine.exit_code(process) == 0


def test_requests_that_wait_for_their_turn_are_cancelled_at_once(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    with daemon.held_up("look", folder) as waits:
        raw.send(request(0, "snapshot/track"))
        wait_until(waits, "the snapshot")
        raw.send(b"".join(request(number, "snapshot/track") for number in range(1, 40)))
        # the first ones have begun and wait for the long one; those that have not even begun need not wait for them
        for cancelled in (range(8, 40), range(1, 8)):
            raw.send(b"".join(notification("$/cancelRequest", {"id": number}) for number in cancelled))
            answers = [raw.answer() for _ in cancelled]
            assert {error_of(answer)[0] for answer in answers} == {-32800}
            assert sorted(answer["id"] for answer in answers) == list(cancelled)
        raw.send(notification("$/cancelRequest", {"id": 0}))
        # once this is refused, the daemon has read what was sent before
        assert error_of(raw.ask(99, "snapshot/nothing"))[0] == -32601
    assert error_of(raw.answer(0))[0] == -32800


def test_client_that_waits_for_all_workers_holds_up_nobody(daemon: Machine, folder: Path, other_folder: Path) -> None:
    crowd = [daemon.raw().open(folder) for _ in range(5)]
    with daemon.held_up("look", folder) as waits:
        for raw in crowd:
            raw.send(b"".join(request(number, "snapshot/track") for number in range(20)))
        wait_until(waits, "the snapshot")
        bystander = daemon.raw().open(other_folder)
        assert bystander.result("snapshot/status")["enabled"] is True
        assert daemon.raw().open(folder).result("snapshot/status")["enabled"] is True


def test_notifications_reach_whoever_was_answered_initialize(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    for number in range(1, 20):
        late = daemon.raw().open(folder)
        raw.result("snapshot/track")
        assert late.until(lambda each: bool(each["params"]["hash"]))["params"]["seq"] == number
        late.close()


def test_ten_connects_at_once_start_one_daemon(machine: Machine, folder: Path) -> None:
    bridges = [machine.piped("connect", "--stdio") for _ in range(10)]
    for _, raw in bridges:
        raw.send(initialize(folder) + request(1, "snapshot/track"))
    trees = {raw.answer(0)["id"] or raw.answer(1)["result"]["hash"] for _, raw in bridges}
    assert len(trees) == 1
    owners = list(machine.data.rglob("owner.json"))
    assert len(owners) == 1
    number = int((machine.runtime / "daemon.sock.pid").read_text())
    assert f'"pid": {number},' in owners[0].read_text()
    for process, raw in bridges[:5]:
        raw.half_close()
        assert machine.exit_code(process) == 0
    assert machine.run("stop").returncode == 0
    for process, raw in bridges[5:]:
        assert raw.says_nothing_more()
        assert machine.exit_code(process) == 0
    assert not machine.socket.exists()


def test_connect_when_the_daemon_is_killed(machine: Machine, folder: Path) -> None:
    daemon = machine.serve_socket()
    process, raw = machine.piped("connect")
    raw.open(folder)
    os.kill(daemon.pid, 19)
    raw.send(request(1, "snapshot/status"))
    daemon.kill()
    assert raw.says_nothing_more()
    assert machine.exit_code(process) in (0, 4)
    machine.check_log()


def test_connect_passes_large_messages_and_the_end_of_input(machine: Machine, folder: Path) -> None:
    (folder / "large").write_bytes(b"x" * 10_000_000)
    command = machine.command("connect")
    with Client.spawn(command, env=machine.environment(), timeout=PATIENCE) as client:
        client.initialize([str(folder)])
        tree = client.track()["hash"]
        assert tree is not None
        assert len(client.file_at(tree, "large")["content"]) == 10_000_000
        assert client.file_exists(tree, "x" * 3_000_000)["exists"] is False


def test_connect_says_why_a_daemon_does_not_start(machine: Machine) -> None:
    file = machine.config / "snapd" / "config.toml"
    file.parent.mkdir()
    file.write_text("colour = 1\n")
    done = machine.run("connect")
    assert done.returncode == 4
    assert str(file) in done.stderr
    assert "colour" in done.stderr


def test_seq_is_the_same_for_every_client(daemon: Machine, folder: Path) -> None:
    raws = [daemon.raw().open(folder) for _ in range(2)]
    trackers = [threading.Thread(target=_track_often, args=(raw,)) for raw in raws]
    for thread in trackers:
        thread.start()
    for thread in trackers:
        thread.join(PATIENCE)
    wait_until(lambda: not any(thread.is_alive() for thread in trackers), "the trackers")
    total = 20
    seen = []
    for raw in raws:
        while len(messages(raw.others, "snapshot/didTrack")) < total:
            message = raw.read()
            assert message is not None
            raw.others.append(message)
        seen.append([(each["seq"], each["hash"]) for each in messages(raw.others, "snapshot/didTrack")])
    assert seen[0] == seen[1]
    assert [seq for seq, _ in seen[0]] == list(range(1, total + 1))


def _track_often(raw: Raw) -> None:
    for _ in range(10):
        raw.result("snapshot/track")
