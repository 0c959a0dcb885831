"""The watchdog of the loop sees what holds it up, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WHAT = {
    "computes": "deadline = time.thread_time() + 0.1\n    while time.thread_time() < deadline: pass",
    "sleeps": "time.sleep(1)",
    "waits for a lock": "held.acquire(timeout=1)",
    "reads a pipe": "select.select([pipe], [], [], 1)",
    "does little": "pass",
}

SCRIPT = """
import asyncio, logging, os, select, sys, threading, time
sys.path.insert(0, {folder!r})
from watched import Watchdog
logging.basicConfig(stream=sys.stderr)
held = threading.Lock()
held.acquire()
pipe, _ = os.pipe()
ends = threading.Event()

def hog():
    while not ends.is_set():
        sum(range(1000))

def callback():
    {what}

async def main():
    loop = asyncio.get_running_loop()
    loop.call_soon(callback)
    await asyncio.sleep(0.05)
    ends.set()

for _ in range(3):
    threading.Thread(target=hog).start()
Watchdog().start()
asyncio.run(main())
"""


@pytest.mark.parametrize("what", WHAT)
def test_it_tells_of_what_holds_the_loop_up(what: str) -> None:
    """Threads that compute all the time beside it are no reason."""
    script = SCRIPT.format(folder=str(Path(__file__).parent), what=WHAT[what])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.count("the loop stood still") == (0 if what == "does little" else 1), done.stderr
