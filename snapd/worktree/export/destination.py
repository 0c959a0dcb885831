"""The folder that an export writes to: where it may lie, and how it is opened."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from snapd.core.errors import InvalidParams, os_errors
from snapd.core.paths import is_tree_name, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from snapd.core.model import RelPath

_ELSEWHERE = "name a folder that is empty or does not exist yet, outside of the project"
_GIT_DIRECTORY = ((b"HEAD", stat.S_ISREG), (b"objects", stat.S_ISDIR), (b"refs", stat.S_ISDIR))
"""What git itself looks for to tell that a directory is a repository (`is_git_directory`)."""


class Destination:
    """Says which folders an export may write to, and opens them.

    It may not write to the work tree: its next snapshot would have all the files twice, and whoever works there would
    have made them. What is ignored there is no part of a snapshot, so that an ignored folder will do.

    Args:
        root: of the work tree, absolute and canonical.
        is_ignored: says whether the work tree ignores a file at a path.
        store: the directory of the store, absolute.
    """

    def __init__(self, root: bytes, is_ignored: Callable[[RelPath], bool], store: bytes) -> None:
        self._root = root
        self._is_ignored = is_ignored
        # a folder among the stores would be taken for one
        self._stores = os.path.dirname(os.path.realpath(store))

    @contextmanager
    def opened(self, directory: bytes, *, into_empty: bool) -> Iterator[tuple[int, bytes]]:
        """The descriptor and the canonical path of a folder.

        It is made if it does not exist, and removed again if the block fails.

        Args:
            directory: absolute; symlinks in it are followed.
            into_empty: whether it must be empty.

        Raises:
            InvalidParams: it lies where no export may write, or is not empty.
            IoError, StorageFull: it cannot be made or opened.
        """
        real = os.path.realpath(directory)
        self.refuse(real)
        with os_errors(real):
            is_made = _make(real)
            try:
                descriptor = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    if os.path.realpath(real) != real or not os.path.samestat(os.stat(real), os.fstat(descriptor)):
                        raise _refused(real, "it was replaced just now", "try again")
                    if into_empty and os.listdir(descriptor):
                        raise _refused(real, "it is not empty")
                    yield descriptor, real
                finally:
                    os.close(descriptor)
            except BaseException:
                if is_made:
                    _remove_if_empty(real)
                raise

    def refuse(self, real: bytes) -> None:
        """Raises `InvalidParams` if no export may write to a folder, given by its canonical path."""
        why = why_closed(real, self._stores)
        if why is not None:
            raise _refused(real, why)
        for folder in _and_above(real):
            if folder == self._root or _is_same(folder, self._root):
                inside = real[len(folder) :].lstrip(b"/")
                # a file in it, for rules know folders that are ignored and all below them
                if not inside or not self._is_ignored(inside + b"/file"):
                    raise _refused(real, "it lies in the project, whose next snapshot would have its files")


def why_closed(real: bytes, stores: bytes) -> str | None:
    """Why nobody but its owner may write below a folder; None if everybody may.

    Args:
        real: the folder, by its canonical path; it need not exist.
        stores: the directory of all stores, by its canonical path.
    """
    if not all(is_tree_name(part) for part in real.split(b"/")):
        return "it lies in a .git"
    for folder in _and_above(real):
        if folder == stores:
            return "it lies among snapd's own stores"
        if _is_git_directory(folder):
            return f"it lies in the store or git repository {shown(folder)}"
    return None


def _make(path: bytes) -> bool:
    """Makes a directory; returns False if it is there."""
    try:
        os.mkdir(path, 0o777)
    except FileExistsError:
        return False
    return True


def _remove_if_empty(path: bytes) -> None:
    try:
        os.rmdir(path)
    except OSError:
        # somebody else uses it already, or moved it; or the error that is raised now says what is left in it
        return


def _and_above(path: bytes) -> Iterator[bytes]:
    """A path and all directories above it."""
    yield path
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above


def _is_git_directory(folder: bytes) -> bool:
    try:
        return all(test(os.stat(os.path.join(folder, name)).st_mode) for name, test in _GIT_DIRECTORY)
    except OSError:
        # one of them is not there
        return False


def _is_same(one: bytes, other: bytes) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        # one that does not exist yet is not the other
        return False


def _refused(directory: bytes, why: str, hint: str = _ELSEWHERE) -> InvalidParams:
    return InvalidParams(f"directory: cannot export to {shown(directory)}: {why}", hint=hint, field="directory")
