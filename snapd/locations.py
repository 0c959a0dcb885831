"""Where snapd keeps things on this machine: settings, data, the socket."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from typing import TYPE_CHECKING

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
        config, data, runtime = _platform_directories(environment, home)
        data = environment.get("SNAPD_DATA_DIR") or data
        runtime = environment.get("SNAPD_RUNTIME_DIR") or runtime
        return cls(os.path.join(config, "config.toml"), os.path.abspath(data), os.path.abspath(runtime), home)

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


def _platform_directories(environment: Mapping[str, str], home: str) -> tuple[str, str, str]:
    """Where this platform keeps settings, data and sockets."""
    if sys.platform in ("darwin", "win32"):
        import platformdirs

        return (
            platformdirs.user_config_dir("snapd", False),
            os.path.dirname(platformdirs.user_data_dir("snapd", False)),
            platformdirs.user_runtime_dir("snapd", False),
        )

    # the XDG base directories, by hand: a warm command has no time for a library, nor for its warnings
    def base(name: str, default: str) -> str:
        value = environment.get(name, "")
        return value if os.path.isabs(value) else default

    user = os.getuid()
    runtime = base("XDG_RUNTIME_DIR", f"/run/user/{user}")
    return (
        os.path.join(base("XDG_CONFIG_HOME", os.path.join(home, ".config")), "snapd"),
        base("XDG_DATA_HOME", os.path.join(home, ".local", "share")),
        # /tmp itself is fixed: TMPDIR differs between logins, which would then not find each other's daemon
        os.path.join(runtime, "snapd") if os.access(runtime, os.W_OK | os.X_OK) else f"/tmp/snapd-{user}",  # noqa: S108
    )
