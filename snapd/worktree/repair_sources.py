"""What a repair of the store can take from the folder: its files, and the objects of its own git."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from snapd.core.errors import os_errors
from snapd.worktree.fs.directories import open_directory
from snapd.worktree.fs.stable_read import read_bounded
from snapd.worktree.git.objects import object_directories
from snapd.worktree.git.repository import find_repository

if TYPE_CHECKING:
    from snapd.core.model import RelPath


def own_object_directories(root: bytes) -> tuple[bytes, ...]:
    """The `objects` directories of the repository around a folder, and those that it borrows from; none without one.

    Args:
        root: absolute and canonical.

    Raises:
        IoError: the folder cannot be looked at.
    """
    with os_errors(root):
        repository = find_repository(root)
    if repository is None or repository.hash_size != 20:
        return ()
    return object_directories(os.path.join(repository.common_dir, b"objects"))


def content(root: int, path: RelPath, most: int) -> bytes | None:
    """The bytes of a file, or the target of a symlink; None if there is neither, or it cannot be read.

    Args:
        root: descriptor of the folder; no symlink leads out of it.
        path: the file.
        most: larger files are not read, bytes.
    """
    above, _, name = path.rpartition(b"/")
    try:
        directory = open_directory(root, above)
    except OSError:
        return None
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return os.readlink(name, dir_fd=directory)
        return None if status.st_size > most else read_bounded(name, most, directory)
    except OSError:
        return None
    finally:
        os.close(directory)
