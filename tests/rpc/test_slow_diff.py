"""A comparison that takes long holds up nobody, and ends when nobody wants it any more."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.processes import children

from .machine import error_of, initialize, notification, request, wait_until

if TYPE_CHECKING:
    from .machine import Machine

pytestmark = pytest.mark.slow


def ticks(pid: int) -> int:
    """The processor time that a process took by itself, in hundredths of a second: more than its start takes."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux tells of children")
@pytest.mark.parametrize("method", ["snapshot/diffFull", "snapshot/diff"])
def test_a_slow_diff_is_cancelled_while_others_are_answered(machine: Machine, folder: Path, method: str) -> None:
    dice = random.Random(1)
    letters = bytes(97 + at % 26 for at in range(256))
    text = bytearray(b"\n" * 10_000_000)
    slow = folder / "slow.txt"
    daemon = machine.serve_socket()
    raw, other = machine.raw().open(folder), machine.raw()
    hashes = []
    for _ in range(2):
        text[::2] = dice.randbytes(5_000_000).translate(letters)
        slow.write_bytes(text)
        hashes.append(raw.result("snapshot/track")["hash"])
    old, new = hashes
    params = {"from": old, "to": new} if method == "snapshot/diffFull" else {"hash": old, "to": new}
    raw.send(request(1, method, params))
    wait_until(lambda: any(ticks(child) >= 50 for child in children(daemon.pid)), "the comparison")
    # another client is answered meanwhile, also from its first word
    other.send(initialize(folder))
    assert "result" in other.answer(0)
    assert other.result("snapshot/status")["lastHash"] == new
    (worker,) = children(daemon.pid)
    raw.send(notification("$/cancelRequest", {"id": 1}))
    assert error_of(raw.answer(1))[0] == -32800
    assert worker not in children(daemon.pid)
    # the next one has what it needs
    params = {**params, "files": ["a.txt"]}
    assert raw.result(method, params) == ({"diffs": []} if method == "snapshot/diffFull" else {"diff": ""})
    machine.check_log()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux tells of children")
def test_the_process_goes_with_the_daemon(machine: Machine, folder: Path) -> None:
    daemon = machine.serve_socket()
    raw = machine.raw().open(folder)
    big = folder / "big.txt"
    hashes = []
    for text in (b"a\nb\n", b"a\nc\n"):
        big.write_bytes(text * 300_000)
        hashes.append(raw.result("snapshot/track")["hash"])
    (delta,) = raw.result("snapshot/diffFull", {"from": hashes[0], "to": hashes[1], "contents": False})["diffs"]
    assert (delta["additions"], delta["deletions"]) == (300_000, 300_000)
    (worker,) = children(daemon.pid)
    raw.close()
    daemon.terminate()
    assert machine.exit_code(daemon) == 0
    assert not Path(f"/proc/{worker}").exists()
