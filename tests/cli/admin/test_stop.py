"""`snapd stop`, where the daemon's threads do not end."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapd.cli.commands import stop as daemon
from snapd.launch import connect
from snapd.model.errors import IoError
from tests.rpc.machine import Machine, request, wait_until

HANGING = """
import os, re, sys, threading
from snapd import daemon, failpoints
from snapd.cli.main import main

daemon._END_SECONDS = 1.0
hang = {
    "in C": lambda: re.match("(a+)+$", "a" * 99 + "b"),
    "in a call": lambda: os.read(os.pipe()[0], 1),
    "in Python": lambda: [None for _ in iter(int, 1)],
}[sys.argv[1]]
def listen(name):
    if name == "capture.trees":
        open(sys.argv[2], "w").close()
        hang()
failpoints.listener = listen
sys.exit(main(["serve"]))
"""


@pytest.fixture
def machine() -> Iterator[Machine]:
    made = Machine()
    yield made
    for process in made.processes:
        process.kill()
        process.wait()
    made.finish()


def hanging(machine: Machine, folder: Path, how: str) -> subprocess.Popen[bytes]:
    """A daemon of which a thread hangs."""
    words = [sys.executable, "-c", HANGING, how, str(folder / "reached")]
    with (machine.root / "stderr").open("ab") as log:
        process = subprocess.Popen(words, env=machine.environment(), stdout=log, stderr=log)
    machine.processes.append(process)
    machine.wait_for(process, machine.socket)
    raw = machine.raw().open(folder)
    raw.send(request(1, "snapshot/track"))
    wait_until((folder / "reached").exists, "the thread")
    return process


def answers(machine: Machine) -> bool:
    reached = connect(str(machine.socket))
    if reached is not None:
        reached.close()
    return reached is not None


def told(machine: Machine) -> int:
    return daemon.stop(argparse.Namespace(socket=str(machine.socket), json=False))


@pytest.mark.parametrize("how", ["in a call", "in Python"])
def test_a_daemon_of_which_a_thread_hangs_ends_itself(machine: Machine, tmp_path: Path, how: str) -> None:
    process = hanging(machine, tmp_path, how)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 1


def test_one_that_can_do_nothing_is_killed(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(daemon, "STOP_SECONDS", 0.2)
    monkeypatch.setattr(daemon, "KILL_SECONDS", 20.0)
    process = hanging(machine, tmp_path, "in C")
    assert told(machine) == 0
    assert "killing it" in capsys.readouterr().err
    assert process.wait(20) == -signal.SIGKILL
    # the socket is still there, and nobody answers
    assert told(machine) == 0
    assert capsys.readouterr().err == "snapd: no daemon is running\n"
    machine.serve_socket()
    wait_until(lambda: answers(machine), "the next daemon")
    assert machine.raw().open(tmp_path).result("snapshot/track")["hash"]
    assert told(machine) == 0


def test_one_that_nothing_can_end(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "STOP_SECONDS", 0.01)
    monkeypatch.setattr(daemon, "KILL_SECONDS", 0.01)
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda _, number: sent.append(number))
    machine.serve_socket()
    began = time.monotonic()
    with pytest.raises(IoError, match="waiting for a disk"):
        told(machine)
    assert sent == [signal.SIGTERM, signal.SIGKILL]
    assert time.monotonic() - began < 10
