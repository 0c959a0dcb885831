"""Many who connect at the same moment: the system keeps them all until the daemon has time for them."""

from __future__ import annotations

import errno
import os
import signal
import socket
from typing import TYPE_CHECKING

import pytest
from snapd_client import Client
from snapd_client import transport as transports

from .machine import PATIENCE, Raw, initialize, request

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .machine import Machine

BURST = 200


def burst(process: int, make: Callable[[], socket.socket], folder: Path, options: dict[str, str] | None = None) -> None:
    """Connects many times to a daemon that does not run at the moment, without waiting; then it serves them all."""
    os.kill(process, signal.SIGSTOP)
    try:
        raws = []
        for _ in range(BURST):
            made = make()
            made.setblocking(True)
            fd = made.detach()
            raws.append(Raw(fd, fd))
    finally:
        os.kill(process, signal.SIGCONT)
    for raw in raws:
        raw.send(initialize(folder, options=options) + request(1, "snapshot/status"))
    for raw in raws:
        assert {raw.answer()["id"], raw.answer()["id"]} == {0, 1}
        raw.close()


def test_a_burst_on_the_unix_socket(machine: Machine, folder: Path) -> None:
    def make() -> socket.socket:
        made = socket.socket(socket.AF_UNIX)
        # where no more may wait this is EAGAIN at once
        made.setblocking(False)
        made.connect(str(machine.socket))
        return made

    burst(machine.serve_socket().pid, make, folder)


def test_a_burst_on_tcp(machine: Machine, folder: Path) -> None:
    daemon, port = machine.serve_tcp(env={"SNAPD_TOKEN": "t" * 32})
    burst(daemon.pid, lambda: socket.create_connection(("127.0.0.1", port), PATIENCE), folder, {"token": "t" * 32})


@pytest.mark.parametrize("reason", [errno.EAGAIN, errno.ECONNREFUSED])
def test_the_client_tries_again_where_too_many_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    """Its pauses grow; in the third of them there is room."""
    path = str(tmp_path / "socket")
    pauses: list[float] = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        filling = []
        if reason == errno.EAGAIN:
            listening.listen(0)
            filling.append(socket.socket(socket.AF_UNIX))
            filling[0].connect(path)

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                listening.listen(100)

        monkeypatch.setattr(transports, "sleep", sleep)
        Client.connect(path, timeout=PATIENCE).close()
        for each in filling:
            each.close()
    assert pauses == [0.005, 0.01, 0.02]


def test_the_client_gives_up_before_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "socket")
    pauses: list[float] = []
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        pauses.append(seconds)
        now += seconds

    monkeypatch.setattr(transports, "sleep", sleep)
    monkeypatch.setattr(transports, "monotonic", lambda: now)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(path)
        with pytest.raises(ConnectionRefusedError):
            Client.connect(path, timeout=PATIENCE)
    assert sum(pauses) <= 1.0
    with pytest.raises(FileNotFoundError):
        Client.connect(str(tmp_path / "nothing"), timeout=PATIENCE)
