"""Reads and replaces files that belong to people and their agents: whole or not at all; links and modes stay."""

from __future__ import annotations

import errno
import os
import secrets
import stat

from snapd.core.errors import IoError, os_errors
from snapd.store.files.durable import remove_if_there, sync_directory, write_all
from snapd.worktree.fs.stable_read import read_bounded

_LARGEST = 16 << 20
"""Bytes; nobody's settings are that long."""
_NEW_MODE = 0o666


def read(path: str) -> bytes | None:
    """The contents of a file; None if there is none.

    Raises:
        IoError: it cannot be read, or is no ordinary file.
    """
    with os_errors(path):
        try:
            return read_bounded(path, _LARGEST)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EISDIR, errno.EFBIG):
                raise
            what = f"has more than {_LARGEST >> 20} MiB" if error.errno == errno.EFBIG else "is not a file"
            name = errno.errorcode[error.errno]
            raise IoError(f"{path} {what}", hint="move it away and try again", path=path, errno=name) from error


def replace(path: str, before: bytes | None, after: bytes | None, *, executable: bool = False) -> list[str]:
    """Replaces the contents of a file; the file that a link leads to is replaced, and the link stays.

    Args:
        path: of the file.
        before: what it held when it was read; None if there was none.
        after: what it is to hold; None if it is to be gone.
        executable: whether a new file may be executed.

    Returns:
        The directories that were made for it, the outermost first.

    Raises:
        IoError: nothing was changed; also where it changed since it was read.
        StorageFull: nothing was changed.
    """
    real = os.path.realpath(path)
    with os_errors(path):
        made = _make_directories(os.path.dirname(real))
        temporary = f"{real}.{secrets.token_hex(6)}.tmp"
        try:
            if after is not None:
                _write(temporary, after, _mode(real, executable=executable))
            if read(path) != before:
                raise IoError(f"{path} was changed meanwhile", hint="run the command again", path=path, errno="EAGAIN")
            if after is None:
                remove_if_there(real)
            else:
                os.rename(temporary, real)
        except BaseException:
            remove_if_there(temporary)
            remove_directories(made)
            raise
        sync_directory(os.path.dirname(real))
    return made


def remove_directories(paths: list[str]) -> None:
    """Removes directories that are empty, the last one first; the others stay."""
    for path in reversed(paths):
        try:
            os.rmdir(path)
        except OSError:
            return


def _make_directories(path: str) -> list[str]:
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    made = []
    for each in reversed(missing):
        os.mkdir(each)
        made.append(each)
    return made


def _mode(path: str, *, executable: bool) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return (_NEW_MODE | (0o111 if executable else 0)) & ~mask


def _write(path: str, data: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        write_all(descriptor, data)
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
