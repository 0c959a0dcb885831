"""A workspace that is busy, or that takes long to open or to close, holds up nobody who works in another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .machine import error_of, initialize, notification, request, short_folder, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from .machine import Machine

CROWD = 64


def threads_of(process: int) -> int:
    """How many threads a process has."""
    with open(f"/proc/{process}/status") as file:
        return int(next(line for line in file if line.startswith("Threads:")).split()[1])


def test_a_crowd_that_waits_for_a_busy_folder(machine: Machine, folder: Path, other_folder: Path) -> None:
    process = machine.serve_socket()
    crowd = [machine.raw().open(folder) for _ in range(CROWD)]
    bystander = machine.raw().open(other_folder)
    bystander.result("snapshot/track")
    with machine.held_up("look", folder) as waits:
        crowd[0].send(request("first", "snapshot/track"))
        wait_until(waits, "the first track")
        alone = threads_of(process.pid)
        for raw in crowd:
            raw.send(b"".join(request(number, "snapshot/track") for number in range(8)))
        for number in range(20):
            (other_folder / "other.txt").write_text(f"{number}")
            assert bystander.result("snapshot/track")["hash"]
        # of those who wait, the next one alone has a thread; that of the bystander stays for a while
        assert threads_of(process.pid) <= alone + 3
    for raw in crowd:
        answers = [raw.answer()["id"] for _ in range(9 if raw is crowd[0] else 8)]
        assert [number for number in answers if number != "first"] == list(range(8))


def test_one_client_that_waits_for_a_thousand_answers_of_one_folder(
    daemon: Machine, folder: Path, other_folder: Path
) -> None:
    raw = daemon.raw().open(folder, other_folder)
    one, other = ({"workspaceUri": path.as_uri()} for path in (folder, other_folder))
    with daemon.held_up("look", folder) as waits:
        raw.send(b"".join(request(number, "snapshot/track", one) for number in range(1500)))
        wait_until(waits, "the first track")
        for number in range(2000, 2010):
            assert raw.ask(number, "snapshot/track", other)["id"] == number
        raw.send(b"".join(notification("$/cancelRequest", {"id": number}) for number in range(1, 1500)))
        assert {error_of(raw.answer())[0] for _ in range(1, 1500)} == {-32800}
    assert raw.answer(0)["result"]["hash"]


def test_reads_do_not_wait_for_somebody_else_who_writes(daemon: Machine, folder: Path) -> None:
    writer, reader = (daemon.raw().open(folder) for _ in range(2))
    tree = reader.result("snapshot/track")["hash"]
    with daemon.held_up("look", folder) as waits:
        writer.send(request(1, "snapshot/track"))
        wait_until(waits, "the track")
        assert reader.result("snapshot/fileAt", {"hash": tree, "file": "a.txt"})["content"] == "one\n"
        assert reader.result("snapshot/diff", {"hash": tree, "to": tree})["diff"] == ""
        assert reader.result("session/list")["sessions"] == []
        assert reader.result("snapshot/status")["lastHash"] == tree


def test_a_folder_that_is_slow_to_open_holds_up_no_other(daemon: Machine, folder: Path, other_folder: Path) -> None:
    bystander = daemon.raw().open(other_folder)
    crowd = [daemon.raw() for _ in range(CROWD)]
    with daemon.held_up("open", folder) as waits:
        for raw in crowd:
            raw.send(initialize(folder) + request(1, "snapshot/status"))
        wait_until(waits, "the folder to be opened")
        with short_folder("sx-", {"x": "x"}) as third:
            late = daemon.raw().open(third)
            assert late.result("snapshot/track")["hash"]
            late.close()
        assert bystander.result("snapshot/track")["hash"]
        bystander.close()
        assert daemon.raw().open(other_folder).result("snapshot/status")["enabled"] is True
    for raw in crowd:
        assert {raw.answer()["id"], raw.answer()["id"]} == {0, 1}


def test_a_folder_that_is_slow_to_close_holds_up_no_other(daemon: Machine, folder: Path, other_folder: Path) -> None:
    raw = daemon.raw().open(folder)
    raw.result("snapshot/track")
    with daemon.held_up("close", folder) as waits:
        # another folder took its place: whoever opens it next has the old one closed
        folder.rename(folder.with_name(folder.name + "-old"))
        folder.mkdir()
        (folder / "new").write_text("new")
        late = daemon.raw()
        late.send(initialize(folder) + request(1, "snapshot/track"))
        wait_until(waits, "the old folder to be closed")
        bystander = daemon.raw().open(other_folder)
        assert bystander.result("snapshot/track")["hash"]
        bystander.close()
        assert error_of(raw.ask(2, "snapshot/track"))[1] == "workspaceGone"
    late.answer(0)
    tree = late.answer(1)["result"]["hash"]
    assert late.result("snapshot/listFiles", {"hash": tree})["files"] == ["new"]
    for left in folder.with_name(folder.name + "-old").rglob("*.txt"):
        left.unlink()


def test_one_who_leaves_steps_in_a_busy_folder_holds_up_no_other(
    daemon: Machine, folder: Path, other_folder: Path
) -> None:
    owner = daemon.raw().open(folder)
    agents = [daemon.raw().open(folder) for _ in range(40)]
    for raw in agents:
        raw.result("session/start", {"sessionId": "s"})
        raw.result("step/begin", {"sessionId": "s"})
    with daemon.held_up("look", folder) as waits:
        owner.send(request(1, "snapshot/track"))
        wait_until(waits, "the track")
        for raw in agents:
            raw.close()
        bystander = daemon.raw().open(other_folder)
        assert bystander.result("snapshot/track")["hash"]
    owner.answer(1)
