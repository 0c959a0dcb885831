"""Finds where the objects of a git repository lie."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING

from snapd.worktree.fs.stable_read import read_small, resolved

from .quoting import unquoted

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEPTH = 5
_MOST = 256
"""Directories; those beyond are not looked at."""


def object_directories(objects: bytes) -> tuple[bytes, ...]:
    """The directories that hold the objects of a repository: its own first, then those that it borrows from.

    Args:
        objects: the repository's own, absolute.

    Returns:
        Each once, without symlinks. They follow `info/alternates` as deep as git does, see gitrepository-layout(5).
    """
    found: dict[bytes, None] = {}
    level = [os.path.realpath(objects)]
    for _ in range(_DEPTH + 2):
        fresh = [directory for directory in dict.fromkeys(level) if directory not in found and os.path.isdir(directory)]
        found.update(dict.fromkeys(fresh[: _MOST - len(found)]))
        borrowed = (each for directory in fresh for each in _alternates(directory))
        level = list(islice(borrowed, _MOST))
    return tuple(found)


def _alternates(objects: bytes) -> Iterator[bytes]:
    text = read_small(os.path.join(objects, b"info", b"alternates")) or b""
    lines = (line for line in text.split(b"\n") if line and not line.startswith(b"#") and b"\0" not in line)
    named = (resolved(os.path.join(objects, unquoted(line))) for line in islice(lines, _MOST))
    return (path for path in named if path is not None)
