"""The kernel's queue of changes below watched directories: inotify(7), as it is.

An event is queued inside the system call that caused it. So who empties the queue and finds nothing knows that nothing
that had returned by then has changed a watched directory: the queue is its own barrier.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MODIFY = 0x00000002
ATTRIB = 0x00000004
CLOSE_WRITE = 0x00000008
MOVED_FROM = 0x00000040
MOVED_TO = 0x00000080
CREATE = 0x00000100
DELETE = 0x00000200
DELETE_SELF = 0x00000400
MOVE_SELF = 0x00000800
UNMOUNT = 0x00002000
OVERFLOW = 0x00004000
IGNORED = 0x00008000
_ONLY_DIRECTORIES = 0x01000000

# a store to a mapped file raises nothing by itself, but the file is closed when the last mapping of it goes
_CHANGES = (
    MODIFY
    | ATTRIB
    | CLOSE_WRITE
    | MOVED_FROM
    | MOVED_TO
    | CREATE
    | DELETE
    | DELETE_SELF
    | MOVE_SELF
    | _ONLY_DIRECTORIES
)

_EVENT = struct.Struct("=iIII")
_READ_BYTES = 1 << 18


class Event(NamedTuple):
    """One event: the watch that it is of, what happened, and the name in the directory (none: the directory itself)."""

    watch: int
    mask: int
    name: bytes


class Unsupported(OSError):
    """This system has no inotify."""


class Inotify:
    """One queue.

    Args:
        descriptor: of a queue that there is already; None for a new one.

    Raises:
        Unsupported: there is no inotify here.
        OSError: EMFILE where the user has no queue left (`fs.inotify.max_user_instances`).
    """

    def __init__(self, descriptor: int | None = None) -> None:
        if not sys.platform.startswith("linux"):
            raise Unsupported(errno.ENOSYS, "inotify is of Linux")
        try:
            library = ctypes.CDLL(None, use_errno=True)
            self._add = library.inotify_add_watch
            self._remove = library.inotify_rm_watch
            initialise = library.inotify_init1
        except (OSError, AttributeError) as error:
            raise Unsupported(errno.ENOSYS, "the C library has no inotify") from error
        self._add.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
        self._remove.argtypes = (ctypes.c_int, ctypes.c_int)
        self.descriptor: int = initialise(os.O_NONBLOCK | os.O_CLOEXEC) if descriptor is None else descriptor
        if self.descriptor < 0:
            raise _last_error("inotify_init1")

    def close(self) -> None:
        """Ends the queue and all its watches."""
        os.close(self.descriptor)

    def add(self, directory: int) -> int:
        """Watches the directory that a descriptor is open on; the same directory has the same watch.

        Args:
            directory: a descriptor, so that a path that is swapped meanwhile leads nowhere else.

        Returns:
            The number of the watch.

        Raises:
            OSError: ENOSPC where the user has no watch left (`fs.inotify.max_user_watches`), ENOMEM likewise.
        """
        watch: int = self._add(self.descriptor, b"/proc/self/fd/%d" % directory, _CHANGES)
        if watch < 0:
            raise _last_error("inotify_add_watch")
        return watch

    def remove(self, watch: int) -> None:
        """Watches no more; one that is gone already, with its directory, is none to remove."""
        if self._remove(self.descriptor, watch) < 0 and ctypes.get_errno() != errno.EINVAL:
            raise _last_error("inotify_rm_watch")

    def read(self) -> Iterator[Event]:
        """Empties the queue; never waits.

        Raises:
            OSError: the queue cannot be read.
        """
        while True:
            try:
                data = os.read(self.descriptor, _READ_BYTES)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                watch, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                name = data[at : at + length].rstrip(b"\0")
                at += length
                yield Event(watch, mask, name)


def _last_error(call: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, f"{call}: {os.strerror(code)}")
