"""Two daemons on one store, stores that go, watchers that fail, and workspaces that move."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.hazards.trees import tree_id
from tests.rpc.machine import Raw, error_of, tree_of, wait_until
from tests.support.published import until_all_published

if TYPE_CHECKING:
    from tests.rpc.machine import Machine


@pytest.mark.hazard(46)
def test_second_daemon_on_a_store_is_told_who_owns_it_and_takes_over_when_that_is_killed(
    machine: Machine, folder: Path
) -> None:
    owner = machine.serve_socket()
    raw = machine.raw().open(folder)
    tree = raw.result("snapshot/track")["hash"]
    _, second = machine.serve_stdio()
    second.open(folder)
    until_all_published(machine.data)
    stores = tree_of(machine.data)
    before = tree_of(folder)
    for method, params in {
        "snapshot/track": {},
        "snapshot/restore": {"hash": tree},
        "snapshot/cleanup": {"olderThanDays": 0},
        "session/start": {},
        "snapshot/status": {},
    }.items():
        answer = second.ask(1, method, params)
        assert error_of(answer) == (1006, "storeLocked"), method
        assert answer["error"]["data"]["socket"] == str(machine.socket)
    assert tree_of(machine.data) == stores
    assert tree_of(folder) == before
    # it is no age that tells, but that the lock is held no more
    owner.kill()
    owner.wait()
    (folder / "a.txt").write_text("changed\n")
    assert second.result("snapshot/restore", {"hash": tree})["applied"] is True
    assert tree_id(folder) == tree


@pytest.mark.hazard(46)
def test_daemons_that_start_together_on_one_socket_become_one(machine: Machine, folder: Path) -> None:
    started = [machine.start("serve", stdin=subprocess.DEVNULL) for _ in range(3)]
    wait_until(lambda: sum(process.poll() is not None for process in started) == 2, "two of them to give up")
    assert sorted(str(process.poll()) for process in started) == ["1", "1", "None"]
    wait_until(machine.socket.exists, "the socket")
    assert machine.raw().open(folder).result("snapshot/track")["hash"] == tree_id(folder)


@pytest.mark.hazard(52)
@pytest.mark.parametrize("how", ["deleted", "emptied", "replaced by an empty one"])
def test_store_that_another_process_takes_away_is_an_error_and_no_deletion(
    daemon: Machine, folder: Path, how: str
) -> None:
    raw = daemon.raw().open(folder)
    tree = raw.result("snapshot/track")["hash"]
    raw.result("session/start", {"sessionId": "s"})
    step = raw.result("step/begin", {"sessionId": "s"})["stepId"]
    (folder / "new.txt").write_text("new\n")
    raw.result("step/end", {"stepId": step})
    store = Path(raw.result("snapshot/status")["store"]["path"])
    if how == "emptied":
        for inside in store.iterdir():
            shutil.rmtree(inside) if inside.is_dir() else inside.unlink()
    else:
        shutil.rmtree(store)
        if how != "deleted":
            store.mkdir(mode=0o700)
    before = tree_of(folder)
    for method, params in {
        "snapshot/restore": {"hash": tree},
        "snapshot/revert": {"patches": [{"hash": tree, "files": ["a.txt", "new.txt"]}]},
        "session/undo": {"sessionId": "s"},
        "snapshot/track": {},
        "snapshot/patch": {"hash": tree},
    }.items():
        answer = raw.ask(1, method, params)
        assert error_of(answer) == (1007, "storeCorrupt"), (method, answer)
        assert tree_of(folder) == before, method
    # as long as somebody has it open, nobody is given another in its place
    assert error_of(daemon.raw().open(folder).ask(1, "snapshot/track", {})) == (1007, "storeCorrupt")


@pytest.mark.hazard(52)
def test_store_that_was_taken_away_is_begun_anew_by_who_opens_the_folder_next(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    raw.result("snapshot/track")
    shutil.rmtree(raw.result("snapshot/status")["store"]["path"])
    raw.close()
    before = tree_of(folder)

    def tracked() -> bool:
        again = daemon.raw().open(folder)
        answer = again.ask(1, "snapshot/track", {})
        again.close()
        return answer.get("result", {}).get("hash") == tree_id(folder)

    wait_until(tracked, "the one who had it open to have left")
    assert tree_of(folder) == before


@pytest.mark.hazard(53)
def test_watcher_that_overflows_makes_the_next_snapshot_look_at_everything(machine: Machine, folder: Path) -> None:
    process = machine.serve_socket()
    raw = machine.raw().open(folder)
    assert raw.result("snapshot/track")["hash"] == tree_id(folder)
    if raw.result("snapshot/status")["watcher"] != "inotify":
        pytest.skip("nothing here tells of each change: there is nothing to overflow")
    with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as file:
        most = int(file.read())
    one, other = folder / "a.txt", folder / "sub" / "b.txt"
    process.send_signal(signal.SIGSTOP)
    # in turns: events that repeat the one before are not queued
    for number in range(most // 2 + 100):
        os.chmod(one, 0o644 if number % 2 else 0o600)
        os.chmod(other, 0o644 if number % 2 else 0o600)
    # nobody is told of these any more
    (folder / "late.txt").write_text("late\n")
    (folder / "sub" / "deep" / "er").mkdir(parents=True)
    (folder / "sub" / "deep" / "er" / "x").write_text("x\n")
    (folder / "nested" / "inner.txt").unlink()
    process.send_signal(signal.SIGCONT)
    assert raw.result("snapshot/track")["hash"] == tree_id(folder)
    (folder / "sub" / "deep" / "er" / "x").write_text("y\n")
    assert raw.result("snapshot/track")["hash"] == tree_id(folder)


@pytest.mark.hazard(54)
def test_watch_limit_is_told_and_costs_no_change(machine: Machine, folder: Path) -> None:
    for number in range(30):
        (folder / f"d{number}").mkdir()
        (folder / f"d{number}" / "x").write_text("x\n")
    within = ("unshare", "--user", "--map-root-user", "sh", "-c")
    script = 'echo 10 > /proc/sys/user/max_inotify_watches && exec "$@"'
    if subprocess.run([*within, script, "sh", "true"], capture_output=True, check=False).returncode:
        pytest.skip("a user namespace with a limit of its own cannot be made here")
    process = machine.start("serve", within=(*within, script, "sh"), stdin=subprocess.DEVNULL)
    machine.wait_for(process, machine.socket)
    raw = machine.raw().open(folder)
    # the watches are used up in the middle of the first look, and the second one says so
    for _ in range(2):
        assert raw.result("snapshot/track")["hash"] == tree_id(folder)
    status = raw.result("snapshot/status")
    assert status["watcher"] != "inotify"
    assert "max_user_watches" in status["watcherReason"]
    assert "max_user_watches" in status["fullLook"]["reason"]
    for number in range(30):
        (folder / f"d{number}" / "x").write_text("y\n")
        assert raw.result("snapshot/track")["hash"] == tree_id(folder)


@pytest.mark.hazard(55)
def test_files_made_together_with_their_directories_are_found(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    raw.result("snapshot/track")
    for number in range(15):
        deep = folder / "new" / str(number) / "a" / "b" / "c"
        os.makedirs(deep)
        (deep / "x").write_text(f"{number}\n")
        (deep.parent / "y").write_text(f"{number}\n")
        assert raw.result("snapshot/track")["hash"] == tree_id(folder)


@pytest.mark.hazard(56)
def test_rename_storms_and_directories_moved_in_and_out_are_exact(
    daemon: Machine, folder: Path, other_folder: Path
) -> None:
    for number in range(8):
        (folder / f"d{number}" / "in").mkdir(parents=True)
        (folder / f"d{number}" / "in" / "x").write_text(f"{number}\n")
    raw = daemon.raw().open(folder)
    raw.result("snapshot/track")
    for round_ in range(8):
        for number in range(8):
            # around in a circle: a directory comes to stand where another one was just looked at
            (folder / f"d{number}").rename(folder / "aside")
            (folder / f"d{(number + 3) % 8}").rename(folder / f"d{number}")
            (folder / "aside").rename(folder / f"d{(number + 3) % 8}")
        outside = other_folder / f"out{round_}"
        (folder / f"d{round_ % 8}").rename(outside)
        (outside / "in" / "x").write_text("changed outside\n")
        if round_ % 2:
            outside.rename(folder / f"d{round_ % 8}")
            (folder / f"d{round_ % 8}" / "in" / "y").write_text(f"{round_}\n")
        else:
            shutil.copytree(outside, folder / f"d{round_ % 8}")
        assert raw.result("snapshot/track")["hash"] == tree_id(folder)
    # what was moved out is watched no more
    (other_folder / "out0" / "in" / "x").write_text("not ours\n")
    assert raw.result("snapshot/track")["hash"] == tree_id(folder)


def refused_as_gone(raw: Raw, tree: str) -> None:
    for method, params in {
        "snapshot/track": {},
        "snapshot/restore": {"hash": tree},
        "snapshot/revert": {"patches": [{"hash": tree, "files": ["a.txt"]}]},
        "session/undo": {"sessionId": "s"},
        "snapshot/patch": {"hash": tree},
        "snapshot/status": {},
    }.items():
        assert error_of(raw.ask(1, method, params)) == (1004, "workspaceGone"), method


@pytest.mark.hazard(57)
def test_workspace_that_is_moved_replaced_or_deleted_is_an_error_and_no_deletion(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    raw.result("session/start", {"sessionId": "s"})
    step = raw.result("step/begin", {"sessionId": "s"})["stepId"]
    (folder / "a.txt").write_text("changed\n")
    tree = raw.result("step/end", {"stepId": step})["to"]
    moved = folder.with_name(folder.name + "-moved")
    folder.rename(moved)
    try:
        before = tree_of(moved)
        refused_as_gone(raw, tree)
        assert not folder.exists()
        folder.mkdir()
        (folder / "theirs.txt").write_text("theirs\n")
        refused_as_gone(raw, tree)
        assert os.listdir(folder) == ["theirs.txt"]
        shutil.rmtree(folder)
        assert tree_of(moved) == before
    finally:
        moved.rename(folder)
    # nothing was recorded meanwhile: it is as it was left
    entries = raw.result("session/history")["entries"]
    assert [entry["kind"] for entry in entries] == ["step"]
    assert raw.result("snapshot/patch", {"hash": tree})["files"] == []
    assert raw.result("session/undo", {"sessionId": "s"})["applied"] is True
    assert (folder / "a.txt").read_text() == "one\n"


@pytest.mark.hazard(57)
def test_workspace_deleted_while_open_keeps_its_snapshots(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    raw.result("session/start", {"sessionId": "s"})
    step = raw.result("step/begin", {"sessionId": "s"})["stepId"]
    (folder / "a.txt").write_text("changed\n")
    tree = raw.result("step/end", {"stepId": step})["to"]
    shutil.rmtree(folder)
    refused_as_gone(raw, tree)
    raw.close()
    folder.mkdir()
    again = daemon.raw().open(folder)
    assert again.result("snapshot/restore", {"hash": tree})["applied"] is True
    assert tree_id(folder) == tree
