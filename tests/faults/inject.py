"""What goes wrong at a failpoint. The only place that arms one: by the module's own variable, in this process."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable

import attrs

from snapd import failpoints
from snapd.workers import processes

ERRORS = {"EIO": errno.EIO, "ENOSPC": errno.ENOSPC, "EMFILE": errno.EMFILE}
FAULTS = ("kill", *ERRORS, "delay")

_BOOT = processes.BOOT
_CHILD = "from tests.faults.inject import arm_child; arm_child({0!r}, {1!r}); import_module(module)"


@attrs.frozen
class Fault:
    """One thing that goes wrong.

    Attributes:
        kind: one of `FAULTS`.
        point: the failpoint.
        nth: at which time that it is come to, from 1 on.
    """

    kind: str
    point: str
    nth: int

    def __str__(self) -> str:
        return f"{self.kind}@{self.point}:{self.nth}"


def possible(kind: str, point: str) -> bool:
    """Whether that can go wrong there."""
    return kind in ("kill", "delay") or point in failpoints.SYSTEM or point in failpoints.DATABASE


class Injector:
    """Listens to the failpoints of this process, and has one thing go wrong.

    Args:
        fault: what, None to have nothing go wrong.
        meanwhile: what others do in a delay.

    Attributes:
        came: the failpoints that were come to, in their order.
        happened: whether it went wrong.
    """

    def __init__(self, fault: Fault | None, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.fault = fault
        self.meanwhile = meanwhile
        self.came: list[str] = []
        self.happened = False
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def arm(self) -> None:
        failpoints.listener = self

    def disarm(self) -> None:
        failpoints.listener = None

    def __call__(self, point: str) -> None:
        fault = self.fault
        with self._lock:
            self.came.append(point)
            self._counts[point] += 1
            count = self._counts[point]
        if fault is None or fault.point != point or count < fault.nth:
            return
        # a disk that is full stays so; an error of the disk, and a want of descriptors, come and go
        if count > fault.nth and (fault.kind != "ENOSPC" or point not in failpoints.SYSTEM):
            return
        self.happened = True
        if fault.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault.kind == "delay":
            self.meanwhile()
            return
        code = ERRORS[fault.kind]
        if point in failpoints.DATABASE:
            raise sqlite3.OperationalError("database or disk is full" if code == errno.ENOSPC else "disk I/O error")
        raise OSError(code, os.strerror(code))


def arm_children(fault: Fault | None, report: str) -> None:
    """Has processes that snapd starts from this one have something go wrong too.

    Args:
        fault: what; None for nothing, any more.
        report: a file that gets the names of the failpoints that they come to.
    """
    spec = "" if fault is None else f"{fault.kind} {fault.point} {fault.nth}"
    processes.BOOT = _BOOT.replace("import_module(module)", _CHILD.format(spec, report))


def arm_child(spec: str, report: str) -> None:
    """In a process that snapd started."""
    kind, point, nth = spec.split() if spec else ("", "", "0")
    injector = Injector(Fault(kind, point, int(nth)) if spec else None)

    def listen(name: str) -> None:
        with open(report, "a") as file:
            file.write(f"{name}\n")
        injector(name)

    failpoints.listener = listen
