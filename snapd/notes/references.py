"""Whether a repository has a reference, by its files: git is not asked where there is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.worktree.fs.stable_read import read_small

if TYPE_CHECKING:
    from snapd.worktree.git.repository import Repository


def may_have(repository: Repository, name: str) -> bool:
    """Whether a repository may have a reference; raises `IoError`.

    Args:
        repository: of the project.
        name: of a reference that all of its work trees share.
    """
    shared, reference = repository.common_dir, os.fsencode(name)
    if os.path.lexists(os.path.join(shared, reference)) or os.path.isdir(os.path.join(shared, b"reftable")):
        return True
    packed = read_small(os.path.join(shared, b"packed-refs")) or b""
    return b" %s\n" % reference in packed
