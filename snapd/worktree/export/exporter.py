"""Writes the files of a snapshot below an open directory, where none of them is yet.

It follows no symlink, replaces nothing, and makes each file anew from the bytes in the store, never by a link that a
build could write through. It syncs nothing: the snapshot has it all.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from snapd.failpoints import failpoint
from snapd.model.call import Call
from snapd.model.errors import InvalidParams, IoError, SnapdError, from_os_error, os_errors
from snapd.model.paths import is_tree_name, parents, shown
from snapd.model.plan import Plan
from snapd.model.snapshot import EXECUTABLE, SYMLINK, Entry, ObjectId, RelPath
from snapd.worktree.fs.directories import Directories

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def export(
    directory: int, path: bytes, plan: Plan, umask: int, chunks: Callable[[ObjectId], Iterator[bytes]], call: Call
) -> int:
    """Writes files and symlinks, and makes directories.

    Args:
        directory: descriptor of the directory that the plan's paths are relative to.
        path: of that directory, absolute, for errors.
        plan: what to write and to make; the rest of it does not count.
        umask: of the user; limits the permissions of the files.
        chunks: returns a blob's bytes.
        call: the request; may be cancelled at any time.

    Returns:
        The size of all files, bytes.

    Raises:
        StoreCorrupt: a blob is missing or damaged, or a path is none that a folder can have.
        IoError: a name is taken already, or the file system cannot hold it; or what was made could not be removed.
        StorageFull, Cancelled: whatever was made is removed.
    """
    plan.check()
    with Directories(directory) as directories:
        work = _Export(directories, path, umask, chunks)
        try:
            for done, write in enumerate(plan.writes):
                call.progress("exporting", done, len(plan.writes))
                work.write(write.path, write.entry)
            for below in plan.make_directories:
                call.check()
                work.make(below)
        except BaseException as error:
            left = work.take_back()
            if left is not None:
                why = error.message if isinstance(error, SnapdError) else str(error)
                raise IoError(
                    f"{why}; and {shown(left)}, which was written before, could not be removed",
                    hint=f"remove {shown(path)}, if nobody else has files in it",
                    path=shown(left),
                    errno="EIO",
                ) from error
            raise
    return work.size


class _Export:
    """What an export has made so far.

    Args:
        directories: those below the one that it writes to.
        root: the path of that one.
        umask: see `export`.
        chunks: see `export`.

    Attributes:
        size: of all files, bytes.
    """

    def __init__(
        self, directories: Directories, root: bytes, umask: int, chunks: Callable[[ObjectId], Iterator[bytes]]
    ) -> None:
        self.size = 0
        self._directories = directories
        self._root = root
        self._umask = umask
        self._chunks = chunks
        self._files: list[tuple[RelPath, tuple[int, int]]] = []
        self._made: list[RelPath] = []

    def write(self, path: RelPath, entry: Entry) -> None:
        """Writes a file or symlink, and makes the directories above it; raises as `export`."""
        above, _, name = path.rpartition(b"/")
        try:
            directory = self._open(above)
            failpoint("export.write")
            if entry.mode == SYMLINK:
                self._link(path, b"".join(self._chunks(entry.oid)), directory, name)
            else:
                self._file(path, entry, directory, name)
        except OSError as error:
            raise from_os_error(error, self._full(path)) from error

    def make(self, path: RelPath) -> None:
        """Makes a directory and those above it, where they are missing; raises as `export`."""
        try:
            self._open(path)
        except OSError as error:
            raise from_os_error(error, self._full(path)) from error

    def take_back(self) -> bytes | None:
        """Removes what was made, unless somebody replaced it since; gives a full path that could not be removed."""
        left: bytes | None = None
        for path, identity in reversed(self._files):
            if not self._remove(path, partial(_unlink, identity)):
                left = self._full(path)
        # the outer ones were made first
        for path in reversed(self._made):
            if not self._remove(path, _rmdir):
                left = left or self._full(path)
        return left

    def _full(self, path: RelPath) -> bytes:
        return os.path.join(self._root, path)

    def _remove(self, path: RelPath, remove: Callable[[bytes, int], None]) -> bool:
        above, _, name = path.rpartition(b"/")
        try:
            remove(name, self._directories.open(above))
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def _open(self, path: RelPath) -> int:
        """The descriptor of a directory, which is made if it is missing."""
        try:
            return self._directories.open(path)
        except FileNotFoundError:
            pass
        for each in (*reversed(parents(path)), path):
            above, _, name = each.rpartition(b"/")
            directory = self._directories.open(above)
            failpoint("export.make_directory")
            try:
                os.mkdir(name, 0o777, dir_fd=directory)
            except FileExistsError:
                continue
            self._made.append(each)
        return self._directories.open(path)

    def _link(self, path: RelPath, target: bytes, directory: int, name: bytes) -> None:
        os.symlink(target, name, dir_fd=directory)
        self._files.append((path, _identity(os.stat(name, dir_fd=directory, follow_symlinks=False))))
        self.size += len(target)

    def _file(self, path: RelPath, entry: Entry, directory: int, name: bytes) -> None:
        descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=directory)
        try:
            self._files.append((path, _identity(os.fstat(descriptor))))
            for chunk in self._chunks(entry.oid):
                view = memoryview(chunk)
                self.size += len(view)
                while view:
                    view = view[os.write(descriptor, view) :]
            os.fchmod(descriptor, (0o755 if entry.mode == EXECUTABLE else 0o644) & ~self._umask)
        finally:
            os.close(descriptor)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _unlink(made: tuple[int, int], name: bytes, directory: int) -> None:
    """Removes a file if it is still the one that was made."""
    if _identity(os.stat(name, dir_fd=directory, follow_symlinks=False)) == made:
        os.unlink(name, dir_fd=directory)


def _rmdir(name: bytes, directory: int) -> None:
    os.rmdir(name, dir_fd=directory)


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
