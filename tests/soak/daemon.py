"""The daemon of a soak: started, killed, measured."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from .disk import MAX_FILE_SIZE
from .figures import Figures
from .problems import Broken, holds

_WAIT = 60.0
_MIB = 1 << 20

MAX_RSS = 300 * _MIB
"""An idle daemon has about 60 MiB. libgit2 may map 16 MiB of packs and cache as much for each of the three folders,
and a client that does not read holds 64 MiB of notifications before it is dropped: 220 MiB. Ten minutes came to 144.
A leak of one small tree for each request comes to more within the hour."""
MAX_THREADS = 64
"""The pools of a daemon are bounded by its processors, and each open folder has a few of its own: 26 were seen."""
DESCRIPTORS_OF_A_FOLDER = 24
"""Its inotify queue, directory, locks, journal, database, packs and processes."""
DESCRIPTORS_OF_THE_DAEMON = 48


class Daemon:
    """One `snapd serve`, and then the next."""

    def __init__(self, folder: Path, figures: Figures) -> None:
        self._figures = figures
        self._process: subprocess.Popen[bytes] | None = None
        self.data = folder / "data"
        self.log = folder / "log"
        self.socket = str(folder / "run" / "daemon.sock")
        (folder / "home").mkdir(parents=True)
        (folder / "run").mkdir(mode=0o700)
        self.environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "HOME": str(folder / "home"),
            "XDG_CONFIG_HOME": str(folder / "home" / "config"),
            "SNAPD_DATA_DIR": str(self.data),
            "SNAPD_RUNTIME_DIR": str(folder / "run"),
            "SNAPD_MAX_FILE_SIZE": str(MAX_FILE_SIZE),
            "LC_ALL": "C.UTF-8",
        }

    async def start(self) -> None:
        self._process = process = self._spawn()
        deadline = time.monotonic() + _WAIT
        while not self._answers():
            holds(process.poll() is None, f"the daemon ended: {self._log_text()[-2000:]}")
            holds(time.monotonic() < deadline, "the daemon does not listen")
            await asyncio.sleep(0.01)
        holds(process.poll() is None, f"the daemon ended: {self._log_text()[-2000:]}")

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "snapd", "serve"],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
            probe.connect(self.socket)
            return True
        return False

    async def kill(self) -> None:
        """Kills it where it stands; what it had started has to end by itself."""
        assert self._process is not None
        holds(self._process.poll() is None, "the daemon ended by itself")
        self.measure(None)
        children = _children(self._process.pid)
        self._process.kill()
        await asyncio.to_thread(self._process.wait)
        deadline = time.monotonic() + _WAIT
        while any(_is_alive(child) for child in children):
            holds(time.monotonic() < deadline, "what a killed daemon had started goes on")
            await asyncio.sleep(0.02)

    async def kill_others(self) -> None:
        """Kills the daemon that a command has started, because ours was dead."""
        number = self._listening()
        words = _stat(number) if number is not None else None
        if number is None or words is None or (self._process is not None and number == self._process.pid):
            return
        if f"SNAPD_RUNTIME_DIR={os.path.dirname(self.socket)}\0" not in _environment(number):
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
        deadline = time.monotonic() + _WAIT
        # its main thread may be gone before the one that holds its socket open
        while _is_alive((number, words[19])) or self._answers():
            holds(time.monotonic() < deadline, "a killed daemon goes on")
            await asyncio.sleep(0.02)

    def _listening(self) -> int | None:
        """Who says that it listens on the socket."""
        try:
            return int(Path(f"{self.socket}.pid").read_text())
        except (FileNotFoundError, ValueError):
            return None

    async def abandon(self) -> None:
        """Ends whatever runs, after something did not hold."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        await self.kill_others()

    async def stop(self) -> None:
        """Ends it in order."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                code = await asyncio.to_thread(self._process.wait, _WAIT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                raise Broken("the daemon did not end in order") from None
            # it ends after some seconds whatever its threads do; a disk that is busy for so long is no fault of it
            syncs = code == 1 and "in sync_if_there\n" in self._log_text().rpartition("Timeout (")[2]
            holds(code == 0 or syncs, f"the daemon ended with {code}: {self._log_text()[-4000:]}")

    def measure(self, most_descriptors: int | None) -> None:
        """Looks at its memory, threads and descriptors, and checks that they stay within bounds."""
        assert self._process is not None
        holds(self._process.poll() is None, f"the daemon ended by itself: {self._log_text()[-2000:]}")
        above = Path("/proc") / str(self._process.pid)
        status = dict(line.split(":", 1) for line in (above / "status").read_text().splitlines())
        memory = int(status["VmHWM"].split()[0]) * 1024
        threads = int(status["Threads"])
        descriptors = len(os.listdir(above / "fd"))
        figures = self._figures
        figures.max_rss_mib = max(figures.max_rss_mib, memory / _MIB)
        figures.max_threads = max(figures.max_threads, threads)
        figures.max_descriptors = max(figures.max_descriptors, descriptors)
        holds(memory <= MAX_RSS, f"the daemon takes {memory / _MIB:.0f} MiB")
        holds(threads <= MAX_THREADS, f"the daemon has {threads} threads")
        if most_descriptors is not None:
            holds(descriptors <= most_descriptors, f"the daemon has {descriptors} of {most_descriptors} descriptors")

    def check_log(self) -> None:
        text = self._log_text()
        holds("Traceback" not in text and "defect" not in text, text[-4000:])

    def _log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""


def _children(pid: int) -> list[tuple[int, str]]:
    """Those whom a process has started, each with the time of its start."""
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [(number, words[19]) for number in numbers if (words := _stat(number)) and int(words[1]) == pid]


def _is_alive(child: tuple[int, str]) -> bool:
    words = _stat(child[0])
    return words is not None and words[19] == child[1] and words[0] != "Z"


def _environment(pid: int) -> str:
    try:
        return (Path("/proc") / str(pid) / "environ").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""


def _stat(pid: int) -> list[str] | None:
    """The fields of `/proc/<pid>/stat` behind the name: state, parent and so on; None where it is gone."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
