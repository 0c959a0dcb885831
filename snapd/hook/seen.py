"""What hooks remember: when agents last reported an event, for `snapd agent status`; and where sessions work."""

from __future__ import annotations

import os
import time

from snapd.environment import user_directories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_FORGOTTEN_SECONDS = 30 * 86400
"""How long a session is remembered whose end nobody reports."""


def note(environment: Mapping[str, str], name: str) -> None:
    """Notes that an agent has reported an event that is recorded now; a hook goes on if it cannot."""
    path = _path(environment, name)
    try:
        try:
            os.utime(path)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError:
        # `contextlib` would take longer to load than all of this room
        return


def last(environment: Mapping[str, str], name: str) -> float | None:
    """When an agent last reported an event, in seconds since 1970; None if it never did."""
    try:
        return os.stat(_path(environment, name)).st_mtime
    except OSError:
        return None


class Memory:
    """What hooks remember of a session; a hook goes on if it cannot.

    Args:
        environment: of the hook.
        session: the session.

    Attributes:
        folders: where it was seen at work, the first one first.
        turns: what happened to the messages of an agent that has no names for them: `=ID` when one was sent, `+ID` when
            its first call began, `.` when the turn was over.
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
        """The message of the turn that goes on."""
        return self.turns[-1][1:] or None if self.turns else None

    def add(self, *words: str) -> None:
        """Remembers more; all of it at once, since other hooks may do the same."""
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
        """Forgets the folders, and makes sure that a message that comes later is another one."""
        try:
            os.unlink(self._path)
        except OSError:
            return
        if self.turns:
            self.add(f".{time.time_ns()}", ".")


def _path(environment: Mapping[str, str], name: str) -> str:
    """A file whose time is that of the last event."""
    data = user_directories(environment, os.path.expanduser("~"))[1]
    return os.path.join(data, "snapd", "agents", "seen", name)
