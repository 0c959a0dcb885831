"""Who else may be at a project: a daemon, another process, and a connection that breaks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from snapd_client import Client

from snapd import IoError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.running import Home

WAIT = 60.0

OTHER = """
import sys
from snapd import Snapshot
snapshot = Snapshot(sys.argv[1], in_process=True)
print(snapshot.track(), flush=True)
sys.stdin.readline()
snapshot.close()
print("closed", flush=True)
sys.stdin.readline()
"""


class Daemon:
    """`snapd serve` on a socket of its own, with a client that keeps the project open."""

    def __init__(self, home: Home, project: Path) -> None:
        self.socket = home.at("d.sock")
        self.process = home.popen(home.path, "serve", "--socket", self.socket, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + WAIT
        while not os.path.exists(self.socket):
            assert self.process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        self.client = Client.connect(self.socket, timeout=WAIT)
        self.client.initialize([project])
        self.client.track()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(WAIT) == 0
        self.client.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(WAIT)
        self.client.close()


@contextmanager
def other_process(home: Home, project: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process with the library on the same folder."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", OTHER, str(project)]
    with subprocess.Popen(command, env=home.env, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert len(process.stdout.readline()) == 41
        try:
            yield process
        finally:
            process.kill()


def tell(process: subprocess.Popen[str]) -> str:
    """Lets the other process go on, and gives what it says next."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline()


class Breaking:
    """A connection that looks alive and breaks with the request."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_open = True

    def call(self, method: str, params: object) -> object:
        self.asked.append(method)
        self.is_open = False
        raise IoError("the daemon: it ended", errno="EPIPE")

    def close(self) -> None:
        pass
