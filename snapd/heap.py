"""Memory of the whole process: returns free pages to the system, and keeps the collector off what stays."""

from __future__ import annotations

import ctypes
import gc
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def frozen_objects() -> Iterator[None]:
    """Keeps the garbage collector off everything made in this block, now and later: it lives as long as the process.

    For modules and classes: a daemon has so many that collections during its imports take a tenth of its start, and a
    collection over all of them stops every thread for some 40 ms.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Parameters of mallopt(3)."""
_LARGE = 4 << 20


def share_among_threads() -> None:
    """Makes all threads share one heap, and freed blocks of 4 MiB and over go back to the system (glibc).

    Otherwise each new thread may get a heap of its own that never shrinks: 90 MiB after 10,000 steps in a tree of
    78,000 files. Only for snapd's own processes, before they start threads.
    """
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)
        # by default, both would grow with the largest block that was ever freed
        mallopt(_MMAP_THRESHOLD, _LARGE)
        # each page of a diff takes some 10 MiB: it should find those of the page before
        mallopt(_TRIM_THRESHOLD, 8 * _LARGE)


def release_pages() -> None:
    """Makes the C library return its free pages to the system (glibc only); takes one or two ms."""
    if trim is not None:
        trim(0)


def find(name: str) -> Callable[..., int] | None:
    """A function of the C library; None if it has none of that name."""
    if os.name != "posix":
        return None
    found: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)
    return found


trim = find("malloc_trim")
mallopt = find("mallopt")
