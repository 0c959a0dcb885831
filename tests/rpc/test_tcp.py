"""TCP: with the token alone, on the loopback interface alone, and never for a web page."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest
from snapd_client import Client, SnapdError

from .machine import PATIENCE, Machine, error_of, framed, initialize, request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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


@pytest.mark.parametrize("options", [None, {}, {"token": "wrong"}, {"token": None}, {"token": 5}, {"token": ""}, []])
def test_without_the_token_nothing_is_served(served: tuple[Machine, int], folder: Path, options: object) -> None:
    machine, port = served
    stores = sorted(machine.data.rglob("*"))
    raw = machine.raw((LOOPBACK, port))
    raw.send(initialize(folder, options=options))
    answer = raw.answer(0)
    assert error_of(answer) == (1012, "unauthorized")
    assert "secret" not in str(answer)
    for method in ("snapshot/status", "snapshot/track", "shutdown"):
        assert error_of(raw.ask(1, method))[0] == -32002
    assert sorted(machine.data.rglob("*")) == stores
    assert "secret" not in machine.logged()


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


def test_token_that_is_made_is_private(machine: Machine, folder: Path) -> None:
    _, port = machine.serve_tcp()
    file = machine.runtime / "token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_text()) >= 32
    with Client.tcp(LOOPBACK, port, file.read_text(), timeout=PATIENCE) as client:
        client.initialize([str(folder)])
        assert client.status()["enabled"] is True
    assert file.read_text() not in machine.logged()


@pytest.mark.parametrize("text", [None, "", " \n", "\udcff"])
def test_token_file_that_holds_none(machine: Machine, text: str | None) -> None:
    file = machine.root / "token"
    if text is not None:
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
    done = machine.run("serve", "--tcp", "127.0.0.1:0", "--token-file", str(file))
    assert done.returncode == 2
    assert done.stderr.startswith("snapd: --token-file: ")
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /x HTTP/1.0\r\n",
        b"OPTIONS * HTTP/1.1\r\nOrigin: http://example.com\r\n",
        b"GET http://127.0.0.1:80/ HTTP/1.1\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s",
    ],
)
def test_what_looks_like_http_is_closed_at_once(served: tuple[Machine, int], folder: Path, said: bytes) -> None:
    machine, port = served
    inner = initialize(folder, options={"token": "secret"}) + request(1, "snapshot/track")
    if b"%s" in said:
        said %= (len(inner), inner)
    raw = machine.raw((LOOPBACK, port))
    raw.send(said)
    assert raw.read() is None
    other = machine.raw((LOOPBACK, port)).open(folder, options={"token": "secret"})
    assert "lastHash" not in other.result("snapshot/status")


def test_malformed_before_the_token(served: tuple[Machine, int]) -> None:
    machine, port = served
    raw = machine.raw((LOOPBACK, port))
    raw.send(framed(b"{"))
    assert error_of(raw.answer(None))[0] == -32700


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.0.2.1", "example.com"])
def test_other_interfaces_are_refused(machine: Machine, host: str) -> None:
    done = machine.run("serve", "--tcp", f"{host}:0")
    assert done.returncode == 2
    assert "is not the loopback interface" in done.stderr


def test_other_interfaces_where_that_is_wanted(machine: Machine, folder: Path) -> None:
    process = machine.start("serve", "--tcp", "0.0.0.0:0", "--allow-remote", env={"SNAPD_TOKEN": "s"}, stdout=-1)
    assert process.stdout is not None
    port = int(process.stdout.readline().rpartition(b":")[2])
    raw = machine.raw((LOOPBACK, port)).open(folder, options={"token": "s"})
    assert raw.result("snapshot/status")["enabled"] is True


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
