"""Makes something go wrong at a failpoint."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from snapd import failpoints


class Killed(BaseException):
    """Stands for the end of the process."""


@contextmanager
def at_failpoint(name: str, then: Callable[[], object], nth: int = 1) -> Iterator[None]:
    """Calls `then` when the work passes a failpoint for the nth time."""
    passed = itertools.count(1)
    failpoints.listener = lambda point: then() if point == name and next(passed) == nth else None
    try:
        yield
    finally:
        failpoints.listener = None


@contextmanager
def killed_at(name: str, nth: int = 1) -> Iterator[None]:
    """Ends the work at a failpoint, as a kill would; the work has to come there."""
    passed = itertools.count(1)
    dead = False

    def listen(point: str) -> None:
        nonlocal dead
        dead = dead or (point == name and next(passed) == nth)
        if dead:
            raise Killed

    failpoints.listener = listen
    try:
        with pytest.raises(Killed):
            yield
    finally:
        failpoints.listener = None
