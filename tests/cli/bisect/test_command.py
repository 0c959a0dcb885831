"""What becomes of signals while a command is run several times; the processes themselves have tests with `bisect`."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from snapd.cli.commands.bisect_trials import TrialCommand

if TYPE_CHECKING:
    from pathlib import Path


def test_a_signal_interrupts_nothing_but_where_that_is_allowed() -> None:
    came = []
    before = signal.getsignal(signal.SIGINT)

    def work() -> None:
        with TrialCommand(["true"]) as command:
            os.kill(os.getpid(), signal.SIGINT)
            came.append("nothing happened yet")
            with command.interruptible():
                came.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert came == ["nothing happened yet"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_in_a_block_that_may_be_interrupted_is_raised_once() -> None:
    came = []

    def work() -> None:
        with TrialCommand(["true"]) as command:
            try:
                with command.interruptible():
                    os.kill(os.getpid(), signal.SIGINT)
                    came.append("never")
            finally:
                os.kill(os.getpid(), signal.SIGINT)
                came.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert came == ["cleaned up"]


def test_a_signal_after_the_last_run_is_not_forgotten(tmp_path: Path) -> None:
    codes = []

    def work() -> None:
        with TrialCommand(["true"]) as command:
            codes.append(command.run(os.fsencode(tmp_path)))
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert codes == [0]


def test_a_signal_while_the_command_runs_reaches_it(tmp_path: Path) -> None:
    script = f"import os, time; os.kill({os.getpid()}, 2); time.sleep(60)"
    with pytest.raises(KeyboardInterrupt), TrialCommand([sys.executable, "-c", script]) as command:
        command.run(os.fsencode(tmp_path))


def test_what_is_ignored_stays_so(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with TrialCommand(["sh", "-c", "kill -HUP $$; exit 3"]) as command:
            os.kill(os.getpid(), signal.SIGHUP)
            assert command.run(os.fsencode(tmp_path)) == 3
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
