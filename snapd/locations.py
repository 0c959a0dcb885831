"""Where snapd keeps things on this machine: settings, data, the socket."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

import platformdirs

from snapd.core.errors import IoError, os_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

_SOCKET_PATH_BYTES = 104
"""The least that any Unix takes for a socket's path (macOS); Linux takes four more."""


class Locations:
    """The directories of one user.

    Args:
        config_file: the user's settings.
        data: the platform's user data directory, or `SNAPD_DATA_DIR`.
        runtime: where the socket and the daemon's lock lie, or `SNAPD_RUNTIME_DIR`.
        home: the user's home directory.
    """

    def __init__(self, config_file: str, data: str, runtime: str, home: str) -> None:
        self.config_file = config_file
        self.data = data
        self.runtime = runtime
        self.home = home

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Locations:
        """Where things are for this user, as the environment says."""
        home = os.path.expanduser("~")
        data = environment.get("SNAPD_DATA_DIR") or os.path.dirname(platformdirs.user_data_path("snapd", False))
        runtime = environment.get("SNAPD_RUNTIME_DIR") or platformdirs.user_runtime_dir("snapd", False)
        config = os.path.join(platformdirs.user_config_dir("snapd", False), "config.toml")
        return cls(config, os.path.abspath(data), os.path.abspath(runtime), home)

    @property
    def socket(self) -> str:
        """The socket of the per-user daemon."""
        return os.path.join(self.runtime, "daemon.sock")

    def make_runtime(self) -> None:
        """Makes the runtime directory where it is missing, and makes sure that it is the user's alone.

        Raises:
            IoError: it is a symlink, somebody else's, or others may write to it.
        """
        with os_errors(self.runtime):
            with contextlib.suppress(FileExistsError):
                os.makedirs(self.runtime, 0o700)
            status = os.lstat(self.runtime)
        problem = None
        if not stat.S_ISDIR(status.st_mode):
            problem = "is not a directory"
        elif status.st_uid != os.geteuid():
            problem = "belongs to somebody else"
        elif status.st_mode & 0o022:
            problem = "can be written to by others"
        if problem is not None:
            raise IoError(f"the runtime directory {self.runtime} {problem}", path=self.runtime, errno="EPERM")


def check_socket_path(path: str) -> None:
    """Raises `IoError` where a path is too long for a Unix socket: the system would only say "invalid"."""
    if len(os.fsencode(path)) >= _SOCKET_PATH_BYTES:
        raise IoError(
            f"the socket path {path} is too long; set SNAPD_RUNTIME_DIR to a shorter directory",
            path=path,
            errno="ENAMETOOLONG",
        )


def store_path(data: str, project_id: str) -> str:
    """Where the store of a workspace lies below a data directory."""
    return os.path.join(data, "snapd", "snapshot", project_id)
