"""Looks at files that may be removed meanwhile; what cannot be looked at raises, and does not count as missing.

Some errors of the system mean that a file is damaged. Others, such as too many open files, do not.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from snapd.model.errors import IoError, StoreCorrupt, from_os_error, os_errors

T = TypeVar("T")

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""The process or the system is out of file descriptors or memory for the moment."""

_LOST = frozenset({errno.EIO, *(getattr(errno, name) for name in ("EUCLEAN", "EBADMSG") if hasattr(errno, name))})
"""The disk has lost the bytes, or a checksum of the file system does not match."""
_NO_FILE = frozenset({errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})
"""There is something else in place of the file or the directory."""


def read_if_there(path: str) -> bytes | None:
    """The bytes of a file, None if it does not exist; raises `IoError`."""
    with os_errors(path):
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None


def status_if_there(path: str) -> os.stat_result | None:
    """The status of a file, symlinks not followed, None if it does not exist; raises `IoError`."""
    with os_errors(path):
        try:
            return os.lstat(path)
        except FileNotFoundError:
            return None


def names_if_there(path: str) -> list[str]:
    """The sorted names in a directory, none if it does not exist; raises `IoError`."""
    with os_errors(path):
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []


def walked(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`, top down; a directory that does not exist, or is removed meanwhile, is skipped.

    Args:
        top: the directory.

    Raises:
        IoError: a directory cannot be listed.
    """

    def raise_unless_missing(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    with os_errors(top):
        yield from os.walk(top, onerror=raise_unless_missing)


def files_below(top: str, without: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """The files in a directory and all below, with their status; those that are removed meanwhile are skipped.

    Args:
        top: the directory.
        without: the name of a directory in `top` that is left out.

    Raises:
        IoError: a directory cannot be listed, or a file cannot be looked at.
    """
    for above, directories, files in walked(top):
        if above == top and without in directories:
            directories.remove(without)
        for name in files:
            path = os.path.join(above, name)
            status = status_if_there(path)
            if status is not None:
                yield path, status


class Damaged(Exception):
    """The bytes are not what they should be, or are lost."""


class WrittenByNewer(StoreCorrupt):
    """The data is sound, and in a format that only a newer snapd knows: it must not be changed."""


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Surrounds the reading of a file or a directory, and turns `OSError` into what it means.

    Args:
        path: of the file or the directory.

    Raises:
        Damaged: its bytes are lost, or it is something else.
        FileNotFoundError: it does not exist.
        IoError: it cannot be read now; it may be sound.
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
def ignoring_unreadable() -> Iterator[None]:
    """Ignores what cannot be read of somebody else's repository.

    Raises:
        IoError: too few file descriptors or too little memory.
    """
    try:
        yield
    except IoError as error:
        if getattr(errno, error.data["errno"], None) in EXHAUSTED:
            raise


def is_there(path: str) -> bool:
    """Whether a path exists; raises `IoError` if that cannot be found out."""
    try:
        with reading(path):
            os.lstat(path)
    except (FileNotFoundError, Damaged):
        return False
    return True


def twice(read: Callable[[], T]) -> T:
    """Calls `read`, and once more if it finds damage: an error of the disk may pass.

    Raises:
        Damaged: the second call found damage too.
    """
    try:
        return read()
    except Damaged:
        return read()
