"""Clients that cancel, do not read, die, or come by the hundred; and what stands around a private daemon."""

from __future__ import annotations

import asyncio
import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import to_uri

from snapd.rpc.parent import ParentWatch
from tests.hazards.trees import tree_id
from tests.rpc.machine import PATIENCE, Raw, error_of, initialize, notification, request, wait_until

if TYPE_CHECKING:
    from tests.rpc.machine import Machine


def fill(folder: Path, files: int) -> None:
    """Files that have each to be looked at, and each to be restored."""
    for number in range(files):
        above = folder / f"d{number // 200}"
        if number % 200 == 0:
            above.mkdir()
        (above / f"{number:04}").write_bytes(b"%d" % number)


def connections(machine: Machine) -> int:
    """The connections that the machine's first process has open on Unix sockets, and all else that is one."""
    links = Path(f"/proc/{machine.processes[0].pid}/fd").iterdir()
    count = 0
    for link in links:
        try:
            count += os.readlink(link).startswith("socket:")
        except FileNotFoundError:
            continue
    return count


def cancel(message_id: int | str) -> bytes:
    return notification("$/cancelRequest", {"id": message_id})


@pytest.mark.hazard(64)
def test_cancel_before_the_work_begins_leaves_nothing(daemon: Machine, folder: Path) -> None:
    first, raw = daemon.raw().open(folder), daemon.raw().open(folder)
    with daemon.held_up("look", folder) as waits:
        first.send(request("first", "snapshot/track"))
        wait_until(waits, "the first snapshot")
        # behind the first one, they cannot begin before the cancel is read
        for number in range(10):
            raw.send(request(number, "snapshot/track") + cancel(number))
            assert error_of(raw.answer(number)) == (-32800, "requestCancelled")
        first.send(cancel("first"))
        # once this is refused, the daemon has read what was sent before
        assert error_of(first.ask("unknown", "snapshot/nothing"))[0] == -32601
    assert error_of(first.answer("first")) == (-32800, "requestCancelled")
    assert "lastHash" not in raw.result("snapshot/status")


@pytest.mark.hazard(64)
def test_cancel_at_any_moment_of_a_restore_does_all_of_it_or_nothing(daemon: Machine, folder: Path) -> None:
    fill(folder, 100)
    raw = daemon.raw().open(folder)
    trees = [raw.result("snapshot/track")["hash"]]
    for path in folder.glob("d*/*"):
        path.write_text("other\n")
    trees.append(raw.result("snapshot/track")["hash"])
    begun = time.monotonic()
    raw.result("snapshot/restore", {"hash": trees[0]})
    lasts = time.monotonic() - begun
    choose = random.Random(64)
    for _ in range(16):
        before = tree_id(folder)
        target = trees[before == trees[0]]
        raw.send(request("r", "snapshot/restore", {"hash": target}))
        # not a wait for something: a moment, anywhere in what the restore takes
        select.select([], [], [], choose.uniform(0, lasts))
        raw.send(cancel("r"))
        answer = raw.answer("r")
        done = "result" in answer
        if done:
            assert answer["result"]["applied"] is True
        else:
            assert error_of(answer) == (-32800, "requestCancelled")
        assert tree_id(folder) == (target if done else before)


@pytest.mark.hazard(64)
def test_cancel_after_the_first_file_was_moved_does_not_stop_a_restore(daemon: Machine, folder: Path) -> None:
    fill(folder, 400)
    raw = daemon.raw().open(folder)
    tree = raw.result("snapshot/track")["hash"]
    for path in folder.glob("d*/*"):
        path.write_text("other\n")
    raw.send(request("r", "snapshot/restore", {"hash": tree}))
    first = folder / "d0" / "0000"
    wait_until(lambda: first.read_bytes() == b"0", "the first file")
    raw.send(cancel("r"))
    assert raw.answer("r")["result"]["applied"] is True
    assert tree_id(folder) == tree


@pytest.mark.hazard(64)
def test_cancel_of_what_was_answered_or_never_asked_is_harmless(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    tree = raw.result("snapshot/track", message_id=1)["hash"]
    for params in ({"id": 1}, {"id": "1"}, {"id": None}, {"id": [1]}, {"id": 1e300}, {}, None, [], 5):
        raw.send(notification("$/cancelRequest", params))
    assert raw.result("snapshot/track", message_id=1)["hash"] == tree
    raw.half_close()
    assert raw.says_nothing_more()


@pytest.mark.hazard(66)
def test_client_that_never_reads_holds_up_nobody_and_the_daemon_does_not_grow(daemon: Machine, folder: Path) -> None:
    (folder / "large").write_bytes(b"x" * 2_000_000)
    process = daemon.processes[0].pid
    before = resident_bytes(process)
    deaf = daemon.raw().open(folder)
    tree = deaf.result("snapshot/track")["hash"]
    deaf.send(b"".join(request(number, "snapshot/fileAt", {"hash": tree, "file": "large"}) for number in range(120)))
    other = daemon.raw().open(folder)
    for number in range(10):
        (folder / "a.txt").write_text(f"{number}")
        other.result("snapshot/track")
        # 240 MB were asked for
        assert resident_bytes(process) - before < 120 << 20
    assert sorted(deaf.answer()["id"] for _ in range(120)) == list(range(120))
    # on a busy machine, the daemon may see a change before the request that tracks it
    assert [each["params"]["seq"] for each in deaf.others] == list(range(1, len(deaf.others) + 1))
    assert [each["method"] for each in deaf.others].count("snapshot/didTrack") == 11
    deaf.close()
    assert other.result("snapshot/status")["enabled"] is True


def resident_bytes(process: int) -> int:
    """What a process holds in memory."""
    with open(f"/proc/{process}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


TRACK = request(1, "snapshot/track")


def _in_a_header(raw: Raw, _: Path) -> None:
    raw.send(TRACK[:9])


def _in_a_body(raw: Raw, _: Path) -> None:
    raw.send(TRACK + TRACK[:-7])


def _before_the_answer(raw: Raw, _: Path) -> None:
    raw.send(b"".join(request(number, "snapshot/track") for number in range(20)))


def _in_a_step(raw: Raw, _: Path) -> None:
    raw.result("session/start", {"sessionId": "s"})
    raw.send(request(1, "step/begin", {"sessionId": "s"}))


def _in_an_answer(raw: Raw, folder: Path) -> None:
    (folder / "large").write_bytes(b"x" * 9_000_000)
    tree = raw.result("snapshot/track")["hash"]
    raw.send(request(1, "snapshot/fileAt", {"hash": tree, "file": "large"}))
    assert raw.read() is not None or raw.others


def _before_initialize(raw: Raw, _: Path) -> None:
    raw.send(initialize("/"))


@pytest.mark.hazard(67)
@pytest.mark.parametrize(
    "die", [_in_a_header, _in_a_body, _before_the_answer, _in_a_step, _in_an_answer, _before_initialize]
)
def test_client_that_dies_leaves_nothing_behind(daemon: Machine, folder: Path, other_folder: Path, die: Any) -> None:
    bystander = daemon.raw().open(other_folder)
    first = bystander.result("snapshot/track")["hash"]
    before = connections(daemon)
    for _ in range(5):
        raw = daemon.raw()
        if die is not _before_initialize:
            raw.open(folder)
        die(raw, folder)
        raw.close()
    assert bystander.result("snapshot/track")["hash"] == first
    # some of them, of tests before, may have gone meanwhile
    wait_until(lambda: connections(daemon) <= before, "the connections of the dead to go")
    again = daemon.raw().open(folder)
    assert again.result("snapshot/track")["hash"] == tree_id(folder)


@pytest.mark.hazard(67)
def test_client_that_dies_in_mid_notification_takes_nobody_along(daemon: Machine, folder: Path) -> None:
    fill(folder, 60)
    writer, listener = daemon.raw().open(folder), daemon.raw().open(folder)
    writer.result("snapshot/track")
    for number in range(20):
        # told as one notification of some kilobytes: the reader goes when it has a part of it
        dying = daemon.raw().open(folder)
        for path in folder.glob("d*/*"):
            path.write_text(f"{number}\n")
        writer.result("snapshot/track")
        os.read(dying.read_fd, 10)
        dying.close()
    last = writer.result("snapshot/status")["lastHash"]
    assert listener.until(lambda each: each["params"].get("hash") == last)
    assert last == tree_id(folder)


@pytest.mark.hazard(68)
def test_hundred_clients_are_all_served(daemon: Machine, folder: Path) -> None:
    clients = [daemon.raw() for _ in range(100)]
    for at, raw in enumerate(clients):
        raw.send(initialize(folder) + request(f"t{at}", "snapshot/track") + request("s", "snapshot/status"))
    wanted = tree_id(folder)
    for at, raw in enumerate(clients):
        answers = {answer["id"]: answer["result"] for answer in (raw.answer(), raw.answer(), raw.answer())}
        assert answers[f"t{at}"]["hash"] == wanted
        assert answers["s"]["workspaceUri"] == to_uri(str(folder))
    (folder / "a.txt").write_text("changed\n")
    last = clients[0].result("snapshot/track")["hash"]
    assert last == tree_id(folder)
    for raw in clients[1:]:
        told = raw.until(lambda each: each["method"] == "snapshot/didTrack" and each["params"]["hash"] == last)
        assert told["params"]["seq"] >= 101


LAUNCHER = """
import json, os, subprocess, sys
reading, writing = os.pipe()
command, uri = sys.argv[2:], sys.argv[1]
daemon = subprocess.Popen(command, stdin=reading, stdout=subprocess.PIPE)
# whoever this is, it has the pipe too: the end of input never comes
holder = subprocess.Popen(["sleep", "600"], pass_fds=[writing], stdout=subprocess.DEVNULL)
os.close(reading)
params = {"processId": os.getpid(), "rootUri": uri, "capabilities": {}}
body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode()
os.write(writing, b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
assert b"capabilities" in os.read(daemon.stdout.fileno(), 1 << 16)
print(daemon.pid, holder.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.hazard(69)
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfd_open of Linux 5.3")
def test_private_daemon_ends_with_its_parent_though_a_child_of_that_holds_the_pipe(
    machine: Machine, folder: Path
) -> None:
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, to_uri(str(folder)), *machine.command("serve", "--stdio")],
        env=machine.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    machine.processes.append(launcher)
    assert launcher.stdout is not None
    process, holder = map(int, launcher.stdout.readline().split())
    daemon = os.pidfd_open(process)
    try:
        assert not _has_ended(daemon, 0)
        launcher.kill()
        assert _has_ended(daemon, PATIENCE)
    finally:
        os.kill(holder, signal.SIGKILL)
        os.close(daemon)


def _has_ended(descriptor: int, within: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(within * 1000))


@pytest.mark.hazard(69)
async def test_process_id_of_another_namespace_ends_nothing() -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    stranger = await asyncio.create_subprocess_exec("true")
    await stranger.wait()
    watch = ParentWatch(loop, ended.set)
    for process in (stranger.pid, 2**22 + 5, 2**60, 1, 0, -1, os.getpid()):
        watch.watch(process)
    await asyncio.sleep(0)
    assert not ended.is_set()
    watch.watch(os.getppid())
    await asyncio.sleep(0)
    assert not ended.is_set()
    watch.close()


@pytest.mark.hazard(69)
def test_private_daemon_ends_with_its_input(machine: Machine, folder: Path) -> None:
    process, raw = machine.serve_stdio()
    raw.open(folder)
    raw.send(request(1, "snapshot/track"))
    raw.close()
    assert machine.exit_code(process) == 0


NOISE = """
import builtins, os, sys, threading

def later():
    while "snapd.rpc.connection" not in sys.modules:
        pass
    for _ in range(200):
        print("noise", flush=True)
        os.write(1, b"Content-Length: 2\\r\\n\\r\\n{}")
        os.system("echo noise of a child")

threading.Thread(target=later, daemon=True).start()
"""


@pytest.mark.hazard(70)
def test_what_anything_prints_never_reaches_the_protocol(machine: Machine, folder: Path) -> None:
    site = machine.root / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(NOISE)
    _, raw = machine.serve_stdio(env={"PYTHONPATH": str(site)})
    raw.open(folder)
    # every byte that comes is read as a frame here
    assert raw.result("snapshot/track")["hash"] == tree_id(folder)
    wait_until(lambda: machine.logged().count("noise of a child") == 200, "the noise")
    assert raw.result("snapshot/status")["enabled"] is True
    raw.half_close()
    assert raw.says_nothing_more()


@pytest.mark.hazard(71)
def test_git_variables_a_git_on_the_path_and_the_users_configuration_have_no_effect(
    daemon: Machine, folder: Path
) -> None:
    """That none of it ran, the traps tell: this daemon has them in its variables, on its path and in its home."""
    (folder / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    (folder / "ident.txt").write_bytes(b"$Id$\n")
    raw = daemon.raw().open(folder)
    tree = raw.result("snapshot/track")["hash"]
    assert tree == tree_id(folder)
    raw.result("session/start", {"sessionId": "s"})
    step = raw.result("step/begin", {"sessionId": "s"})["stepId"]
    (folder / "crlf.txt").write_bytes(b"one\r\nchanged\r\n")
    (folder / "nested" / "inner.txt").write_bytes(b"changed\r\n")
    raw.result("step/end", {"stepId": step})
    assert "changed" in raw.result("snapshot/diff", {"hash": tree})["diff"]
    raw.result("snapshot/diffFull", {"from": tree, "renames": True})
    raw.result("session/undo", {"sessionId": "s"})
    raw.result("snapshot/cleanup", {})
    assert tree_id(folder) == tree
    assert (folder / "crlf.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert raw.result("session/history")["entries"]
