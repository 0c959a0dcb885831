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


def log(environment: Mapping[str, str], words: str) -> None:
    """Adds a line to the log, which starts anew when it has grown large; with `SNAPD_LOG`, to standard error too."""
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {' '.join(words.split())[:_LINE]}\n"
    if environment.get("SNAPD_LOG"):
        sys.stderr.write(f"snapd hook: {line}")
    path = os.path.join(user_directories(environment, os.path.expanduser("~"))[2], NAME)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError:
        # there is no daemon yet, and so no directory
        return
    with open(descriptor, "ab") as file:
        if file.tell() > _MOST_BYTES:
            file.truncate(0)
        file.write(line.encode("utf-8", "replace"))
