"""A part of the sweeps that `make sweep` runs whole, in a process of its own: it forks, and must have no threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.amounts import amount
from tests.support.system_calls import why_no_strace

from . import mounts

ROOT = Path(__file__).parents[2]
CASES = amount(5, 40)
KILLS = amount(3, 10)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, and follows processes, as Linux has it"),
    pytest.mark.timeout(300),
]


def swept(*arguments: str) -> dict[str, Any]:
    """The numbers of a run in which all held."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    numbers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return numbers


def test_failpoints() -> None:
    numbers = swept("points", "--most", str(CASES), "--per-point", "2", "--seed", "7")
    assert numbers["cases"] == CASES
    assert numbers["come to"] >= numbers["fault points"] - 1
    assert numbers["kills"] > 1
    assert numbers["injected errors"] > 1


def test_kills_in_a_recovery() -> None:
    numbers = swept("points", "--only", "recover_@apply", "--kinds", "kill", "--per-point", "1", "--most", str(KILLS))
    assert numbers["kills"] >= KILLS


@pytest.mark.skipif(why_no_strace() is not None, reason=str(why_no_strace()))
def test_system_calls_of_the_command() -> None:
    assert swept("strace", "--work", "undo", "--most", "2")["system calls"] == 2


@pytest.mark.skipif(mounts.missing() is not None, reason=str(mounts.missing()))
def test_full_disks() -> None:
    numbers = swept("full", "--strides", "2")
    assert numbers["refused for want of space"] >= 4
    assert numbers["operations on full disks"] > numbers["refused for want of space"]


@pytest.mark.skipif(mounts.missing_images() is not None, reason=str(mounts.missing_images()))
def test_power_losses() -> None:
    assert swept("power", "--only", "steps", "--losses", "1")["power losses"] == 1
