"""Finds where the objects of a git repository lie."""

from __future__ import annotations

import os

from snapd.worktree.fs.stable_read import read_small

from .quoting import unquoted

_DEPTH = 5


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
        found.update(dict.fromkeys(fresh))
        level = [borrowed for directory in fresh for borrowed in _alternates(directory)]
    return tuple(found)


def _alternates(objects: bytes) -> list[bytes]:
    text = read_small(os.path.join(objects, b"info", b"alternates")) or b""
    lines = [line for line in text.split(b"\n") if line and not line.startswith(b"#") and b"\0" not in line]
    return [os.path.realpath(os.path.join(objects, unquoted(line))) for line in lines]
