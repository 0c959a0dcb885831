"""Clears away the temporary files in a store that a dead process left.

Each of them was to be renamed, or removed, by the one who made it; its name says that it is one. While the store is
ours and nobody writes to it, nobody is left who would. What is known of the work tree is written beside everything
else: of that, what is older than this process's ownership is a leftover. Locks of references and other temporary files
may be those of a git that somebody runs on the store: these are left for an hour.
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
"""Seconds."""

_OWN = re.compile(r"tmp_[a-z]+_[0-9a-f]{16}.*|.+\.[0-9a-f]{12}\.tmp")
"""What `loose`, `pack` and `adopt` call theirs; `durable` and the memory of the work tree."""
_GITS = re.compile(r"\.?tmp[-_].+|.+\.lock")
"""What git calls its; `refdb` takes git's locks."""
_BESIDE = "worktree."


def sweep_leftovers(path: str, *, at_once: bool = False) -> int:
    """Removes them.

    Args:
        path: the directory of a store that is this process's, and that nobody writes to meanwhile.
        at_once: whether files of a git that somebody runs on the store go as well, which fails then: they may have
            what must not stay. Never its locks.

    Returns:
        How many there were.

    Raises:
        IoError: some may be there still.
    """
    count = 0
    with os_errors(path):
        owned = os.stat(os.path.join(path, OWNER)).st_ctime_ns
        for entry in list(_aside(path)):
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


def _aside(path: str) -> Iterator[os.DirEntry[str]]:
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
