"""The process that lists directories for `walker.ListerPool`: paths come in, listings go out, until the input ends.

It imports little, so that it starts in some milliseconds. It watches each directory before it lists it, if it has the
clock's queues.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress

from snapd.watch.queues import SharedQueues
from snapd.worktree.fs.directories import Directories
from snapd.worktree.fs.listing import Listing, encode, failed, list_directory

PATH = struct.Struct("<I")
"""Bytes of the path that follows."""

_READ_BYTES = 1 << 16
_TOGETHER = 32
"""Listings that are written at once."""


def main(descriptors: str) -> None:
    """Serves standard input and output; the descriptors are that of the root of paths, then the clock's queues."""
    root, *queues = map(int, descriptors.split())
    device, shared = os.fstat(root).st_dev, SharedQueues(queues) if queues else None
    data = b""
    with Directories(root) as directories:
        while more := os.read(0, _READ_BYTES):
            data += more
            at = 0
            pieces: list[bytes] = []
            listed = 0
            while len(data) - at >= PATH.size:
                (length,) = PATH.unpack_from(data, at)
                start = at + PATH.size
                if start + length > len(data):
                    break
                at = start + length
                pieces += encode(_listing(directories, shared, device, data[start:at]))
                listed += 1
                if listed % _TOGETHER == 0:
                    _write(pieces)
                    pieces = []
            _write(pieces)
            data = data[at:]


def _listing(directories: Directories, shared: SharedQueues | None, device: int, path: bytes) -> Listing:
    try:
        descriptor, watch = directories.open(path), -1
        if shared is not None and os.fstat(descriptor).st_dev == device:
            # without a watch, the process that asked tries itself and sees the error
            with suppress(OSError):
                watch = shared.add(descriptor)
        return list_directory(descriptor, watch)
    except OSError as error:
        return failed(error)


def _write(pieces: list[bytes]) -> None:
    view = memoryview(b"".join(pieces))
    while view:
        view = view[os.write(1, view) :]
