"""Disks that are full or broken, and a process that runs out of what it needs."""

from __future__ import annotations

import os
import resource
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from snapd_client import SnapdError

from snapd.model.errors import StorageFull
from tests.hazards.hostile import HostileMachine
from tests.hazards.mounts import mounted, needs_root
from tests.hazards.whole import contents, look, touched
from tests.rpc.machine import wait_until
from tests.support.system_calls import why_no_strace
from tests.support.workspace import make

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.hazards.traps import Traps

needs_strace = pytest.mark.skipif(why_no_strace() is not None, reason=str(why_no_strace()))
MIB = 1 << 20


@pytest.fixture(scope="module")
def _private(_all_traps: Traps) -> Iterator[HostileMachine]:
    machine = HostileMachine(_all_traps)
    machine.serve_socket()
    yield machine
    machine.finish()


@pytest.fixture
def private(_private: HostileMachine) -> Iterator[HostileMachine]:
    """A daemon that no other file's tests use: what is done to its process must not reach them."""
    yield _private
    _private.disconnect()
    assert _private.processes[0].poll() is None
    _private.check_log()


@contextmanager
def _injecting(machine: HostileMachine, call: str, what: str, path: Path | None = None) -> Iterator[None]:
    """Has system calls of the running daemon fail for as long as the block takes.

    Args:
        machine: its first process is the daemon.
        call: names of the calls, parted by commas.
        what: as in `strace -e inject=`.
        path: only calls that are about this file.
    """
    log = machine.root / "strace"
    pid = machine.processes[0].pid
    only = ["-P", str(path)] if path is not None else []
    tracer = subprocess.Popen(
        ["strace", "-f", "-o", str(log), *only, "-e", f"trace={call}", "-e", f"inject={call}:{what}", "-p", str(pid)],
        stderr=subprocess.PIPE,
    )
    try:
        assert tracer.stderr is not None
        line = tracer.stderr.readline()
        if b"attached" not in line:
            pytest.skip(f"strace cannot attach here: {line.decode().strip()}")
        # every thread that there is, not only the first
        wait_until(lambda: _all_traced(pid, tracer.pid), "strace")
        yield
    finally:
        tracer.terminate()
        tracer.wait(30)
        assert tracer.stderr is not None
        tracer.stderr.close()
    assert b"INJECTED" in log.read_bytes()


def _all_traced(pid: int, tracer: int) -> bool:
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status") as file:
            if f"TracerPid:\t{tracer}\n" not in file.read():
                return False
    return True


@pytest.mark.hazard(35)
@needs_root
def test_no_space_in_the_store_is_told_before_the_workspace_is_touched(private: HostileMachine, folder: Path) -> None:
    with mounted(_directory(private.root / "full"), "-t", "tmpfs", "-o", "size=3m", "hazard") as data:
        client = private.client(folder, options={"dataDir": str(data)})
        then = client.track()["hash"]
        (folder / "a.txt").write_bytes(os.urandom(6 * MIB))
        before = look(folder)
        for ask in (client.track, lambda: client.restore(then), lambda: client.patch(then)):
            with pytest.raises(SnapdError) as caught:
                ask()
            assert caught.value.kind == "storageFull"
            assert touched(before, folder) == set()
        # what was there stays good, and there is space again for what is small
        assert client.file_at(then, "a.txt")["content"] == "one\n"
        (folder / "a.txt").write_text("two\n")
        client.track()
        client.restore(then)
        assert (folder / "a.txt").read_text() == "one\n"
        private.disconnect()


@pytest.mark.hazard(36)
@needs_root
@pytest.mark.parametrize("limit", ["size=2m", "nr_inodes=60"])
def test_no_space_in_the_workspace_leaves_it_as_it_was(tmp_path: Path, limit: str) -> None:
    with mounted(_directory(tmp_path / "work"), "-t", "tmpfs", "-o", limit, "hazard") as root:
        bench = make(tmp_path, {f"d{at % 3}/f{at}": os.urandom(40_000) for at in range(20)})
        then = bench.track()
        bench.become({"d0": b"now a file", "d1/f1": b"changed", "new": b"1"})
        if limit.startswith("size"):
            (root / "ballast").write_bytes(bytes(1_600_000))
        else:
            bench.write({f"ballast/{at}": b"" for at in range(os.statvfs(root).f_favail - 5)})
        bench.track()
        before = look(root)
        with pytest.raises(StorageFull):
            bench.restore(then)
        assert touched(before, root) == set()
        bench.remove("ballast")
        if limit.startswith("nr_inodes"):
            bench.remove("new")
        bench.restore(then)
        assert bench.track() == then
        bench.close()


@pytest.mark.hazard(37)
@needs_strace
def test_a_read_that_fails_gives_no_hash(private: HostileMachine, folder: Path) -> None:
    client = private.client(folder)
    then = client.track()["hash"]
    (folder / "sub" / "b.txt").write_text("cannot be read\n")
    with _injecting(private, "read,pread64", "error=EIO", folder / "sub" / "b.txt"):
        for _ in range(2):
            with pytest.raises(SnapdError) as caught:
                client.track()
            assert (caught.value.kind, caught.value.data["errno"]) == ("ioError", "EIO")
            assert "b.txt" in caught.value.data["path"]
    now = client.track()["hash"]
    assert now != then
    assert client.file_at(now, "sub/b.txt")["content"] == "cannot be read\n"


@pytest.mark.hazard(38)
@needs_strace
def test_a_sync_that_fails_fails_the_operation(private: HostileMachine, folder: Path) -> None:
    client = private.client(folder)
    then = client.track()["hash"]
    (folder / "a.txt").write_text("two\n")
    before = look(folder)
    with _injecting(private, "fsync,fdatasync", "error=EIO"):
        for ask in (client.track, lambda: client.restore(then)):
            with pytest.raises(SnapdError) as caught:
                ask()
            assert (caught.value.kind, caught.value.data["errno"]) == ("ioError", "EIO")
    assert touched(before, folder) == set()
    now = client.track()["hash"]
    assert client.file_at(now, "a.txt")["content"] == "two\n"
    client.restore(then)
    assert (folder / "a.txt").read_text() == "one\n"
    assert [name for name in contents(folder) if "snapd" in name] == []


@pytest.mark.hazard(39)
def test_no_file_descriptors_are_left(private: HostileMachine, folder: Path) -> None:
    client = private.client(folder)
    then = client.track()["hash"]
    (folder / "a.txt").write_text("two\n")
    before = look(folder)
    with _limited(private.processes[0].pid, resource.RLIMIT_NOFILE, 3):
        for ask in (client.track, lambda: client.restore(then)):
            with pytest.raises(SnapdError) as caught:
                ask()
            assert (caught.value.kind, caught.value.data["errno"]) == ("ioError", "EMFILE")
        assert touched(before, folder) == set()
    client.restore(then)
    assert touched(before, folder) == {"a.txt"}
    assert client.track()["hash"] == then


@pytest.mark.hazard(39)
def test_no_memory_is_left(private: HostileMachine, folder: Path) -> None:
    client = private.client(folder, options={"maxFileSize": 200 * MIB})
    then = client.track()["hash"]
    (folder / "a.txt").write_bytes(os.urandom(MIB) * 24)
    now = client.track()["hash"]
    before = look(folder)
    with open(f"/proc/{private.processes[0].pid}/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    # what it has already is enough for a restore, piece by piece, and not for an answer of that size
    with _limited(private.processes[0].pid, resource.RLIMIT_AS, used + 4 * MIB):
        with pytest.raises(SnapdError) as caught:
            client.file_at(now, "a.txt")
        assert (caught.value.kind, caught.value.data["errno"]) == ("ioError", "ENOMEM")
    assert touched(before, folder) == set()
    client.restore(then)
    client.restore(now)
    assert touched(before, folder) == {"a.txt"}
    assert look(folder)["a.txt"].data == before["a.txt"].data


@contextmanager
def _limited(pid: int, what: int, limit: int) -> Iterator[None]:
    """Gives a running process less of something for as long as the block takes."""
    old = resource.prlimit(pid, what)
    resource.prlimit(pid, what, (limit, old[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, what, old)


def _directory(path: Path) -> Path:
    path.mkdir()
    return path
