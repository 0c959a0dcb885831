"""Remotes that are full, read-only, shallow, empty, or none at all: told, nothing half done, and tried again."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.errors import Cancelled, RemoteFailed, StorageFull
from snapd.store.timeline.chain import chain_of_session
from tests.hazards.mounts import mounted, needs_root
from tests.support.git import run_git
from tests.support.processes import own_children
from tests.support.sessions import Agents, text
from tests.support.workspace import write

from .listening import Listener
from .servers import Kind, Served
from .sharing import fetch, push, steps

LARGE = os.urandom(600_000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder with room for half a megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    with mounted(folder, "-t", "tmpfs", "-o", "size=512k", "small") as mount:
        yield mount


def failed(asked: Callable[[], object]) -> RemoteFailed:
    with pytest.raises(RemoteFailed) as caught:
        asked()
    return caught.value


@needs_root
def test_a_full_remote(small_disk: Path, machine: Callable[[str, str], Agents]) -> None:
    remote = small_disk / "shared.git"
    remote.mkdir()
    run_git(remote, "init", "--quiet", "--bare", "--template=", ".")
    here = machine("here", "")
    here.start("two")
    here.step("two", {"c.txt": b"c\n"})
    push(here, str(remote), "one")
    had = run_git(remote, "for-each-ref")
    here.step("one", {"large.bin": LARGE})
    error = failed(lambda: push(here, str(remote)))
    assert error.data["reason"] == "refused"
    assert "space" in error.message
    assert run_git(remote, "for-each-ref") == had
    assert run_git(remote, "fsck", "--strict", "--no-dangling") == b""
    push(here, str(remote), "two")
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    push(here, str(remote))
    there = machine("there", "")
    assert fetch(there, str(remote)) == ["one", "two"]


@needs_root
def test_no_room_for_what_comes(
    small_disk: Path,
    serve: Callable[[Kind], Served],
    machine: Callable[[str, str], Agents],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remote = serve("git")
    here, there = machine("here", ""), machine("there", "")
    here.step("one", {"large.bin": LARGE})
    push(here, remote.address)
    monkeypatch.setattr("tempfile.tempdir", str(small_disk))
    with pytest.raises(StorageFull):
        fetch(there, remote.address)
    assert list(there.bench.workspace.fetched.readers()) == []
    assert os.listdir(small_disk) == []
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    assert fetch(there, remote.address) == ["one"]


@pytest.mark.parametrize("hook", ["pre-receive", "update"])
def test_what_a_hook_says_is_told(
    serve: Callable[[Kind], Served], machine: Callable[[str, str], Agents], hook: str
) -> None:
    remote, here = serve("file"), machine("here", "")
    remote.hook(hook, "echo 'over quota: 10 MB are allowed' >&2; exit 1")
    error = failed(lambda: push(here, remote.address))
    assert error.data["reason"] == "refused"
    assert "over quota: 10 MB are allowed" in error.message
    assert remote.references() == {}
    (remote.path / "hooks" / hook).unlink()
    push(here, remote.address)


@pytest.mark.parametrize(("kind", "reason"), [("git", "auth"), ("http", "auth")])
def test_a_read_only_remote(
    serve: Callable[[Kind], Served], machine: Callable[[str, str], Agents], kind: Kind, reason: str
) -> None:
    remote = serve(kind)
    here, there = machine("here", remote.config), machine("there", remote.config)
    push(here, remote.address)
    here.step("one", {"a.txt": text(l2=b"1")})
    section = "daemon.receivepack" if kind == "git" else "http.receivepack"
    remote.git("config", section, "false")
    had = remote.references()
    assert failed(lambda: push(here, remote.address)).data["reason"] == reason
    assert remote.references() == had
    assert fetch(there, remote.address) == ["one"]


def test_a_shallow_remote(
    tmp_path: Path, serve: Callable[[Kind], Served], machine: Callable[[str, str], Agents]
) -> None:
    project = tmp_path / "project"
    write(project, {"a.txt": text(l2=b"old"), "b.txt": b"b\n"})
    run_git(project, "init", "--quiet", ".")
    for number in range(3):
        write(project, {"a.txt": text(l2=b"%d" % number)})
        run_git(project, "add", ".")
        run_git(project, "commit", "--quiet", "--message=one")
    shallow = tmp_path / "shallow.git"
    run_git(tmp_path, "clone", "--quiet", "--bare", "--depth=1", f"file://{project}", str(shallow))
    here, there = machine("here", ""), machine("there", "")
    for agents in (here, there):
        run_git(agents.bench.root, "clone", "--quiet", "--bare", f"file://{project}", ".git")
    here.step("one", {"a.txt": text(l2=b"0"), "b.txt": b"b\n"})
    push(here, str(shallow))
    here.step("one", {"a.txt": text(l2=b"1")})
    push(here, str(shallow))
    assert run_git(shallow, "fsck", "--strict", "--no-dangling") == b""
    assert fetch(there, f"file://{shallow}") == ["one"]
    assert steps(there, "one") == [view.step.step_id for view in here.steps("one")]


def test_no_repository(tmp_path: Path, machine: Callable[[str, str], Agents]) -> None:
    here = machine("here", "")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("text")
    for name in ("folder", "file", "nothing"):
        for address in (str(tmp_path / name), f"file://{tmp_path / name}"):
            for asked in (push, fetch):
                error = failed(lambda asked=asked, address=address: asked(here, address))  # type: ignore[misc]
                assert error.data == {"remote": address, "reason": "unreachable"}
                assert error.hint


def test_a_server_that_is_no_git(machine: Callable[[str, str], Agents]) -> None:
    """It says something else, or hangs up at once."""
    here = machine("here", "")
    for said in (
        b"HTTP/1.0 200 OK\r\n\r\n<!DOCTYPE html>\n<p>hello\n",
        b"220 mail.example.org ESMTP\r\n",
        b"",
        bytes(range(256)),
    ):

        def serve(connection: socket.socket, said: bytes = said) -> None:
            connection.recv(4096)
            connection.sendall(said)

        listener = Listener(serve)
        try:
            for scheme in ("git", "http"):
                error = failed(lambda: fetch(here, f"{scheme}://127.0.0.1:{listener.port}/it.git"))  # noqa: B023
                assert error.data["reason"] in ("unreachable", "interrupted"), error
        finally:
            listener.close()
    error = failed(lambda: fetch(here, f"git://127.0.0.1:{listener.port}/it.git"))
    assert error.data["reason"] == "unreachable"


@pytest.mark.parametrize("asked", [push, fetch])
def test_a_cancelled_request(machine: Callable[[str, str], Agents], asked: Callable[..., object]) -> None:
    """The server never answers: the request ends all the same, and git with it."""
    here = machine("here", "")
    before = own_children()
    call = Call()
    reached, done = threading.Event(), threading.Event()

    def hang(connection: socket.socket) -> None:
        reached.set()
        done.wait()

    def cancel() -> None:
        reached.wait()
        assert own_children() != before
        call.cancel()

    listener = Listener(hang)
    canceller = threading.Thread(target=cancel)
    canceller.start()
    try:
        with pytest.raises(Cancelled):
            asked(here, f"git://127.0.0.1:{listener.port}/it.git", call=call)
    finally:
        done.set()
        listener.close()
        canceller.join()
    assert own_children() == before


def test_a_push_that_is_cancelled_by_a_slow_hook(
    tmp_path: Path, serve: Callable[[Kind], Served], machine: Callable[[str, str], Agents]
) -> None:
    """Everything that runs for it on this machine ends, the hook of a remote by path among it; nothing was pushed."""
    remote, here = serve("path"), machine("here", "")
    note = tmp_path / "pid"
    remote.hook("pre-receive", f"echo $$ > {note}.new; mv {note}.new {note}; exec sleep 600")
    call = Call()

    def cancel() -> None:
        while not note.exists():
            time.sleep(0.01)
        call.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(Cancelled):
        push(here, remote.address, call=call)
    canceller.join()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{note.read_text().strip()}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert remote.references() == {}
    (remote.path / "hooks" / "pre-receive").unlink()
    push(here, remote.address)
    assert list(remote.references()) == [chain_of_session("one")]
    remote.check()
