"""The process that lists directories for `walker.ListerPool`; it imports little, to start within milliseconds."""

from __future__ import annotations

import os
import struct
from contextlib import suppress

from snapd.watch.queues import SharedQueues
from snapd.worktree.fs.directories import Directories
from snapd.worktree.fs.listing import Listing, encode, failed, list_directory

PATH = struct.Struct("<I")  # length of the path that follows, bytes

_READ_BYTES = 1 << 16
_TOGETHER = 32  # listings per write


def main(descriptors: str) -> None:
    """Lists the directories whose paths come in on standard input; watches each first, if it has the clock's queues."""
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
            # without a watch, the parent process tries itself and gets the error
            with suppress(OSError):
                watch = shared.add(descriptor)
        return list_directory(descriptor, watch)
    except OSError as error:
        return failed(error)


def _write(pieces: list[bytes]) -> None:
    view = memoryview(b"".join(pieces))
    while view:
        view = view[os.write(1, view) :]
