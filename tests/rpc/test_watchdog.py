"""The watchdog of the loop sees what holds it up, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import asyncio, logging, os, select, sys, threading, time
sys.path.insert(0, {folder!r})
from watched import BOUND_SECONDS, Watchdog
logging.basicConfig(stream=sys.stderr)
held = threading.Lock()
held.acquire()
pipe, other_end = os.pipe()
ends = threading.Event()
watchdog = Watchdog()

def seen():
    # a busy machine lets the watchdog look seldom
    return any(seconds > BOUND_SECONDS for seconds in [*watchdog._asleep.values()])

def after_seen(end):
    def wait():
        while not seen():
            time.sleep(0.01)
        end()
    threading.Thread(target=wait, daemon=True).start()

def hog():
    while not ends.is_set():
        sum(range(1000))

def computes():
    deadline = time.thread_time() + 0.1
    while time.thread_time() < deadline:
        pass

def sleeps():
    while not seen():
        time.sleep(0.1)

def waits_for_a_lock():
    after_seen(held.release)
    held.acquire(timeout=30)

def reads_a_pipe():
    after_seen(lambda: os.write(other_end, b"."))
    select.select([pipe], [], [], 30)

def does_little():
    pass

async def main():
    for what in (does_little, computes, sleeps, waits_for_a_lock, reads_a_pipe, does_little):
        asyncio.get_running_loop().call_soon(what)
        await asyncio.sleep(0.05)
    ends.set()

for _ in range(3):
    threading.Thread(target=hog).start()
watchdog.start()
asyncio.run(main())
"""


def test_it_tells_of_what_holds_the_loop_up() -> None:
    """Threads that compute all the time beside it are no reason."""
    script = SCRIPT.format(folder=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    told = re.findall(r"the loop stood still.*<Handle (\w+)\(\)", done.stderr)
    assert told == ["computes", "sleeps", "waits_for_a_lock", "reads_a_pipe"], done.stderr
