"""How much two files have in common, in percent, as git says it of a rename (its `diffcore-delta.c`)."""

from __future__ import annotations

import re
from collections import Counter

from .text import is_binary

_PIECE = re.compile(rb"[^\n]{0,63}\n|[^\n]{1,64}")
"""A line, or 64 bytes of a longer one."""


def similarity(old: bytes, new: bytes) -> int:
    """Counts the bytes of `old` that are in `new` too, wherever they are, in percent of the longer file."""
    if old == new:
        return 100
    longer = max(len(old), len(new))
    before, after = _pieces(old), _pieces(new)
    common = sum(min(count, after[piece]) * len(piece) for piece, count in before.items())
    # in two steps, each rounded down, because git counts in 60,000ths
    return common * 60_000 // longer * 100 // 60_000


def _pieces(data: bytes) -> Counter[bytes]:
    # in text, it is no difference how a line ends
    return Counter(_PIECE.findall(data if is_binary(data) else data.replace(b"\r\n", b"\n")))
