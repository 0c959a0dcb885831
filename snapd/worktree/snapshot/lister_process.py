"""The process that lists directories for `walker.ListerPool`: paths come in, listings go out, until the input ends.

It imports little, so that it starts in some milliseconds. It watches each directory before it lists it, if it has the
clock's queues.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

from snapd.watch.queues import SharedQueues
from snapd.worktree.fs.directories import Directories
from snapd.worktree.fs.listing import Listing, encode, failed, list_directory

PATH = struct.Struct("<I")
"""Bytes of the path that follows."""

_READ_BYTES = 1 << 16
_TOGETHER = 32
"""Listings that are written at once."""


class _Watcher:
    """Watches directories of one file system in the clock's queues; without queues, it watches nothing."""

    def __init__(self, device: int, queues: Sequence[int]) -> None:
        self._device = device
        self._queues = SharedQueues(queues) if queues else None

    def watch(self, directory: int) -> int:
        """The number of the watch; -1 if there is none: the process that asked then tries itself and sees the error."""
        if self._queues is None or os.fstat(directory).st_dev != self._device:
            return -1
        try:
            return self._queues.add(directory)
        except OSError:
            return -1


def main(descriptors: str) -> None:
    """Serves standard input and output; the descriptors are that of the root of paths, then the clock's queues."""
    root, *queues = map(int, descriptors.split())
    watcher = _Watcher(os.fstat(root).st_dev, queues)
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
                pieces += encode(_listing(directories, watcher, data[start:at]))
                listed += 1
                if listed % _TOGETHER == 0:
                    _write(pieces)
                    pieces = []
            _write(pieces)
            data = data[at:]


def _listing(directories: Directories, watcher: _Watcher, path: bytes) -> Listing:
    try:
        descriptor = directories.open(path)
        return list_directory(descriptor, watcher.watch(descriptor))
    except OSError as error:
        return failed(error)


def _write(pieces: list[bytes]) -> None:
    view = memoryview(b"".join(pieces))
    while view:
        view = view[os.write(1, view) :]
