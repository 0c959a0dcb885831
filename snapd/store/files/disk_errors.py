"""Which errors of the system say that a file is damaged. All others, such as too many open files, say nothing of it."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from snapd.core.errors import IoError, StoreCorrupt, from_os_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""The process, or the system, can open no more files for now."""

_LOST = frozenset({errno.EIO, *(getattr(errno, name) for name in ("EUCLEAN", "EBADMSG") if hasattr(errno, name))})
"""The disk, or the file system by its own checksums, has lost what was there."""
_NO_FILE = frozenset({errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})
"""There is something, and it is no file or no directory, as it would have to be."""


class Damaged(Exception):
    """What is there is not what it should be, or cannot be read any more."""


class WrittenByNewer(StoreCorrupt):
    """It is sound, and in a form that only a newer snapd knows: nothing is to be done to it."""


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Tells errors of the system apart while a file or a directory is read.

    Args:
        path: what is read.

    Raises:
        Damaged: its bytes are lost, or it is something else.
        FileNotFoundError: it is not there.
        IoError: it could not be read now, which says nothing of it.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in _LOST | _NO_FILE:
            raise Damaged(f"it cannot be read: {os.strerror(error.errno or 0)}") from error
        raise from_os_error(error, path) from error


@contextmanager
def unless_theirs() -> Iterator[None]:
    """Has what cannot be read of somebody else's repository count as not there.

    Raises:
        IoError: the process, or the system, can open no more files for now.
    """
    try:
        yield
    except IoError as error:
        if getattr(errno, error.data["errno"], None) in EXHAUSTED:
            raise


def is_there(path: str) -> bool:
    """Whether there is anything by a name; raises `IoError` where nobody can tell."""
    try:
        with reading(path):
            os.lstat(path)
    except (FileNotFoundError, Damaged):
        return False
    return True


def twice(read: Callable[[], T]) -> T:
    """What `read` gives; where it finds damage it is asked once more, since an error of the disk may pass.

    Raises:
        Damaged: it found damage again.
    """
    try:
        return read()
    except Damaged:
        return read()
