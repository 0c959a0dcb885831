"""A snapd command as the tests run a daemon: its loop is watched, and what it does can be held up.

The watchdog takes each callback of the loop by itself and adds up what it costs everybody else: the processor time of
the loop's own thread, and the time for which that thread slept in the middle of a callback. A loaded machine changes
neither: to the system, a thread that waits for a processor is not asleep, and one that waits for the interpreter lock
wakes every 5 ms and so uses some time. Only where two threads share a core does each use up to twice the time: the
bound has room for that, and for a garbage collection. A callback that costs more than `BOUND_SECONDS` is a defect in
the log, which fails the test that the daemon was for.

To hold something up, a test puts a file into the directory `$TEST_GATES`, named after what is to wait and the name
of the folder: `look-NAME`, `open-NAME`, `close-NAME`. While something waits, `NAME.waiting` is beside it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snapd.cli import main as command_line
from snapd.core.operations.writer import Writer
from snapd.core.workspace import Workspace
from snapd.workspaces import Workspaces

if TYPE_CHECKING:
    from collections.abc import Callable

BOUND_SECONDS = 0.1
TICK_SECONDS = 0.01
MOST_SECONDS = 0.03
"""What one look at the loop tells at most."""
POLL_SECONDS = 0.002

logger = logging.getLogger("snapd.watchdog")


class Watchdog:
    """Measures the callbacks of the loop that runs in this thread."""

    def __init__(self) -> None:
        self._serves = False
        self._running: object = None
        self._asleep: dict[object, float] = {}
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        # opened once: a test may leave the daemon no descriptors
        self._stat = os.open(f"/proc/self/task/{threading.get_native_id()}/stat", os.O_RDONLY | os.O_CLOEXEC)

    def start(self) -> None:
        run = asyncio.Handle._run  # noqa: SLF001 - what runs in a loop has no public hook

        def measured(handle: asyncio.Handle) -> None:
            if not self._serves:
                # the first one makes the daemon: nobody is served yet
                self._serves = True
                run(handle)
                return
            token = object()
            began = time.thread_time()
            self._running = token
            try:
                run(handle)
            finally:
                self._running = None
                asleep = self._asleep.pop(token, 0.0)
                busy = time.thread_time() - began
                if busy + asleep > BOUND_SECONDS:
                    logger.error("defect: the loop stood still: %.3f s busy, %.3f s asleep in %r", busy, asleep, handle)

        asyncio.Handle._run = measured  # type: ignore[method-assign]  # noqa: SLF001
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def _watch(self) -> None:
        before: tuple[object, float] | None = None
        since = 0.0
        while True:
            time.sleep(TICK_SECONDS)
            token, now = self._running, time.monotonic()
            if token is None or not self._sleeps():
                before = None
                continue
            used = time.clock_gettime(self._clock)
            if before == (token, used):
                # it ran for no moment in between, so it was asleep all the time, unless the whole process was stopped
                self._asleep[token] = self._asleep.get(token, 0.0) + min(now - since, MOST_SECONDS)
            before, since = (token, used), now

    def _sleeps(self) -> bool:
        return os.pread(self._stat, 512, 0).rpartition(b")")[2].split()[0] in (b"S", b"D")


def hold_up(owner: type, name: str, what: str, root_of: Callable[..., bytes]) -> None:
    """Has a method wait for as long as a test wants it to."""
    gates = os.environ.get("TEST_GATES")
    if gates is None:
        return
    work = getattr(owner, name)

    def held(*arguments: Any, **named: Any) -> Any:
        gate = Path(gates, f"{what}-{os.path.basename(os.fsdecode(root_of(*arguments)))}")
        if gate.exists():
            waiting = gate.with_suffix(".waiting")
            waiting.touch()
            while gate.exists():
                time.sleep(POLL_SECONDS)
            waiting.unlink(missing_ok=True)
        return work(*arguments, **named)

    setattr(owner, name, held)


def main() -> int:
    """Runs the command of this process."""
    hold_up(Writer, "look", "look", lambda writer, *_: writer.work_tree.root)
    hold_up(Workspaces, "make", "open", lambda _, place, *__: place.root)
    hold_up(Workspace, "close", "close", lambda workspace: workspace.root)
    Watchdog().start()
    return command_line.main()


if __name__ == "__main__":
    sys.exit(main())
