"""When agents last reported an event: `snapd agent status` says so."""

from __future__ import annotations

import os

from snapd.environment import user_directories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


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


def _path(environment: Mapping[str, str], name: str) -> str:
    """A file whose time is that of the last event."""
    data = user_directories(environment, os.path.expanduser("~"))[1]
    return os.path.join(data, "snapd", "agents", "seen", name)
