"""TCP: with the token alone, on the loopback interface alone, and never for a web page."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from snapd_client import Client, SnapdError

from snapd import daemon

from .machine import PATIENCE, Machine, error_of, framed, initialize

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

LOOPBACK = "127.0.0.1"


@pytest.fixture(scope="module")
def _served() -> Iterator[tuple[Machine, int]]:
    machine = Machine()
    _, port = machine.serve_tcp(env={"SNAPD_TOKEN": "secret"})
    yield machine, port
    machine.finish()


@pytest.fixture
def served(_served: tuple[Machine, int]) -> Iterator[tuple[Machine, int]]:
    """A daemon with the token `secret` that many tests share, and its port."""
    machine, port = _served
    with machine.lent():
        yield machine, port


def test_token_from_the_environment(served: tuple[Machine, int], folder: Path) -> None:
    _, port = served
    with Client.tcp(LOOPBACK, port, "secret", timeout=PATIENCE) as client:
        client.initialize([str(folder)])
        assert client.track()["hash"]
    with Client.tcp(LOOPBACK, port, "secre", timeout=PATIENCE) as client, pytest.raises(SnapdError) as refused:
        client.initialize([str(folder)])
    assert refused.value.kind == "unauthorized"


def test_token_from_a_file_comes_before_that_of_the_environment(machine: Machine, folder: Path) -> None:
    file = machine.root / "token"
    file.write_text("  from file\n")
    _, port = machine.serve_tcp("--token-file", str(file), env={"SNAPD_TOKEN": "other"})
    with Client.tcp(LOOPBACK, port, "from file", timeout=PATIENCE) as client:
        client.initialize([str(folder)])
        assert client.status()["enabled"] is True


@pytest.mark.parametrize("text", [None, "", " \n", "\udcff"])
def test_token_file_that_holds_none(machine: Machine, text: str | None) -> None:
    file = machine.root / "token"
    if text is not None:
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
    done = machine.run("serve", "--tcp", "127.0.0.1:0", "--token-file", str(file))
    assert done.returncode == 2
    assert done.stderr.startswith("snapd: --token-file: ")
    assert len(done.stderr.splitlines()) == 2


def test_malformed_before_the_token(served: tuple[Machine, int]) -> None:
    machine, port = served
    raw = machine.raw((LOOPBACK, port))
    raw.send(framed(b"{"))
    assert error_of(raw.answer(None))[0] == -32700


@pytest.mark.parametrize("address", ["127.0.0.1", ":5", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000"])
def test_addresses_that_are_none(machine: Machine, address: str) -> None:
    done = machine.run("serve", "--tcp", address)
    assert (done.returncode, done.stderr) == (2, "snapd: --tcp: expected HOST:PORT\nhint: for example 127.0.0.1:7000\n")


def test_port_that_is_taken(machine: Machine) -> None:
    _, port = machine.serve_tcp()
    done = machine.run("serve", "--tcp", f"127.0.0.1:{port}")
    assert done.returncode == 1
    said, hint = done.stderr.splitlines()
    assert said == f"snapd: 127.0.0.1:{port}: Address already in use"
    assert hint.startswith("hint: ")


BOUNDED = """
import resource, sys
from snapd import daemon
from snapd.cli.main import main

daemon._STRANGERS, daemon._STRANGER_SECONDS, daemon._NEW_SECONDS = 5, float(sys.argv[1]), float(sys.argv[3])
daemon._MOST_STRANGERS = 12
daemon.raise_descriptor_limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]),) * 2)
sys.exit(main(["serve", "--tcp", "127.0.0.1:0"]))
"""


@contextmanager
def bounded(machine: Machine, seconds: float, descriptors: int, new_seconds: float = 0.0) -> Iterator[int]:
    """The port of a daemon with other bounds."""
    words = [sys.executable, "-c", BOUNDED, str(seconds), str(descriptors), str(new_seconds)]
    env = machine.environment(SNAPD_TOKEN="secret")
    with (machine.root / "stderr").open("ab") as log:
        process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=log)
    machine.processes.append(process)
    assert process.stdout is not None
    yield int(process.stdout.readline().rpartition(b":")[2])


def stranger(port: int, said: bytes = b"") -> socket.socket:
    made = socket.create_connection((LOOPBACK, port), PATIENCE)
    made.sendall(said)
    return made


def is_hung_up_on(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_strangers_take_the_places_of_strangers_alone(machine: Machine, folder: Path) -> None:
    with bounded(machine, PATIENCE, 1024) as port, Client.tcp(LOOPBACK, port, "secret", timeout=PATIENCE) as early:
        early.initialize([str(folder)])
        part = b"Content-Length: 200000\r\n\r\n" + b" " * 100_000
        strangers = [stranger(port, part) for _ in range(20)]
        assert all(is_hung_up_on(each) for each in strangers[:15])
        assert early.track()["hash"]
        with Client.tcp(LOOPBACK, port, "secret", timeout=PATIENCE) as late:
            late.initialize([str(folder)])
            strangers += [stranger(port) for _ in range(20)]
            assert all(is_hung_up_on(each) for each in strangers[15:35])
            assert late.track()["hash"] == early.track()["hash"]
        for each in strangers:
            each.close()


def test_strangers_that_are_new_keep_their_places_up_to_a_bound(machine: Machine) -> None:
    with bounded(machine, PATIENCE, 1024, PATIENCE) as port:
        strangers = [stranger(port) for _ in range(20)]
        assert all(is_hung_up_on(each) for each in strangers[:8])
        for each in strangers[8:]:
            each.sendall(initialize(options={"token": "secret"}))
            assert not is_hung_up_on(each)
        for each in strangers:
            each.close()


def test_a_stranger_has_little_time(machine: Machine) -> None:
    with bounded(machine, 0.2, 1024) as port:
        for said in (b"", b"Content-Length: 9\r\n\r\n", framed(b"{}") * 3, framed(b"{")):
            with stranger(port, said) as connection:
                while connection.recv(1000):
                    pass


def test_no_descriptor_is_left_for_a_connection(machine: Machine, folder: Path) -> None:
    with bounded(machine, PATIENCE, 60) as port:
        known = machine.raw((LOOPBACK, port)).open(options={"token": "secret"})
        others = []
        while "no connection is accepted" not in machine.logged():
            others.append(machine.raw((LOOPBACK, port)))
            others[-1].send(initialize(options={"token": "secret"}))
            assert known.ask(len(others), "snapshot/status")["error"]["data"]["kind"] == "workspaceNotOpen"
        assert len(machine.logged().splitlines()) < 5
        for each in others:
            each.close()
        assert machine.raw((LOOPBACK, port)).open(folder, options={"token": "secret"}).result("snapshot/track")["hash"]


def test_the_log_in_the_runtime_directory_keeps_its_newest_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    monkeypatch.setattr(daemon, "LOG_BYTES", 1000)
    with path.open("a") as own, (tmp_path / "other").open("a") as other:
        for stream in (own, other):
            monkeypatch.setattr(sys, "stderr", stream)
            log = daemon.Log(str(path))
            for number in range(200):
                log.emit(logging.makeLogRecord({"msg": f"line {number}"}))
    assert 500 <= path.stat().st_size <= 1010
    assert path.read_text().endswith("line 198\nline 199\n")
    assert (tmp_path / "other").read_text().count("\n") == 200
