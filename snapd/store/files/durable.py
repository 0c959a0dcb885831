"""Durable files (temporary file, fsync, rename, fsync of the directory), and reads of files that may disappear.

An unreadable file or directory raises; it does not count as missing.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from snapd.failpoints import failpoint
from snapd.model.errors import IoError, StoreCorrupt, error_from_os_error, os_errors

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700
_ATTEMPTS = 20


def write_file(path: str, data: bytes) -> None:
    """Replaces the contents of a file durably; its directory must exist. After an error, it is unchanged."""
    temporary = f"{path}.{secrets.token_hex(6)}.tmp"
    with os_errors(path):
        try:
            failpoint("durable.write")
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
            try:
                write_all(descriptor, data)
                failpoint("durable.sync")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            failpoint("durable.rename")
            os.rename(temporary, path)
        except OSError:
            remove_if_there(temporary)
            raise
        sync_directory(os.path.dirname(path))


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Writes all of `data`, with as many calls as needed."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def make_directories(path: str, attempts: int = _ATTEMPTS) -> None:
    """Makes a private directory and its parents, and syncs their names; tries again if one above vanishes meanwhile."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path) or "."
    make_directories(above)
    with os_errors(path):
        failpoint("durable.mkdir")
        try:
            os.mkdir(path, PRIVATE_DIRECTORY)
        except FileExistsError:
            if not os.path.isdir(path):
                raise
        except FileNotFoundError as error:
            # a git command run on a store removes directories as they become empty
            if attempts == 0:
                # in /proc, too
                hint = "choose a directory that can hold others, with SNAPD_DATA_DIR or XDG_DATA_HOME"
                raise IoError(f"{path}: the directory cannot be made", hint=hint, path=path, errno="ENOENT") from error
            make_directories(path, attempts - 1)
        try:
            sync_if_there(above)
        except BaseException:
            # the next attempt has to sync the name, too
            with suppress(OSError):
                os.rmdir(path)
            raise


def sync_directory(path: str) -> None:
    """Syncs the names in a directory."""
    failpoint("durable.names")
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_data(descriptor: int) -> None:
    """Syncs the bytes and the size of an open file, not its other metadata."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


def sync_if_there(path: str) -> bool:
    """Syncs the bytes of a file, or the names in a directory; returns False if it does not exist."""
    failpoint("durable.settle")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return True


def remove_if_there(path: str) -> None:
    """Removes a file if it exists."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def remove_any(path: str) -> None:
    """Removes a file, or a directory with everything in it, if it exists."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        # the error of `unlink` for a directory differs between systems
        if not os.path.isdir(path) or os.path.islink(path):
            raise
        shutil.rmtree(path)


T = TypeVar("T")

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""The process or the system is temporarily out of file descriptors or memory."""

_LOST = frozenset({errno.EIO, *(getattr(errno, name) for name in ("EUCLEAN", "EBADMSG") if hasattr(errno, name))})
"""The disk has lost the bytes, or a checksum of the file system does not match."""
_NO_FILE = frozenset({errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})
"""Something else is in place of the file or the directory."""


def read_if_there(path: str) -> bytes | None:
    """Reads a file, None if it does not exist; raises `IoError`."""
    with os_errors(path):
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None


def status_if_there(path: str) -> os.stat_result | None:
    """Returns the status of a file, without following symlinks, None if it does not exist; raises `IoError`."""
    with os_errors(path):
        try:
            return os.lstat(path)
        except FileNotFoundError:
            return None


def names_if_there(path: str) -> list[str]:
    """Returns the sorted names in a directory, none if it does not exist; raises `IoError`."""
    with os_errors(path):
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []


def walked(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`, top down, but raises `IoError`; skips directories that do not exist or are removed meanwhile."""

    def raise_unless_missing(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    with os_errors(top):
        yield from os.walk(top, onerror=raise_unless_missing)


def files_below(top: str, without: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Yields the files below a directory, except in `top`/`without`, with their status; raises `IoError`."""
    for above, directories, files in walked(top):
        if above == top and without in directories:
            directories.remove(without)
        for name in files:
            path = os.path.join(above, name)
            status = status_if_there(path)
            if status is not None:
                yield path, status


class DamagedData(Exception):
    """The bytes are not what they should be, or are lost."""


class NewerFormat(StoreCorrupt):
    """The data is sound, but in a format that only a newer snapd can read: it must not be changed."""

    default_hint = "use the newer snapd"


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Translates the `OSError` of reading a file or directory to `FileNotFoundError` or one of these.

    `DamagedData` means that its bytes are lost or it is something else; after `IoError` it may be sound.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in _LOST | _NO_FILE:
            raise DamagedData(f"it cannot be read: {os.strerror(error.errno or 0)}") from error
        raise error_from_os_error(error, path) from error


@contextmanager
def ignoring_unreadable() -> Iterator[None]:
    """Ignores unreadable parts of a foreign repository; raises `IoError` if file descriptors or memory are lacking."""
    try:
        yield
    except IoError as error:
        if getattr(errno, error.data["errno"], None) in EXHAUSTED:
            raise


def is_there(path: str) -> bool:
    """Whether a path exists; raises `IoError` if that cannot be determined."""
    try:
        with reading(path):
            os.lstat(path)
    except (FileNotFoundError, DamagedData):
        return False
    return True


def read_with_retry(read: Callable[[], T]) -> T:
    """Calls `read`, and once more after `DamagedData`: an error of the disk may pass."""
    try:
        return read()
    except DamagedData:
        return read()
