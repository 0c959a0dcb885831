"""The other side: a snapd daemon of the benchmark's own, and clients of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from snapd_client import Client

from .measure import WrongResult

if TYPE_CHECKING:
    from typing import Self

TIMEOUT_SECONDS = 1800.0
_START_SECONDS = 30.0
_POLL_SECONDS = 0.005


class Daemon:
    """`snapd serve` on a private socket, with private directories. Entering it starts it, leaving it stops it.

    Args:
        directory: for its data, its socket, its log and its home; made where it is missing. What lies there of an
            earlier daemon is taken up.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.data = os.path.join(directory, "data")
        # where hooks look for it
        self.socket = os.path.join(directory, "run", "daemon.sock")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process that runs."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Starts it and waits until it listens.

        Raises:
            RuntimeError: it ended at once, or does not listen in time.
        """
        log_path = os.path.join(self.directory, "log")
        _make_directories(self.directory)
        with open(log_path, "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "snapd", "serve", "--socket", self.socket],
                cwd=self.directory,
                env=environment(self.directory),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + _START_SECONDS
        while not os.path.exists(self.socket):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                with open(log_path, encoding="utf-8", errors="replace") as log_text:
                    raise RuntimeError(f"the daemon does not start:\n{log_text.read()[-4000:]}")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """Has it end in order, and waits until it has."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGTERM)
            process.wait()

    def kill(self) -> None:
        """Ends it at once, as a system does that has no memory left."""
        process, self._process = self._process, None
        assert process is not None
        process.kill()
        process.wait()
        # `start` waits for the new one
        os.unlink(self.socket)

    def connect(self, tree: str) -> Client:
        """A new client that has opened a folder."""
        client = Client.connect(self.socket, timeout=TIMEOUT_SECONDS)
        client.initialize([tree], client_name="bench")
        return client

    def first_track(self, tree: str) -> str:
        """Connects, opens the folder and takes a snapshot.

        Returns:
            The tree's id.
        """
        with self.connect(tree) as client:
            return track(client)

    def memory(self) -> dict[str, int]:
        """Bytes of memory that it holds now (`VmRSS`) and held at most (`VmHWM`)."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        return {name: int(lines[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM")}

    def cpu_seconds(self) -> float:
        """Processor time that it took so far, of the user and of the system."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as file:
            # the name of the program, in parentheses, may hold blanks
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def track(client: Client) -> str:
    """Takes a snapshot.

    Returns:
        The tree's id.

    Raises:
        WrongResult: something was skipped, which git would not skip: the sides would do different work.
    """
    answer = client.track()
    if answer["hash"] is None or answer["skipped"]:
        raise WrongResult(f"snapd did not take the whole tree: {str(answer)[:400]}")
    return answer["hash"]


def spawn_and_initialize(directory: str, tree: str) -> Client:
    """Starts `snapd serve --stdio` in a directory of its own and opens a folder, as an editor does."""
    _make_directories(directory)
    client = Client.spawn(
        [sys.executable, "-m", "snapd", "serve", "--stdio"],
        cwd=directory,
        env=environment(directory),
        stderr=subprocess.DEVNULL,
        timeout=TIMEOUT_SECONDS,
    )
    client.initialize([tree], client_name="bench")
    return client


def environment(directory: str) -> dict[str, str]:
    """What a daemon gets to see: nothing of the user's settings."""
    home = os.path.join(directory, "home")
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "HOME": home,
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "XDG_CONFIG_HOME": os.path.join(home, ".config"),
        "SNAPD_DATA_DIR": os.path.join(directory, "data"),
        "SNAPD_RUNTIME_DIR": os.path.join(directory, "run"),
    }


def _make_directories(directory: str) -> None:
    for name in ("home", "data", "run"):
        os.makedirs(os.path.join(directory, name), mode=0o700, exist_ok=True)
