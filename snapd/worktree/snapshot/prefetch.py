"""Which directories a first look is going to be at, so that they can be listed before it has come there.

In the order in which it comes: each before those below it, and of those in one directory the last one first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from snapd.core.model import RelPath
    from snapd.worktree.state.nodes import DirectoryNode


def remembered(root: DirectoryNode) -> list[RelPath]:
    """The directories below one, as an earlier process knew them."""
    found = []
    pending = [(b"", root)]
    while pending:
        path, node = pending.pop()
        found.append(path)
        prefix = path + b"/" if path else b""
        pending += [(prefix + name, child) for name, child in node.directories.items()]
    return found[1:]


def tracked(paths: Iterable[RelPath]) -> list[RelPath]:
    """The directories that hold some paths: what the user's index holds is captured, so it is looked at."""
    below: dict[bytes, Any] = {}
    for directory in {path.rpartition(b"/")[0] for path in paths} - {b""}:
        inner = below
        for part in directory.split(b"/"):
            inner = inner.setdefault(part, {})
    found = []
    pending = [(name, below[name]) for name in sorted(below)]
    while pending:
        path, inner = pending.pop()
        found.append(path)
        pending += [(path + b"/" + name, inner[name]) for name in sorted(inner)]
    return found
