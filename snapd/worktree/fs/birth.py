"""When a file was born: a rename and an edit leave that time as it is, and no program can set it."""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_BTIME = 0x800
_UNFOLLOWED = 0x100
_MASK = struct.Struct("=I")
_TIME = struct.Struct("=80xqI")
_STATX_BYTES = 256


def _load() -> ctypes._NamedFuncPointer | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        found = ctypes.CDLL(None, use_errno=True).statx
    except (AttributeError, OSError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p)
    return found


_statx = _load()


def birth_ns(directory: int, name: bytes) -> int | None:
    """When a file or directory was born, nanoseconds since 1970; None where nobody knows (or nothing is there).

    Args:
        directory: descriptor of its directory.
        name: its name there.
    """
    if _statx is None:
        try:
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except OSError:
            return None
        seconds: float | None = getattr(found, "st_birthtime", None)
        return None if seconds is None else int(seconds * 1e9)
    buffer = ctypes.create_string_buffer(_STATX_BYTES)
    if _statx(directory, name, _UNFOLLOWED, _BTIME, buffer) != 0 or not _MASK.unpack_from(buffer)[0] & _BTIME:
        return None
    whole, rest = _TIME.unpack_from(buffer)
    return int(whole) * 1_000_000_000 + int(rest)
