"""The log of hooks: what was passed over, and why. An agent sees nothing of it."""

from __future__ import annotations

import os
import sys
import time

from snapd.environment import user_directories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "hook.log"
"""The file, in the directory of the socket."""

_MOST_BYTES = 1 << 18
_LINE = 2000
_KIND = 0o170000
_DIRECTORY, _FILE = 0o040000, 0o100000
"""Types in a mode, as of inode(7): `stat` takes time to load."""


def is_private(status: os.stat_result, kind: int = _DIRECTORY) -> bool:
    """Whether what `lstat` tells of is a directory, or another kind, that only the user can write to."""
    return status.st_mode & _KIND == kind and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def log(environment: Mapping[str, str], words: str) -> None:
    """Adds a line to the log, which starts anew when it has grown large; with `SNAPD_LOG`, to standard error too.

    Nothing is written where anybody else could have put the directory or the file.
    """
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {' '.join(words.split())[:_LINE]}\n"
    # a FIFO holds up whoever opens it without O_NONBLOCK
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
        # there is no daemon yet, and so no directory; or nobody hears
        return
