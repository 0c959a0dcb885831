"""Removes the temporary files in a store that a dead process left.

Their names mark them as temporary. While this process owns the store and nobody writes to it, nobody will rename or
remove them any more. Only the state of the work tree may be written at any time: of its files, those older than this
process's ownership are removed. Locks and temporary files of git may belong to a git command run on the store: they are
left for an hour.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from snapd.core.errors import os_errors
from snapd.store.files.durable import remove_if_there
from snapd.store.files.lock import OWNER
from snapd.store.files.walking import walked
from snapd.store.refs.database import LOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        path: the directory of a store that this process owns, and that nobody writes to meanwhile.
        at_once: whether to remove young files of a git command run on the store too, which then fails: they may hold
            contents that must not stay. Its locks are never removed.

    Returns:
        The number of removed files.

    Raises:
        IoError: some may be left.
    """
    count = 0
    with os_errors(path):
        owned = os.stat(os.path.join(path, OWNER)).st_ctime_ns
        for entry in list(_temporary_files(path)):
            try:
                made = entry.stat(follow_symlinks=False).st_ctime_ns
            except FileNotFoundError:
                continue
            if _OWN.fullmatch(entry.name):
                is_left = made < owned or not entry.name.startswith(_BESIDE)
            else:
                is_old = made < time.time_ns() - AGE * 10**9
                is_left = is_old or (at_once and not entry.name.endswith(LOCK))
            if is_left:
                remove_if_there(entry.path)
                count += 1
    return count


def _temporary_files(path: str) -> Iterator[os.DirEntry[str]]:
    above = [path, *(os.path.join(path, *parts) for parts in (("info",), ("objects",), ("objects", "pack")))]
    above += [directory for directory, _, _ in walked(os.path.join(path, "refs"))]
    for directory in above:
        try:
            entries = list(os.scandir(directory))
        except FileNotFoundError:
            continue
        for entry in entries:
            if (_OWN.fullmatch(entry.name) or _GITS.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False):
                yield entry
