"""Reads and atomically replaces files of users and agents; symlinks and modes stay."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from snapd.model.errors import IoError, os_errors
from snapd.store.files.durable import make_directories, remove_if_there, sync_directory, write_all, write_file
from snapd.worktree.fs.stable_read import read_bounded

from .insertion import Insertion

if TYPE_CHECKING:
    from snapd.locations import Locations

_LARGEST = 16 << 20
"""Larger settings files, in bytes, are refused."""
_NEW_MODE = 0o666


def read(path: str) -> bytes | None:
    """The contents of a file; None if there is none. Raises `IoError` if it is unreadable or not a regular file."""
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
    """Atomically replaces a file that held `before`, or a symlink's target; None means no file.

    Returns the directories created, outermost first. Raises `IoError` (also if the file has changed) or `StorageFull`.
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
    """Removes those of the directories that are empty, the last first."""
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


@dataclass(frozen=True)
class Record:
    """What an install did: the file's digest after it, the pieces inserted, the directories made, outermost first."""

    existed: bool
    digest: str
    pieces: list[Insertion] = field(default_factory=list)
    made: list[str] = field(default_factory=list)


class Records:
    """The records of one user's installs."""

    def __init__(self, locations: Locations) -> None:
        self._directory = os.path.join(locations.data, "snapd", "agents")

    def get(self, path: str) -> Record | None:
        """The record of a file; None if there is no readable one: snapd's hooks are also recognizable in the file."""
        data = read(self._path(path))
        if data is None:
            return None
        try:
            result = json.loads(data)
            pieces = [Insertion(**piece) for piece in result.pop("pieces")]
            record = Record(**result, pieces=pieces)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None
        return record

    def put(self, path: str, record: Record) -> None:
        """Stores the record of a file. Raises `IoError` or `StorageFull`."""
        make_directories(self._directory)
        write_file(self._path(path), json.dumps(asdict(record), indent=1).encode())

    def drop(self, path: str) -> None:
        """Deletes the record of a file."""
        remove_if_there(self._path(path))

    def _path(self, path: str) -> str:
        name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]
        return os.path.join(self._directory, f"{name}.json")


def digest(data: bytes) -> str:
    """The digest that detects changes of a file."""
    return hashlib.sha256(data).hexdigest()
