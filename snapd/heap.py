"""Gives memory that large work has freed back to the system."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def give_back() -> None:
    """Has the C library let go of whole pages that it holds free, where it can be told to (glibc): one or two ms."""
    if _trim is not None:
        _trim(0)


def _find_trim() -> Callable[[int], int] | None:
    if os.name != "posix":
        return None
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim


_trim = _find_trim()
