"""Durable files: temporary file, fsync, rename, fsync of the directory."""

from __future__ import annotations

import os
import secrets
import shutil

from snapd.failpoints import failpoint
from snapd.model.errors import IoError, os_errors

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700
_ATTEMPTS = 20


def write_file(path: str, data: bytes) -> None:
    """Replaces the contents of a file by `data`, durably; its directory must exist.

    Raises:
        StorageFull, IoError: nothing was changed.
    """
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
    """Writes all of `data`, with as many calls as it takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def make_directories(path: str, attempts: int = _ATTEMPTS) -> None:
    """Makes a directory and its parents, private to the user, and syncs their names.

    Args:
        path: of the directory.
        attempts: how often to start again where a directory above it vanishes meanwhile.

    Raises:
        StorageFull, IoError: it cannot be made.
    """
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
                # /proc says this, too
                hint = "choose a directory that can hold others, with SNAPD_DATA_DIR or XDG_DATA_HOME"
                raise IoError(f"{path}: the directory cannot be made", hint=hint, path=path, errno="ENOENT") from error
            make_directories(path, attempts - 1)
        sync_if_there(above)


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
    """Syncs the bytes of a file, or the names in a directory.

    Returns:
        False if it does not exist.
    """
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
