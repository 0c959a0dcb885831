"""Clears away the temporary files in a store that a dead process left.

Each of them was to be renamed, or removed, by the one who made it; its name says that it is one. While the store is
ours and nobody writes to it, nobody is left who would. What is known of the work tree is written beside everything
else: of that, what is older than this process's ownership is a leftover.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from snapd.core.errors import os_errors

from .durable import remove_if_there
from .ownership import OWNER

if TYPE_CHECKING:
    from collections.abc import Iterator

_ASIDE = re.compile(r"tmp_[a-z]+_[0-9a-f]{16}.*|.+\.[0-9a-f]{12}\.tmp")
"""What `loose`, `pack`, `adopt` and `journal` call theirs; and what `durable` and the memory of the work tree do."""
_BESIDE = "worktree."


def sweep_leftovers(path: str) -> int:
    """Removes them.

    Args:
        path: the directory of a store that is this process's, and that nobody writes to meanwhile.

    Returns:
        How many there were.

    Raises:
        IoError: some may be there still.
    """
    count = 0
    with os_errors(path):
        owned = os.stat(os.path.join(path, OWNER)).st_ctime_ns
        for entry in list(_aside(path)):
            if not entry.name.startswith(_BESIDE) or entry.stat(follow_symlinks=False).st_ctime_ns < owned:
                remove_if_there(entry.path)
                count += 1
    return count


def _aside(path: str) -> Iterator[os.DirEntry[str]]:
    above = [path, *(os.path.join(path, *parts) for parts in (("info",), ("objects",), ("objects", "pack")))]
    above += [directory for directory, _, _ in os.walk(os.path.join(path, "refs"))]
    for directory in above:
        for entry in list(os.scandir(directory)):
            if _ASIDE.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                yield entry
