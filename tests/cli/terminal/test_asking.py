"""Questions at the terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import threading

import pytest

from snapd.cli.terminal.asking import read_line
from tests.cli.running import WAIT


def test_no_ctrl_c_is_lost_before_the_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread gets the signal, so it interrupts no read of this one: as one that came just before the read."""
    terminal, slave = pty.openpty()
    ended = threading.Event()
    ready = threading.Event()
    make_poll = select.poll

    def interrupt() -> None:
        ready.wait()
        os.kill(os.getpid(), signal.SIGINT)
        if not ended.wait(WAIT):
            os.write(terminal, b"lost\n")

    def poll() -> select.poll:
        ready.set()
        return make_poll()

    other = threading.Thread(target=interrupt)
    other.start()
    with open(slave, encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        monkeypatch.setattr(select, "poll", poll)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with pytest.raises(KeyboardInterrupt):
                read_line()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            ended.set()
            other.join()
            os.close(terminal)
