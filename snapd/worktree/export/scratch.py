"""A folder of its own for commands that need one snapshot after another: says what must be exported anew.

What a command did to an exported file shows by the file's signature, as in the work tree; a file so young that a write
might leave its signature as it was is compared by its bytes. Nothing is followed or written outside of the folder.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import time
from collections.abc import Iterable
from typing import NamedTuple

from snapd.model.errors import from_os_error, os_errors
from snapd.model.paths import parents
from snapd.model.snapshot import ObjectId, RelPath, Signature, file_clock_ns
from snapd.worktree.fs.directories import Directories
from snapd.worktree.fs.stable_read import blob_id, is_racy, read_link, read_stable, signature

_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
_REMOVE_SECONDS = 10.0
"""How long whoever still writes into the folder may keep it from being removed."""
_RETRY_SECONDS = 0.05


class _Noted(NamedTuple):
    """A file as it was exported: its bytes have an id here only where the signature does not tell enough."""

    signature: Signature
    oid: ObjectId | None


class Scratch:
    """A folder with exported files, in a private one that is made for it.

    Args:
        above: an existing directory, absolute, to make it in.
        name: of the folder with the files.

    Attributes:
        path: of the folder with the files, absolute; it does not exist before the first export.

    Raises:
        IoError, StorageFull: it cannot be made.
    """

    def __init__(self, above: bytes, name: bytes) -> None:
        with os_errors(above):
            self._private = tempfile.mkdtemp(prefix=b"snapd-bisect-", dir=above)
        self._name = name
        self.path = os.path.join(self._private, name)
        self._files: dict[RelPath, _Noted] = {}
        self._directories: dict[RelPath, int] = {}

    def note(self, paths: Iterable[RelPath] | None) -> None:
        """Remembers files as they are now, right after their export.

        Args:
            paths: relative to `path`, some of which need not exist; None for all that is there.

        Raises:
            IoError: they cannot be looked at.
        """
        with os_errors(self.path), _Opened(self._private) as directories:
            if paths is None:
                paths = self._everything(directories)
            for path in paths:
                self._note(directories, path)

    def clear(self, differing: Iterable[RelPath], *, keep: bool) -> set[RelPath]:
        """Removes what the next snapshot does not have as it is.

        Args:
            differing: what differs between the snapshot that was exported and the next one, relative to `path`.
            keep: whether files that were not exported stay, unless the next snapshot has their names.

        Returns:
            The files of `differing`, and all that are not as they were exported: none of them exists now.

        Raises:
            IoError: something cannot be looked at or removed.
        """
        wrong = {self._inside(path) for path in differing}
        with os_errors(self.path), _Opened(self._private) as directories:
            found = self._sweep(directories, wrong, keep=keep)
        wrong.update(self._files.keys() - found)
        for path in wrong:
            self._files.pop(path, None)
        return {path[len(self._name) + 1 :] for path in wrong}

    def remove(self) -> None:
        """Removes the folder and all in it, whoever put it there.

        Raises:
            IoError: it cannot be removed.
        """
        self._files.clear()
        self._directories.clear()
        until = time.monotonic() + _REMOVE_SECONDS
        while True:
            try:
                with _Opened(self._private) as directories:
                    self._sweep(directories, set(), keep=False)
                os.rmdir(self._private)
            except FileNotFoundError:
                return
            except OSError as error:
                # what is being cancelled just now may write one more file
                if time.monotonic() > until:
                    raise from_os_error(error, self._private) from error
                time.sleep(_RETRY_SECONDS)
            else:
                return

    def _inside(self, path: RelPath) -> RelPath:
        return self._name + b"/" + path

    def _everything(self, directories: Directories) -> list[RelPath]:
        """All files, and notes all directories."""
        files = []
        pending = [self._name]
        while pending:
            above = pending.pop()
            descriptor = directories.open(above)
            self._directories[above] = os.fstat(descriptor).st_mode
            for name, status in _listed(descriptor):
                path = above + b"/" + name
                if stat.S_ISDIR(status.st_mode):
                    pending.append(path)
                else:
                    files.append(path[len(self._name) + 1 :])
        return files

    def _note(self, directories: Directories, path: RelPath) -> None:
        path = self._inside(path)
        above, _, name = path.rpartition(b"/")
        looked_at = file_clock_ns()
        try:
            descriptor = directories.open(above)
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        except OSError as error:
            if error.errno in _NOT_THERE:
                # the snapshot does not have it
                return
            raise
        is_young = is_racy(status.st_ctime_ns, looked_at)
        self._files[path] = _Noted(signature(status), _read(descriptor, name, status)[0] if is_young else None)
        for directory in parents(path):
            if directory in self._directories:
                break
            self._directories[directory] = os.fstat(directories.open(directory)).st_mode

    def _sweep(self, directories: Directories, wrong: set[RelPath], *, keep: bool) -> set[RelPath]:
        """Removes everything but what is as it was noted, and gives the names of that.

        Args:
            directories: of the private folder.
            wrong: files that go however they are.
            keep: whether others stay, where they are in nobody's way.
        """
        ways = {above for path in wrong for above in parents(path)} | self._directories.keys()
        found: set[RelPath] = set()
        visited: list[tuple[RelPath, bool]] = []
        pending = [(b"", False)]
        while pending:
            above, goes = pending.pop()
            visited.append((above, goes))
            descriptor = directories.open(above)
            for name, status in _listed(descriptor):
                path = above + b"/" + name if above else name
                is_known = path in self._files
                if stat.S_ISDIR(status.st_mode):
                    self._make_passable(descriptor, name, path, status)
                    pending.append((path, goes or is_known or path in wrong))
                elif is_known and not goes and path not in wrong and self._is_as_noted(descriptor, name, path, status):
                    found.add(path)
                elif goes or is_known or not keep or path in wrong or path in ways:
                    os.unlink(name, dir_fd=descriptor)
        self._directories = {path: self._directories[path] for path, _ in visited if path in self._directories}
        # what is in a directory was visited after it
        for path, goes in reversed(visited[1:]):
            if goes or not keep or path in self._directories:
                self._remove_if_empty(directories, path)
        return found

    def _make_passable(self, above: int, name: bytes, path: RelPath, status: os.stat_result) -> None:
        """Gives a directory the mode that it had, and one that was not there before one that lets us in."""
        wanted = self._directories.get(path, status.st_mode | stat.S_IRWXU)
        if wanted != status.st_mode:
            os.chmod(name, stat.S_IMODE(wanted), dir_fd=above)

    def _remove_if_empty(self, directories: Directories, path: RelPath) -> None:
        above, _, name = path.rpartition(b"/")
        if _is_empty(directories.open(path)):
            os.rmdir(name, dir_fd=directories.open(above))
            self._directories.pop(path, None)

    def _is_as_noted(self, directory: int, name: bytes, path: RelPath, status: os.stat_result) -> bool:
        noted = self._files[path]
        if signature(status) != noted.signature:
            return False
        if noted.oid is None:
            return True
        oid, is_young = _read(directory, name, status)
        if oid != noted.oid:
            return False
        if not is_young:
            self._files[path] = _Noted(noted.signature, None)
        return True


class _Opened(Directories):
    """Those below a directory that is opened for it."""

    def __init__(self, path: bytes) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        super().__init__(self._descriptor)

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        os.close(self._descriptor)


def _listed(directory: int) -> list[tuple[bytes, os.stat_result]]:
    """The names in a directory, each with its status; without those that went away meanwhile."""
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                found.append((os.fsencode(entry.name), entry.stat(follow_symlinks=False)))
            except FileNotFoundError:
                continue
    return found


def _is_empty(directory: int) -> bool:
    with os.scandir(directory) as entries:
        return next(entries, None) is None


def _read(directory: int, name: bytes, status: os.stat_result) -> tuple[ObjectId | None, bool]:
    """The id of a file's bytes, None if it cannot be told; and whether it is young still."""
    if stat.S_ISLNK(status.st_mode):
        found = read_link(directory, name, blob_id)
    else:
        found = read_stable(directory, name, status.st_size, blob_id)
    return (found[0], found[2]) if isinstance(found, tuple) else (None, True)
