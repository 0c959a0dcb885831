"""The process that lists directories for `lister.py`: paths come in, listings go out, until the input ends.

It imports little, so that it is there in some milliseconds. Each directory is watched before it is listed, where a
queue is given.
"""

from __future__ import annotations

import os
import struct

from snapd.watch.inotify import Inotify

from .directories import Directories
from .listing import Listing, encode, failed, list_directory

_LENGTH = struct.Struct("<H")
_READ_BYTES = 1 << 16
_TOGETHER = 32
"""Listings that are sent at once."""


class _Watcher:
    """Watches directories of one file system.

    Args:
        device: of the file system.
        queue: where it is told what happens in them; None for nowhere.
    """

    def __init__(self, device: int, queue: int | None) -> None:
        self._device = device
        self._inotify = None if queue is None else Inotify(queue)

    def watch(self, directory: int) -> int:
        """The number of the watch; -1 where there is none: who asked tries it itself, and is told why."""
        if self._inotify is None or os.fstat(directory).st_dev != self._device:
            return -1
        try:
            return self._inotify.add(directory)
        except OSError:
            return -1


def main(descriptors: str) -> None:
    """Serves standard input and output.

    Args:
        descriptors: decimal numbers: of the directory that paths are relative to, and of the queue, if there is one.
    """
    root, *queues = map(int, descriptors.split())
    watcher = _Watcher(os.fstat(root).st_dev, queues[0] if queues else None)
    data = b""
    with Directories(root) as directories:
        while more := os.read(0, _READ_BYTES):
            data += more
            at = 0
            pieces: list[bytes] = []
            listed = 0
            while len(data) - at >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(data, at)
                start = at + _LENGTH.size
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
