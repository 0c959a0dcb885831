"""Work in a process of its own that may be killed: what it said until then is kept."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any

import attrs

Say = Callable[..., None]

_SET_CHILD_SUBREAPER = 36
_SECONDS = 60.0
_LINGER_SECONDS = 20.0


@attrs.frozen
class Ended:
    """How a process ended.

    Attributes:
        status: its exit status, the negative number of a signal.
        said: what it said, in its order.
        lingering: whether processes that it had started went on.
    """

    status: int
    said: list[dict[str, Any]]
    lingering: bool

    @property
    def killed(self) -> bool:
        return self.status == -signal.SIGKILL

    def all(self, key: str) -> list[Any]:
        """What it said by that key."""
        return [one[key] for one in self.said if key in one]


def adopt_orphans() -> None:
    """Makes this process the parent of processes whose own parent dies, so that none escapes `run`."""
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def run(work: Callable[[Say], None]) -> Ended:
    """Does work in a fork of this process, which must have one thread alone and no other children."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        status = 0
        try:
            work(lambda **what: os.write(writing, json.dumps(what).encode() + b"\n") and None)
        except BaseException:
            os.write(writing, json.dumps({"crash": traceback.format_exc()}).encode() + b"\n")
            status = 70
        finally:
            os._exit(status)
    os.close(writing)
    data = b""
    deadline = time.monotonic() + _SECONDS
    hung = False
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            hung = True
            os.kill(pid, signal.SIGKILL)
            break
        piece = os.read(reading, 1 << 16)
        if not piece:
            break
        data += piece
    os.close(reading)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    # a line that a kill cut short says nothing
    said = [json.loads(line) for line in data.split(b"\n")[:-1]]
    if hung:
        said.append({"crash": f"it did not end within {_SECONDS} s"})
    return Ended(status, said, not _all_gone())


def _all_gone() -> bool:
    """Whether all processes that the fork had started have ended, or do so by themselves."""
    deadline = time.monotonic() + _LINGER_SECONDS
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            if time.monotonic() > deadline:
                for left in _children():
                    os.kill(left, signal.SIGKILL)
                    os.waitpid(left, 0)
                return False
            time.sleep(0.002)


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]
