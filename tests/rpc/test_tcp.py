"""TCP: with the token alone, on the loopback interface alone, and never for a web page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from snapd_client import Client, SnapdError

from .machine import PATIENCE, Machine, error_of, framed

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
