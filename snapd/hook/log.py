"""Files that hooks write: a log, the time of each agent's last event, and the memory of sessions."""

from __future__ import annotations

import os
import sys
import time

from snapd.environment import user_directories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "hook.log"
"""The log file in the socket's directory."""

_MOST_BYTES = 1 << 18
_LINE = 2000
_KIND = 0o170000
_DIRECTORY, _FILE = 0o040000, 0o100000
"""File types in a mode, see inode(7); the module `stat` takes time to load."""


def is_private(status: os.stat_result, kind: int = _DIRECTORY) -> bool:
    """Whether an `lstat` result is of that type and only the user can write to it."""
    return status.st_mode & _KIND == kind and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def log(environment: Mapping[str, str], words: str) -> None:
    """Logs a line, to standard error too with `SNAPD_LOG`; not to a file that another user could have made."""
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {' '.join(words.split())[:_LINE]}\n"
    # opening a FIFO without O_NONBLOCK would block
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        if environment.get("SNAPD_LOG"):
            sys.stderr.write(f"snapd hook: {line}")
        directory = user_directories(environment, os.path.expanduser("~"))[2]
        if not is_private(os.lstat(directory)):
            return
        with open(os.open(os.path.join(directory, NAME), flags, 0o600), "ab") as file:
            status = os.fstat(file.fileno())
            if not is_private(status, _FILE) or status.st_nlink != 1:
                return
            if status.st_size > _MOST_BYTES:
                file.truncate(0)
            file.write(line.encode("utf-8", "replace"))
    except OSError:
        # there is no directory before the first daemon, or standard error is closed
        return


_FORGOTTEN_SECONDS = 30 * 86400
"""How long the memory of a session without an end is kept."""


def note(environment: Mapping[str, str], name: str) -> None:
    """Records the time of an agent's event; errors are ignored."""
    path = _path(environment, name)
    try:
        try:
            os.utime(path)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError:
        # loading `contextlib` would take longer than this whole package
        return


def last(environment: Mapping[str, str], name: str) -> float | None:
    """When an agent last reported an event, in seconds since 1970; None if never."""
    try:
        return os.stat(_path(environment, name)).st_mtime
    except OSError:
        return None


class Memory:
    """What hooks remember of a session; errors are ignored.

    `folders` are those that it worked in, the first one first. `turns` is the history of an agent without message ids:
    `=ID` for a prompt, `+ID` for its first call, `.` for the end of the turn.
    """

    def __init__(self, environment: Mapping[str, str], session: str) -> None:
        is_plain = session.replace("-", "").isalnum() and session.isascii()
        name = session if is_plain else f".{session.encode('utf-8', 'replace').hex()}"[:250]
        self._path = os.path.normpath(_path(environment, os.path.join("..", "sessions", name)))
        words: list[str] = []
        try:
            with open(self._path, encoding="utf-8", errors="surrogateescape") as file:
                words = file.read().split("\0")[:-1]
        except OSError:
            pass
        self.folders = [word for word in dict.fromkeys(words) if word[:1] == "/"]
        self.turns = [word for word in words if word[:1] != "/"]

    @property
    def message(self) -> str | None:
        """The message of the current turn."""
        return self.turns[-1][1:] or None if self.turns else None

    def add(self, *words: str) -> None:
        """Appends words in a single write, as other hooks may append at the same time."""
        above = os.path.dirname(self._path)
        try:
            os.makedirs(above, mode=0o700, exist_ok=True)
            if not os.path.exists(self._path):
                for old in [os.path.join(above, name) for name in os.listdir(above)]:
                    if os.stat(old).st_mtime < time.time() - _FORGOTTEN_SECONDS:
                        os.unlink(old)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            os.write(descriptor, os.fsencode("".join(f"{word}\0" for word in words)))
            os.close(descriptor)
        except OSError:
            return

    def end(self) -> None:
        """Deletes the folders, and ensures that later messages get new ids."""
        try:
            os.unlink(self._path)
        except OSError:
            return
        if self.turns:
            self.add(f".{time.time_ns()}", ".")


def _path(environment: Mapping[str, str], name: str) -> str:
    """The file whose modification time is that of the last event."""
    data = user_directories(environment, os.path.expanduser("~"))[1]
    return os.path.join(data, "snapd", "agents", "seen", name)
