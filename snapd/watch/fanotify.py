"""Which files were written to, by inode: the part of fanotify(7) that needs no privileges.

inotify reports the name through which a file was written to. If that was one of several (a hard link) and is gone by
the time of the look, it leads nowhere, and the file has changed under its other names. fanotify reports the file, by
its handle (name_to_handle_at(2)), for which each file system has a layout of its own.

Imports little: the processes that list directories start with it, and add watches to the queues of this one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Sequence
from typing import NamedTuple

from .inotify import Inotify, Unsupported, last_error, library

HANDLE = struct.Struct("=Ii")
"""The head of a handle: its length in bytes, and its type."""
_LONGEST = 128
_EMPTY_PATH = 0x1000

_MODIFY = 0x00000002
_ATTRIB = 0x00000004
_CLOSE_WRITE = 0x00000008
_OVERFLOW = 0x00004000
_ON_CHILD = 0x08000000
_WRITES = _MODIFY | _ATTRIB | _CLOSE_WRITE | _ON_CHILD

_CLOSE_ON_EXEC = 0x00000001
_NON_BLOCKING = 0x00000002
_REPORT_FILE_ID = 0x00000200
_ADD = 0x00000001

_EVENT = struct.Struct("=IBBHQii")
_INFO = struct.Struct("=BBH8s")
_READ_BYTES = 1 << 18


class Layout(NamedTuple):
    """Where a file system puts the inode number into a handle.

    Attributes:
        size: of the handle, bytes.
        form: unpacks the inode number from it.
    """

    size: int
    form: struct.Struct

    def inode(self, handle: bytes) -> int | None:
        """The inode number in a handle; None if the handle has another size."""
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
    """The layout of a file system's handles, checked against the handle of one of its directories.

    Args:
        directory: a descriptor of the directory.
        kind: the type of the file system; None if unknown.

    Raises:
        Unsupported: the system has no handles, or their layout is unknown for this file system.
        OSError: EOPNOTSUPP where the file system has none.
    """
    layout = _LAYOUTS.get(kind or "")
    if layout is None or layout.inode(_handle(directory)) != os.fstat(directory).st_ino:
        raise Unsupported(errno.EOPNOTSUPP, f"the file handles of {kind or 'an unknown file system'} are not known")
    return layout


def _handle(descriptor: int) -> bytes:
    try:
        call = library().name_to_handle_at
    except AttributeError as error:
        raise Unsupported(errno.ENOSYS, "the C library has no file handles") from error
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_int)
    buffer = ctypes.create_string_buffer(HANDLE.pack(_LONGEST, 0), HANDLE.size + _LONGEST)
    if call(descriptor, b"", buffer, ctypes.byref(ctypes.c_int()), _EMPTY_PATH) < 0:
        raise last_error("name_to_handle_at")
    size, _ = HANDLE.unpack_from(buffer.raw)
    return buffer.raw[HANDLE.size : HANDLE.size + size]


class Overflow(Exception):
    """Events were lost or are of an unknown kind: any file may have been written to."""


class Marker:
    """Adds directories to a queue of writes.

    Args:
        queue: descriptor of a `Fanotify`, perhaps of another process.

    Raises:
        Unsupported: this system has no fanotify.
    """

    def __init__(self, queue: int) -> None:
        self._queue = queue
        try:
            self._mark = library().fanotify_mark
        except AttributeError as error:
            raise Unsupported(errno.ENOSYS, "the C library has no fanotify") from error
        self._mark.argtypes = (ctypes.c_int, ctypes.c_uint, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p)

    def add(self, directory: int) -> None:
        """Marks a directory, until it or the queue is gone; a second mark changes nothing.

        Args:
            directory: a descriptor that is open on it.

        Raises:
            OSError: ENOSPC where the user has no mark left (`fs.fanotify.max_user_marks`); ENODEV, EXDEV or EOPNOTSUPP
                where the file system has no handles.
        """
        if self._mark(self._queue, _ADD, _WRITES, directory, None) < 0:
            raise last_error("fanotify_mark")


class Fanotify:
    """One queue of writes in marked directories.

    Args:
        layout: of the file handles of the directories' file system.

    Raises:
        Unsupported: this system has no fanotify.
        OSError: EPERM where it is forbidden, as in most containers; EMFILE where the user has no queue left.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        try:
            start = library().fanotify_init
        except AttributeError as error:
            raise Unsupported(errno.ENOSYS, "the C library has no fanotify") from error
        start.argtypes = (ctypes.c_uint, ctypes.c_uint)
        self.descriptor: int = start(_CLOSE_ON_EXEC | _NON_BLOCKING | _REPORT_FILE_ID, 0)
        if self.descriptor < 0:
            raise last_error("fanotify_init")
        try:
            self.add = Marker(self.descriptor).add
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Ends the queue and all its marks."""
        os.close(self.descriptor)

    def read(self) -> set[int]:
        """Empties the queue; never waits.

        Returns:
            The inode numbers of the files that were written to, or had an attribute changed.

        Raises:
            Overflow: any file may have been written to. The queue is empty.
            OSError: the queue cannot be read.
        """
        inodes: set[int] = set()
        lost = False
        while True:
            try:
                data = os.read(self.descriptor, _READ_BYTES)
            except BlockingIOError:
                if lost:
                    raise Overflow from None
                return inodes
            at = 0
            while at < len(data):
                length, _, _, head, mask, _, _ = _EVENT.unpack_from(data, at)
                inode = None if mask & _OVERFLOW else self._inode(data, at + head)
                lost = lost or inode is None
                inodes.add(inode or 0)
                at += length

    def _inode(self, data: bytes, at: int) -> int | None:
        at += _INFO.size
        size, _ = HANDLE.unpack_from(data, at)
        at += HANDLE.size
        return self._layout.inode(data[at : at + size])


class SharedQueues:
    """Queues of another process.

    Args:
        queues: descriptors, as `Clock.share_queues` returns them; at least one.

    Raises:
        Unsupported: this system has no such queues.
    """

    def __init__(self, queues: Sequence[int]) -> None:
        self._inotify = Inotify(queues[0])
        self._markers = [Marker(queue) for queue in queues[1:]]

    def add(self, directory: int) -> int:
        """Watches the directory that a descriptor is open on.

        Returns:
            The number of the watch, for `Clock.adopt_watch`.

        Raises:
            OSError: the system grants no watch.
        """
        watch = self._inotify.add(directory)
        for marker in self._markers:
            marker.add(directory)
        return watch
