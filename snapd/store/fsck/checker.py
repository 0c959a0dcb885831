"""Has a process of its own read, inflate and hash all objects: nobody waits for its turn at the interpreter lock."""

from __future__ import annotations

import os
import selectors
import sys
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import IoError, os_errors
from snapd.workers.processes import ChildProcess, can_start

from .checker_wire import Found, Garbled, decode_answer, encode_question
from .checkers import check
from .examine import disagreement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from snapd.core.call import Call
    from snapd.core.check_report import CheckReport

_READ_BYTES = 1 << 16
_LOOK_SECONDS = 0.1
"""How soon it is noticed that the check is not wanted any more."""


def check_apart(store: str, call: Call, agrees: Callable[[], bool]) -> CheckReport:
    """Checks all of a store that this process has open, as `checkers.check`; in this process only where it must be.

    Args:
        store: its directory.
        call: what this is for; no process is left where it is cancelled.
        agrees: whether the database of the timeline says what the events come to.

    Raises:
        StoreCorrupt, StorageFull, IoError, Cancelled: as `checkers.check`; an `IoError` too where the process ended
            before it had answered, or cannot be started.
    """
    if not can_start():
        return check(store, call, quick=False, agrees=agrees)
    with os_errors(sys.executable):
        child = ChildProcess("snapd.store.fsck.checker_process")
    found = None
    try:
        for line in _lines(child, encode_question(store), call):
            answer = decode_answer(line)
            if isinstance(answer, Found):
                found = answer
            else:
                call.progress(answer.message, answer.done, answer.total)
    except Garbled:
        # it died while it spoke
        found = None
    finally:
        status = child.end()
    if found is None:
        raise IoError(f"the process that checks {store} ended with {status}", hint="try again", path=store)
    if not found.asks_timeline:
        return found.checkup
    problems, _ = disagreement(agrees)
    return attrs.evolve(found.checkup, problems=(*found.checkup.problems, *problems))


def _lines(child: ChildProcess, question: bytes, call: Call) -> Iterator[bytes]:
    """What it says until it ends, line by line; a last one may be torn."""
    with selectors.DefaultSelector() as ready:
        ready.register(child.output, selectors.EVENT_READ)
        try:
            # the rest of the pipe stays open: its end tells the process that this one is gone
            os.write(child.input, question)
        except BrokenPipeError:
            return
        held = b""
        while True:
            call.check()
            if not ready.select(_LOOK_SECONDS):
                continue
            piece = os.read(child.output, _READ_BYTES)
            if not piece:
                break
            *lines, held = (held + piece).split(b"\n")
            yield from lines
    if held:
        yield held
