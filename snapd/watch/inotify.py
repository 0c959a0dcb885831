"""The kernel's queue of changes in watched directories: inotify(7).

The kernel queues an event inside the system call that causes it. So an empty queue means that no call that had returned
by then changed a watched directory: the queue is its own barrier.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

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
DIRECTORY = 0x40000000
_ONLY_DIRECTORIES = 0x01000000

# a write to a mapped file raises no event, but the end of its last mapping closes the file
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
    """One event.

    Attributes:
        watch: the number of its watch.
        mask: what happened.
        name: in the directory; empty for the directory itself.
        cookie: the same for both names of a rename; else 0.
    """

    watch: int
    mask: int
    name: bytes
    cookie: int = 0


class Unsupported(OSError):
    """This system has no inotify."""


class Inotify:
    """One queue.

    Args:
        descriptor: of an existing queue; None for a new one.

    Raises:
        Unsupported: there is no inotify here.
        OSError: EMFILE where the user has no queue left (`fs.inotify.max_user_instances`).
    """

    def __init__(self, descriptor: int | None = None) -> None:
        try:
            self._add = library().inotify_add_watch
            self._remove = library().inotify_rm_watch
            initialise = library().inotify_init1
        except AttributeError as error:
            raise Unsupported(errno.ENOSYS, "the C library has no inotify") from error
        self._add.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
        self._remove.argtypes = (ctypes.c_int, ctypes.c_int)
        self.descriptor: int = initialise(os.O_NONBLOCK | os.O_CLOEXEC) if descriptor is None else descriptor
        if self.descriptor < 0:
            raise last_error("inotify_init1")

    def close(self) -> None:
        """Ends the queue and all its watches."""
        os.close(self.descriptor)

    def add(self, directory: int) -> int:
        """Watches the directory that a descriptor is open on; one directory has one watch.

        Args:
            directory: a descriptor: somebody may change what a path leads to.

        Returns:
            The number of the watch.

        Raises:
            OSError: ENOSPC or ENOMEM where the user has no watch left (`fs.inotify.max_user_watches`).
        """
        watch: int = self._add(self.descriptor, b"/proc/self/fd/%d" % directory, _CHANGES)
        if watch < 0:
            raise last_error("inotify_add_watch")
        return watch

    def remove(self, watch: int) -> None:
        """Removes a watch; does nothing if it is gone already, with its directory."""
        if self._remove(self.descriptor, watch) < 0 and ctypes.get_errno() != errno.EINVAL:
            raise last_error("inotify_rm_watch")

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
                watch, mask, cookie, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                name = data[at : at + length].rstrip(b"\0")
                at += length
                yield Event(watch, mask, name, cookie)


def library() -> ctypes.CDLL:
    """The C library.

    Raises:
        Unsupported: this is not Linux, or the library cannot be loaded.
    """
    if not sys.platform.startswith("linux"):
        raise Unsupported(errno.ENOSYS, "inotify and fanotify exist on Linux only")
    try:
        return _loaded()
    except OSError as error:
        raise Unsupported(errno.ENOSYS, "there is no C library to load") from error


@cache
def _loaded() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def last_error(call: str) -> OSError:
    """The error of the call of the C library that this thread just made."""
    code = ctypes.get_errno()
    return OSError(code, f"{call}: {os.strerror(code)}")
