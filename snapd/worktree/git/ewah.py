"""Reads the compressed bitmaps (EWAH) that git keeps in split indexes."""

from __future__ import annotations

import struct

_WORD = struct.Struct(">I")


def read_bitmap(data: bytes, at: int, bound: int) -> tuple[list[int], int]:
    """Reads one EWAH bitmap.

    Args:
        data: the bytes that contain it.
        at: the offset of its beginning.
        bound: every position must be less than this.

    Returns:
        The positions of the bits that are set, ascending, and the offset of the bitmap's end.

    Raises:
        OverflowError: a position is too great.
        struct.error: the bytes end too early.
    """
    _, count = struct.unpack_from(">II", data, at)
    at += 8
    words = struct.unpack_from(f">{count}Q", data, at)
    end = at + 8 * count + _WORD.size
    _WORD.unpack_from(data, end - _WORD.size)
    found: list[int] = []
    position = 0
    next_word = 0
    while next_word < count:
        word = words[next_word]
        run = (word >> 1 & 0xFFFFFFFF) * 64
        if word & 1:
            if position + run > bound + 63:
                raise OverflowError("a position is too great")
            found.extend(range(position, position + run))
        position += run
        first = next_word + 1
        next_word = first + (word >> 33)
        for literal in words[first:next_word]:
            found.extend(position + bit for bit in range(64) if literal >> bit & 1)
            position += 64
    if found and found[-1] >= bound:
        raise OverflowError("a position is too great")
    return found, end
