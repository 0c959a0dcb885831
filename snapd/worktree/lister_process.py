"""The process that lists directories for `lister.py`: paths come in, listings go out, until the input ends.

Run as a script, isolated and without site packages, so that it is there in some milliseconds.
"""

from __future__ import annotations

import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from snapd.worktree.directories import Directories
from snapd.worktree.listing import Listing, encode, failed, list_directory

_LENGTH = struct.Struct("<H")
_READ_BYTES = 1 << 16


def _serve(root: int) -> None:
    data = b""
    with Directories(root) as directories:
        while more := os.read(0, _READ_BYTES):
            data += more
            at = 0
            pieces: list[bytes] = []
            while len(data) - at >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(data, at)
                start = at + _LENGTH.size
                if start + length > len(data):
                    break
                at = start + length
                pieces += encode(_listing(directories, data[start:at]))
            _write(pieces)
            data = data[at:]


def _listing(directories: Directories, path: bytes) -> Listing:
    try:
        return list_directory(directories.open(path))
    except OSError as error:
        return failed(error)


def _write(pieces: list[bytes]) -> None:
    view = memoryview(b"".join(pieces))
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
