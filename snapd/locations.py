"""The places of snapd's files on this machine: settings, data, the socket."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import stat
from typing import TYPE_CHECKING

from snapd.model.errors import IoError, os_errors

from .environment import socket_path, user_directories

if TYPE_CHECKING:
    from collections.abc import Mapping

_SOCKET_PATH_BYTES = 104
"""The longest portable socket path in bytes (macOS); Linux allows four more."""
NEW_SOCKET = ".new"
"""The suffix of a socket that is not ready for clients."""


class Locations:
    """The directories of one user; `runtime` has the socket and the daemon's lock."""

    def __init__(self, config_file: str, data: str, runtime: str, home: str) -> None:
        self.config_file = config_file
        self.data = data
        self.runtime = runtime
        self.home = home

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Locations:
        """The directories of this user."""
        home = os.path.expanduser("~")
        config, data, runtime = user_directories(environment, home)
        return cls(os.path.join(config, "config.toml"), data, runtime, home)

    @property
    def socket(self) -> str:
        """The socket of the per-user daemon."""
        return socket_path(self.runtime)

    def make_runtime(self) -> None:
        """Creates the runtime directory if needed, and checks it as `check_private`."""
        with os_errors(self.runtime):
            _make_private(self.runtime)
        check_private(self.runtime, "the runtime directory", "SNAPD_RUNTIME_DIR")


def check_private(path: str, called: str, variable: str) -> None:
    """Raises `IoError` if a directory is a symlink, another user's or writable for others; `variable` sets another."""
    with os_errors(path):
        status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        problem, remedy = "is a symlink", "remove it"
    elif not stat.S_ISDIR(status.st_mode):
        problem, remedy = "is not a directory", "remove it"
    elif status.st_uid != os.geteuid():
        problem, remedy = f"belongs to another user ({status.st_uid})", "have its owner remove it"
    elif status.st_mode & 0o022:
        problem, remedy = "can be written to by others", f"run chmod go-w {shlex.quote(path)}"
    else:
        return
    hint = f"{remedy}, or choose another directory with {variable}"
    raise IoError(f"{called} {path} {problem}", hint=hint, path=path, errno="EPERM")


def check_socket_path(path: str) -> None:
    """Raises `IoError` if a path is too long for a Unix socket, where the system would only report "invalid"."""
    if len(os.fsencode(path + NEW_SOCKET)) >= _SOCKET_PATH_BYTES:
        raise IoError(
            f"the socket path {path} is too long",
            hint="set SNAPD_RUNTIME_DIR to a shorter directory",
            path=path,
            errno="ENAMETOOLONG",
        )


def check_socket_directory(path: str) -> None:
    """Raises `IoError` if another user could replace a socket at this path of the user's choice."""
    directory = os.path.dirname(path)
    with os_errors(directory):
        status = os.stat(directory)
    if status.st_uid not in (os.geteuid(), 0):
        problem = f"belongs to another user ({status.st_uid})"
    elif status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX:
        problem = "can be written to by others"
    else:
        return
    raise IoError(
        f"{directory}, the socket's directory, {problem}",
        hint="put the socket into a directory that is yours alone",
        path=directory,
        errno="EPERM",
    )


def project_id(root: bytes) -> str:
    """The id of a workspace, and name of its store: the first 8 bytes of SHA-256 of its canonical path, in hex."""
    return hashlib.sha256(root).hexdigest()[:16]


def stores_directory(data: str) -> str:
    """The directory of all stores below a data directory."""
    return os.path.join(data, "snapd", "snapshot")


def store_path(data: str, project_id: str) -> str:
    """The directory of a workspace's store below a data directory."""
    return os.path.join(stores_directory(data), project_id)


def store_directories(path: str) -> tuple[str, str, str]:
    """A store's directory (`store_path`), preceded by its parents that are snapd's own."""
    above = os.path.dirname(path)
    return (os.path.dirname(above), above, path)


def _make_private(path: str) -> None:
    """Creates a directory and missing parents, all private: `os.makedirs` applies the umask to parents."""
    if os.path.lexists(path):
        return
    above = os.path.dirname(path)
    if above != path:
        _make_private(above)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
