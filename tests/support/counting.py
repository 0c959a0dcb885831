"""Counts what some work takes, in calls of functions: the same on every machine, and on a busy one."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls_of(work: Callable[[], Any], at: int | None = None, then: Callable[[], Any] | None = None) -> int:
    """How many functions, of Python and of C, some work calls, in this thread and in those that it starts.

    Args:
        work: what to do; what it raises is left to it.
        at: after so many calls `then` is called, once.
        then: what has an effect on the rest of the work.
    """
    # atomic, as an addition is not: the threads share it
    count = itertools.count(1).__next__

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if (event == "call" or event == "c_call") and count() == at and then is not None:
            then()

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return count() - 1
