"""Connects to the per-user daemon, and starts it if needed; concurrent calls are safe."""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from typing import TYPE_CHECKING

from snapd.environment import own_command
from snapd.locations import check_socket_path
from snapd.model.errors import IoError

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.locations import Locations

_START_SECONDS = 30.0
_LONG_SECONDS = 0.7
_POLL_SECONDS = 0.02
_KEPT = frozenset({"SNAPD_DATA_DIR", "SNAPD_RUNTIME_DIR"})
"""Variables of snapd that name directories and are not settings."""
_OWN = ("SNAPD_", "PYTHON")
"""Variables for the user's program and the Python of a project, which git's helpers must not load."""
_ABSENT = (FileNotFoundError, ConnectionRefusedError)


def is_of_user(connection: socket.socket) -> bool:
    """Whether the process at the other end of a Unix socket runs as this user or root (SO_PEERCRED in unix(7))."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        # elsewhere, rely on the permissions of the socket and its private directory
        return True
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return user in (os.geteuid(), 0)


def connect(path: str) -> socket.socket | None:
    """Connects to the daemon; None if none listens. Raises `OSError`, also if it belongs to another user."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
        if not is_of_user(connection):
            raise PermissionError(errno.EPERM, "another user's process listens there", path)
    except _ABSENT:
        connection.close()
        return None
    except BaseException:
        connection.close()
        raise
    return connection


def ensure_daemon(locations: Locations, path: str, on_wait: Callable[[], object] = lambda: None) -> socket.socket:
    """Connects to the daemon, and starts it if needed; `on_wait` is called if that takes long. Raises `IoError`."""
    check_socket_path(path)
    if path == locations.socket:
        # any user with write access there could impersonate the daemon
        locations.make_runtime()
    try:
        connection = connect(path)
        if connection is not None:
            return connection
        # the lock below would make the directory of a mistyped path, and start a daemon there
        os.stat(os.path.dirname(path))
        # one process starts it, the others wait
        from filelock import FileLock

        with FileLock(f"{path}.start", mode=0o600, is_singleton=False):
            return connect(path) or _start(path, on_wait)
    except OSError as error:
        raise IoError(
            f"cannot reach the daemon at {path}: {error.strerror or error}",
            hint="check the path of the socket, and who its directory belongs to",
            path=path,
            errno="ECONNREFUSED",
        ) from error


def daemon_environment() -> dict[str, str]:
    """The environment of a daemon: without variables for a single program, since it serves others too."""
    return {name: text for name, text in os.environ.items() if name in _KEPT or not name.startswith(_OWN)}


def _start(path: str, on_wait: Callable[[], object]) -> socket.socket:
    # imported late: not needed to find a running daemon
    import subprocess

    log = f"{path}.log"
    # in a directory of the user's choice, others may be able to read and to make symlinks
    private = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(log, private, 0o600), "wb") as output:
        process = subprocess.Popen(
            own_command("serve", "--socket", path),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
            env=daemon_environment(),
            cwd=os.path.dirname(path),
            start_new_session=True,
        )
    begun = time.monotonic()
    is_long = False
    try:
        while process.poll() is None and time.monotonic() < begun + _START_SECONDS:
            if not is_long and time.monotonic() > begun + _LONG_SECONDS:
                is_long = True
                on_wait()
            connection = connect(path)
            if connection is not None:
                return connection
            time.sleep(_POLL_SECONDS)
        if process.returncode is None:
            process.terminate()
            process.wait()
        code = process.returncode
    finally:
        # the daemon outlives this process, which does not wait for it, also when it has no time left
        process.returncode = 0
    with open(log, encoding="utf-8", errors="replace") as output:
        parts = output.read().strip().splitlines()
    hint = parts.pop().removeprefix("hint: ") if parts and parts[-1].startswith("hint: ") else f"{log} says more"
    reason = parts[-1].removeprefix("snapd: ") if parts else f"exit code {code}"
    raise IoError(f"the daemon did not start: {reason}", hint=hint, path=log, errno="ECONNREFUSED")
