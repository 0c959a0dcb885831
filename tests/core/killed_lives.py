"""Processes that open a workspace, work in it and are killed, one after the other; prints what each start took.

    python -m tests.core.killed_lives FOLDER COUNT

Each line is about the start of one process: the calls of functions from opening the workspace to the first answers,
and the bytes of the journal and of the database's log that it had to read.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from snapd.core.review.changes import list_files
from snapd.model.call import Call
from tests.support.counting import calls_of
from tests.support.sessions import Agents
from tests.support.workspace import Bench, make

_FILES = 60
_SESSION = "session"


def _prepare(folder: Path) -> None:
    bench = make(folder, {f"d{at % 6}/f{at}": b"one\n" for at in range(_FILES)})
    agents = Agents(bench)
    agents.start(_SESSION)
    for at in range(10):
        agents.step(_SESSION, {f"d{at % 6}/f{at}": b"two\n"})
    bench.close()


def _live(folder: Path, number: int) -> None:
    """Opens the workspace, asks, makes a step, and is killed."""
    bench = Bench(folder, "")
    agents = Agents(bench)
    steps: list[str] = []

    def start() -> None:
        bench.open()
        steps.append(agents.begin(_SESSION))
        list_files(bench.workspace.store.timeline, bench.workspace.store, Call())

    before = _bytes(folder, "*/journal/*"), _bytes(folder, "*/timeline.db-wal")
    print(calls_of(start), *before, flush=True)
    at = number % _FILES
    bench.write({f"d{at % 6}/f{at}": b"life %d\n" % number})
    agents.end(steps[0])
    os.kill(os.getpid(), signal.SIGKILL)


def _bytes(folder: Path, pattern: str) -> int:
    return sum(path.stat().st_size for path in (folder / "data").rglob(pattern))


def main() -> None:
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    for number in range(-1, count):
        # each in a process of its own: this one has a single thread
        pid = os.fork()
        if not pid:
            if number < 0:
                _prepare(folder)
                os._exit(0)
            _live(folder, number)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status != (0 if number < 0 else -signal.SIGKILL):
            raise SystemExit(f"a process ended with {status}")


if __name__ == "__main__":
    main()
