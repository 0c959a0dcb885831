"""Removes the temporary files in a store that a dead process left.

Their names mark them as temporary. While this process owns the store and nobody writes to it, nobody will rename or
remove them any more. Only the state of the work tree may be written at any time: of its files, those older than this
process's ownership are removed. Locks and temporary files of git may belong to a git command run on the store: they are
left for an hour.
"""

from __future__ import annotations

import os
import re
import stat
import time

from snapd.core.errors import os_errors
from snapd.store.files.durable import remove_if_there
from snapd.store.files.lock import OWNER
from snapd.store.files.walking import names_if_there, status_if_there, walked
from snapd.store.refs.database import LOCK

AGE = 3600
"""How long files of git are left, in seconds."""

_OWN = re.compile(r"tmp_[a-z]+_[0-9a-f]{16}.*|.+\.[0-9a-f]{12}\.tmp")
"""The names of `loose`, `pack_writer` and `adopt`; and those of `durable` and of the state of the work tree."""
_GITS = re.compile(r"\.?tmp[-_].+|.+\.lock")
"""The names of git; `refs.database` uses git's locks."""
_BESIDE = "worktree."


def remove_tempfiles(path: str, *, at_once: bool = False) -> int:
    """Removes temporary files.

    Args:
        path: the directory of a store that this process owns, or of a mirror in it; nobody writes to it meanwhile.
        at_once: whether to remove young files of a git command run on the store too, which then fails: they may hold
            contents that must not stay. Its locks are never removed.

    Returns:
        The number of removed files.

    Raises:
        IoError: some may be left.
    """
    count = 0
    with os_errors(path):
        owner = status_if_there(os.path.join(path, OWNER))
        owned = 0 if owner is None else owner.st_ctime_ns
        for file, name in _files(path):
            is_own = _OWN.fullmatch(name)
            status = status_if_there(file) if is_own or _GITS.fullmatch(name) else None
            if status is None or not stat.S_ISREG(status.st_mode):
                continue
            made = status.st_ctime_ns
            if is_own:
                is_left = made < owned or not name.startswith(_BESIDE)
            else:
                is_old = made < time.time_ns() - AGE * 10**9
                is_left = is_old or (at_once and not name.endswith(LOCK))
            if is_left:
                remove_if_there(file)
                count += 1
    return count


def _files(path: str) -> list[tuple[str, str]]:
    """The paths and names of the files among which temporary ones can be."""
    above = [path, *(os.path.join(path, name) for name in ("info", "objects", os.path.join("objects", "pack")))]
    above += [directory for directory, _, _ in walked(os.path.join(path, "refs"))]
    return [(os.path.join(directory, name), name) for directory in above for name in names_if_there(directory)]
