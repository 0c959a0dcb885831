"""The real daemon, killed at moments that a seed draws; `HAZARD_ROUNDS=200` kills it more often.

Where it may die is swept point by point in `tests/faults`; here it dies anywhere.
"""

from __future__ import annotations

import os
import random
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.hazards.hostile import HostileMachine
from tests.hazards.races import rounds
from tests.hazards.whole import contents
from tests.rpc.machine import request
from tests.support.git import run_git
from tests.support.published import until_published

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from snapd_client import Client

    from tests.hazards.traps import Traps
    from tests.rpc.machine import Raw

SEED = 20261121
pytestmark = pytest.mark.usefixtures("on_disk")

OURS = (".snapd-tmp-", ".snapd-kept-")


class Mortal:
    """A daemon that is killed and started again.

    Args:
        machine: where it runs.
    """

    def __init__(self, machine: HostileMachine) -> None:
        self.machine = machine
        self._process: subprocess.Popen[bytes] | None = None

    def _live(self) -> None:
        if self._process is None:
            # the one who was killed could not clear it away, and waiting for it must not end at once
            self.machine.socket.unlink(missing_ok=True)
            self._process = self.machine.serve_socket()

    def client(self, folder: Path) -> Client:
        """A client of the daemon, which is started where it is dead."""
        self._live()
        return self.machine.client(folder)

    def dies_in(self, folder: Path, method: str, params: dict[str, Any], most: float) -> dict[str, Any] | None:
        """Asks for something, and kills the daemon before long.

        Args:
            folder: the workspace.
            method: of the request.
            params: of the request.
            most: seconds after which it is dead.

        Returns:
            The result, None where it died before it answered.
        """
        self._live()
        raw: Raw = self.machine.raw().open(folder)
        raw.send(request(1, method, params))
        time.sleep(random.uniform(0, most))
        assert self._process is not None
        self._process.kill()
        assert self._process.wait(30) == -signal.SIGKILL
        self._process = None
        while (message := raw.read()) is not None:
            if message.get("id") == 1:
                found: dict[str, Any] = message["result"]
                return found
        return None


@pytest.fixture(scope="module")
def _mortal(_all_traps: Traps) -> Iterator[Mortal]:
    machine = HostileMachine(_all_traps)
    yield Mortal(machine)
    machine.finish()


@pytest.fixture
def mortal(_mortal: Mortal) -> Iterator[Mortal]:
    random.seed(SEED)
    yield _mortal
    _mortal.machine.disconnect()


def _write(folder: Path, number: int) -> dict[str, bytes]:
    """Gives a workspace files of a generation; gives all that it has now."""
    for at in range(12):
        path = folder / f"d{at % 3}" / f"f{at}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"generation %d of %d\n" % (number, at) * (1 if at else 20_000))
    (folder / f"new{number}").write_bytes(b"%d" % number)
    (folder / f"new{number - 1}").unlink(missing_ok=True)
    return _files(folder)


def _files(folder: Path) -> dict[str, bytes]:
    return {name: data for name, data in contents(folder).items() if ".git" not in name.split("/")}


def _intact(client: Client, folder: Path, known: dict[str, dict[str, bytes]]) -> None:
    """Every snapshot that was answered is restored byte for byte, and git finds nothing wrong with the store."""
    for tree, files in known.items():
        client.restore(tree)
        assert _files(folder) == files
    store = client.status()["store"]["path"]
    # git reads the objects, and then the references: what is published in between would be missing to it
    until_published(store)
    said = run_git(store, "--git-dir=.", "fsck", "--strict", "--full", "--no-dangling")
    assert b"missing" not in said
    assert b"broken" not in said


@pytest.mark.hazard(30)
def test_killed_at_any_moment_of_a_track(mortal: Mortal, folder: Path) -> None:
    known = {}
    for number in range(rounds(1)):
        files = _write(folder, number)
        if (answer := mortal.dies_in(folder, "snapshot/track", {}, 0.08)) is not None:
            known[answer["hash"]] = files
        client = mortal.client(folder)
        # the old one or the new one, and never something between
        known[client.track()["hash"]] = files
        _intact(client, folder, known)


@pytest.mark.hazard(31)
def test_killed_at_any_moment_of_a_restore(mortal: Mortal, folder: Path) -> None:
    client = mortal.client(folder)
    one = _write(folder, 1)
    known = {client.track()["hash"]: one}
    two = _write(folder, 2)
    known[client.track()["hash"]] = two
    for number in range(rounds(2)):
        goal = list(known)[number % 2]
        before = _files(folder)
        answer = mortal.dies_in(folder, "snapshot/restore", {"hash": goal}, 0.12)
        # each file is old or new, whatever lies beside it
        for name, data in _files(folder).items():
            if not any(mark in name for mark in OURS):
                assert data in (one.get(name), two.get(name))
        client = mortal.client(folder)
        client.track()
        now = _files(folder)
        assert now in ([known[goal]] if answer is not None else [before, known[goal]])
    _intact(client, folder, known)


@pytest.mark.hazard(32)
def test_killed_at_any_moment_of_an_undo_or_redo(mortal: Mortal, folder: Path) -> None:
    client = mortal.client(folder)
    states = [_write(folder, 0)]
    session = client.session_start("agent")["sessionId"]
    for number in (1, 2):
        step = client.step_begin(session)["stepId"]
        states.append(_write(folder, number))
        client.step_end(step)
    for number in range(rounds(1)):
        applied = _applied(client, session)
        redo = applied == 0 or (number % 2 == 1 and applied < 2)
        mortal.dies_in(folder, "session/redo" if redo else "session/undo", {"sessionId": session}, 0.15)
        client = mortal.client(folder)
        client.track()
        now = _applied(client, session)
        assert now in (applied, applied + (1 if redo else -1))
        assert _files(folder) == states[now]


def _applied(client: Client, session: str) -> int:
    return sum(step["state"] == "applied" for step in client.session_steps(session)["steps"])


@pytest.mark.hazard(33)
def test_killed_at_any_moment_of_maintenance(mortal: Mortal, folder: Path) -> None:
    client = mortal.client(folder)
    known = {}
    for number in range(4):
        files = _write(folder, number)
        known[client.track()["hash"]] = files
    store = client.status()["store"]["path"]
    for _ in range(rounds(1)):
        mortal.dies_in(folder, "snapshot/cleanup", {}, 0.4)
        client = mortal.client(folder)
        _intact(client, folder, known)
    client.cleanup()
    _intact(client, folder, known)
    # what a maintenance that was killed left, the next one clears away
    until_published(store)
    counted = run_git(store, "--git-dir=.", "count-objects", "-v").decode()
    assert "garbage: 0\nsize-garbage: 0" in counted
    assert [name for name in os.listdir(store) if "tmp" in name] == []


@pytest.mark.hazard(34)
def test_killed_again_during_recovery(mortal: Mortal, folder: Path) -> None:
    client = mortal.client(folder)
    known = {}
    for number in (1, 2):
        files = _write(folder, number)
        known[client.track()["hash"]] = files
    goal = next(iter(known))
    for _ in range(rounds(1)):
        before = _files(folder)
        mortal.dies_in(folder, "snapshot/restore", {"hash": goal}, 0.1)
        mortal.dies_in(folder, "snapshot/track", {}, 0.05)
        client = mortal.client(folder)
        client.track()
        assert _files(folder) in (before, known[goal])
        client.restore(list(known)[1])
    _intact(client, folder, known)
