"""The kernel's queues: inotify(7) reports which names changed, fanotify(7) which files were written to.

The kernel queues an event within the system call that causes it, so after an empty queue no earlier call is unreported.

inotify reports the name by which a file was written to. If that name (a hard link) is gone by the time of the scan,
only fanotify identifies the file, by its handle (name_to_handle_at(2)), whose layout depends on the file system. It is
used as far as it needs no privileges. The lister processes import this module too, so it imports little.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

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
_CHANGES = MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | DELETE_SELF | MOVE_SELF

_EVENT = struct.Struct("=iIII")
READ_BYTES = 1 << 18


class Event(NamedTuple):
    """One event."""

    watch: int
    mask: int
    name: bytes  # in the directory; empty for the directory itself
    cookie: int = 0  # the same for both names of a rename


class Unsupported(OSError):
    """This system has no inotify."""


def _function(name: str, *arguments: type[Any]) -> Callable[..., int]:
    """Returns a function of the C library; raises `Unsupported` if there is none."""
    if not sys.platform.startswith("linux"):
        raise Unsupported(errno.ENOSYS, "inotify and fanotify exist on Linux only")
    try:
        function: Any = getattr(_library(), name)
    except (AttributeError, OSError) as error:
        raise Unsupported(errno.ENOSYS, f"the C library has no {name}") from error
    function.argtypes = arguments
    return cast("Callable[..., int]", function)


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _last_error(call: str) -> OSError:
    """Returns the error of this thread's last call of the C library."""
    code = ctypes.get_errno()
    return OSError(code, f"{call}: {os.strerror(code)}")


class Inotify:
    """One queue; that of a descriptor, or a new one.

    Raises `Unsupported`, or `OSError`: EMFILE if the user has no queue left (`fs.inotify.max_user_instances`).
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._add = _function("inotify_add_watch", ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
        self._remove = _function("inotify_rm_watch", ctypes.c_int, ctypes.c_int)
        initialise = _function("inotify_init1", ctypes.c_int)
        self.descriptor: int = initialise(os.O_NONBLOCK | os.O_CLOEXEC) if descriptor is None else descriptor
        if self.descriptor < 0:
            raise _last_error("inotify_init1")

    def close(self) -> None:
        """Ends the queue and all its watches."""
        os.close(self.descriptor)

    def add(self, directory: int) -> int:
        """Watches an open directory and returns the number of its watch; one directory has one.

        Raises `OSError`: ENOSPC or ENOMEM if the user has no watch left (`fs.inotify.max_user_watches`).
        """
        watch: int = self._add(self.descriptor, b"/proc/self/fd/%d" % directory, _CHANGES | _ONLY_DIRECTORIES)
        if watch < 0:
            raise _last_error("inotify_add_watch")
        return watch

    def remove(self, watch: int) -> None:
        """Removes a watch; does nothing if it is gone already, with its directory."""
        if self._remove(self.descriptor, watch) < 0 and ctypes.get_errno() != errno.EINVAL:
            raise _last_error("inotify_rm_watch")

    def read(self) -> Iterator[Event]:
        """Empties the queue; never waits. Raises `OSError`."""
        while True:
            try:
                data = os.read(self.descriptor, READ_BYTES)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                watch, mask, cookie, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                name = data[at : at + length].rstrip(b"\0")
                at += length
                yield Event(watch, mask, name, cookie)


HANDLE = struct.Struct("=Ii")  # the head of a handle: its length in bytes, and its type
_LONGEST = 128
_EMPTY_PATH = 0x1000

_ON_CHILD = 0x08000000
_WRITES = MODIFY | ATTRIB | CLOSE_WRITE | _ON_CHILD  # fanotify has the same numbers as inotify for these

_CLOSE_ON_EXEC = 0x00000001
_NON_BLOCKING = 0x00000002
_REPORT_FILE_ID = 0x00000200
_ADD = 0x00000001

_WRITE_EVENT = struct.Struct("=IBBHQii")
_INFO = struct.Struct("=BBH8s")


class Layout(NamedTuple):
    """Where a file system puts the inode number into a handle: `form` unpacks it from `size` bytes."""

    size: int
    form: struct.Struct

    def inode(self, handle: bytes) -> int | None:
        """Returns the inode number in a handle; None if the handle has another size."""
        return int(self.form.unpack(handle)[0]) if len(handle) == self.size else None


_INODE_FIRST = Layout(8, struct.Struct("=I4x"))
_LAYOUTS = {
    "btrfs": Layout(20, struct.Struct("=Q12x")),
    "ext2": _INODE_FIRST,
    "ext3": _INODE_FIRST,
    "ext4": _INODE_FIRST,
    "f2fs": _INODE_FIRST,
    "tmpfs": Layout(12, struct.Struct("=4xQ")),
    "xfs": Layout(12, struct.Struct("=Q4x")),
}


def layout_of(directory: int, kind: str | None) -> Layout:
    """Returns the layout of the handles of a type of file system, checked against an open directory of it.

    Raises `Unsupported` if it is unknown, `OSError` (EOPNOTSUPP) if the file system has none.
    """
    layout = _LAYOUTS.get(kind or "")
    if layout is None or layout.inode(_handle(directory)) != os.fstat(directory).st_ino:
        raise Unsupported(errno.EOPNOTSUPP, f"the file handles of {kind or 'an unknown file system'} are not known")
    return layout


def _handle(descriptor: int) -> bytes:
    arguments = (ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_int)
    call = _function("name_to_handle_at", *arguments)
    buffer = ctypes.create_string_buffer(HANDLE.pack(_LONGEST, 0), HANDLE.size + _LONGEST)
    if call(descriptor, b"", buffer, ctypes.byref(ctypes.c_int()), _EMPTY_PATH) < 0:
        raise _last_error("name_to_handle_at")
    size, _ = HANDLE.unpack_from(buffer.raw)
    return buffer.raw[HANDLE.size : HANDLE.size + size]


class Overflow(Exception):
    """Events were lost or are of an unknown kind: any file may have been written to."""


class Marker:
    """Adds directories to the queue of a `Fanotify`, perhaps of another process; raises `Unsupported`."""

    def __init__(self, queue: int) -> None:
        self._queue = queue
        arguments = (ctypes.c_int, ctypes.c_uint, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p)
        self._mark = _function("fanotify_mark", *arguments)

    def add(self, directory: int) -> None:
        """Marks an open directory, until it or the queue is gone; a second mark changes nothing.

        Raises `OSError`: ENOSPC if the user has no mark left (`fs.fanotify.max_user_marks`); ENODEV, EXDEV or
        EOPNOTSUPP if the file system has no handles.
        """
        if self._mark(self._queue, _ADD, _WRITES, directory, None) < 0:
            raise _last_error("fanotify_mark")


class Fanotify:
    """One queue of writes in marked directories, with the layout of their file handles.

    Raises `Unsupported`, or `OSError`: EPERM if forbidden, as in most containers; EMFILE if the user has no queue left.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        start = _function("fanotify_init", ctypes.c_uint, ctypes.c_uint)
        self.descriptor: int = start(_CLOSE_ON_EXEC | _NON_BLOCKING | _REPORT_FILE_ID, 0)
        if self.descriptor < 0:
            raise _last_error("fanotify_init")
        try:
            self.add = Marker(self.descriptor).add
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Ends the queue and all its marks."""
        os.close(self.descriptor)

    def read(self) -> set[int]:
        """Empties the queue and returns the inodes of files written to or with changed attributes; never waits.

        Raises `OSError`, or `Overflow` with an empty queue if any file may have been written to.
        """
        inodes: set[int] = set()
        lost = False
        while True:
            try:
                data = os.read(self.descriptor, READ_BYTES)
            except BlockingIOError:
                if lost:
                    raise Overflow from None
                return inodes
            at = 0
            while at < len(data):
                length, _, _, head, mask, _, _ = _WRITE_EVENT.unpack_from(data, at)
                inode = None if mask & OVERFLOW else self._inode(data, at + head)
                lost = lost or inode is None
                inodes.add(inode or 0)
                at += length

    def _inode(self, data: bytes, at: int) -> int | None:
        at += _INFO.size
        size, _ = HANDLE.unpack_from(data, at)
        at += HANDLE.size
        return self.layout.inode(data[at : at + size])


class SharedQueues:
    """Queues of another process, at least one, as `Clock.share_queues` returns them; raises `Unsupported`."""

    def __init__(self, queues: Sequence[int]) -> None:
        self._inotify = Inotify(queues[0])
        self._markers = [Marker(queue) for queue in queues[1:]]

    def add(self, directory: int) -> int:
        """Watches an open directory; returns the watch, for `Clock.adopt_watch`. Raises `OSError`."""
        watch = self._inotify.add(directory)
        for marker in self._markers:
            marker.add(directory)
        return watch
