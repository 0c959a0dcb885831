"""Writes the files of a snapshot outside of the work tree, once (`export`) or repeatedly (`Scratch`).

It follows no symlink, replaces nothing, and copies bytes from the store, never by a link that a build could write
through. It syncs nothing.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

import attrs

from snapd.failpoints import failpoint
from snapd.model.call import Call
from snapd.model.errors import InvalidParams, IoError, SnapdError, error_from_os_error, os_errors
from snapd.model.paths import is_tree_name, parents, shown
from snapd.model.plan import Plan
from snapd.model.snapshot import EXECUTABLE, SYMLINK, Entry, ObjectId, RelPath, Signature, file_clock_ns
from snapd.store.files.durable import write_all
from snapd.worktree.fs.directories import Directories
from snapd.worktree.fs.stable_read import blob_id, is_racy, read_link, read_stable, signature

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def export(
    directory: int, path: bytes, plan: Plan, umask: int, chunks: Callable[[ObjectId], Iterator[bytes]], call: Call
) -> int:
    """Writes files and symlinks and makes directories; returns the size of all files, bytes.

    Only the plan's writes and new directories count; its paths are relative to `directory`, a descriptor, whose `path`
    is for errors. If it fails, it removes what it made. Raises `StoreCorrupt` (also for an invalid path),
    `StorageFull`, `Cancelled`, or `IoError` if a name is taken, the file system cannot hold it, or what was made could
    not be removed.
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


@attrs.define
class _Export:
    """What an export has made so far; `size` is that of all files, bytes."""

    _directories: Directories
    _root: bytes
    _umask: int
    _chunks: Callable[[ObjectId], Iterator[bytes]]
    size: int = 0
    _files: list[tuple[RelPath, tuple[int, int]]] = attrs.field(factory=list)
    _made: list[RelPath] = attrs.field(factory=list)

    def write(self, path: RelPath, entry: Entry) -> None:
        """Writes a file or symlink, and makes the directories above it; raises as `export`."""
        above, _, name = path.rpartition(b"/")
        with os_errors(self._full(path)):
            directory = self._open(above)
            failpoint("export.write")
            if entry.mode == SYMLINK:
                self._link(path, b"".join(self._chunks(entry.oid)), directory, name)
            else:
                self._file(path, entry, directory, name)

    def make(self, path: RelPath) -> None:
        """Makes a directory and those above it where missing; raises as `export`."""
        with os_errors(self._full(path)):
            self._open(path)

    def take_back(self) -> bytes | None:
        """Removes what was made unless another program replaced it; returns a path that could not be removed."""
        left: bytes | None = None
        for path, identity in reversed(self._files):
            if not self._remove(path, identity):
                left = self._full(path)
        # the outer ones were made first
        for path in reversed(self._made):
            if not self._remove(path):
                left = left or self._full(path)
        return left

    def _full(self, path: RelPath) -> bytes:
        return os.path.join(self._root, path)

    def _remove(self, path: RelPath, identity: tuple[int, int] | None = None) -> bool:
        """Removes a directory, or the file with that identity; returns whether that worked."""
        above, _, name = path.rpartition(b"/")
        try:
            directory = self._directories.open(above)
            if identity is None:
                os.rmdir(name, dir_fd=directory)
            elif _identity(os.stat(name, dir_fd=directory, follow_symlinks=False)) == identity:
                os.unlink(name, dir_fd=directory)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def _open(self, path: RelPath) -> int:
        """Opens a directory; makes it if it is missing."""
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
                self.size += len(chunk)
                write_all(descriptor, chunk)
            os.fchmod(descriptor, (0o755 if entry.mode == EXECUTABLE else 0o644) & ~self._umask)
        finally:
            os.close(descriptor)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


_OUTSIDE = "name a folder that is empty or does not exist yet, outside of the project"
_GIT_DIRECTORY = ((b"HEAD", stat.S_ISREG), (b"objects", stat.S_ISDIR), (b"refs", stat.S_ISDIR))
"""What git checks to recognise a repository (`is_git_directory`)."""


@contextmanager
def opened_destination(
    directory: bytes, root: bytes, is_ignored: Callable[[RelPath], bool], store: bytes, *, into_empty: bool
) -> Iterator[tuple[int, bytes]]:
    """Opens the folder that an export writes to; yields its descriptor and canonical path.

    Makes the folder if needed, and removes it again if the block fails. In the work tree, it must be ignored: the next
    snapshot would else have all the files twice. It may not be in a store or git directory. Raises `IoError`,
    `StorageFull`, or `InvalidParams` if it may not be written to, or is not empty although `into_empty`.
    """
    real = os.path.realpath(directory)
    # a folder among the stores would be mistaken for a store
    why = writable_by_others(real, os.path.dirname(os.path.realpath(store))) or _project_problem(real, root, is_ignored)
    if why is not None:
        raise _refused(real, why)
    with os_errors(real):
        try:
            os.mkdir(real, 0o777)
            is_made = True
        except FileExistsError:
            is_made = False
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
            # another program may use or have moved it; or the raised error reports what is left in it
            with suppress(OSError):
                if is_made:
                    os.rmdir(real)
            raise


def _project_problem(real: bytes, root: bytes, is_ignored: Callable[[RelPath], bool]) -> str | None:
    for folder in _with_ancestors(real):
        if folder == root or _is_same(folder, root):
            inside = real[len(folder) :].lstrip(b"/")
            # checks a file in it: rules also cover everything below an ignored folder
            if not inside or not is_ignored(inside + b"/file"):
                return "it lies in the project, whose next snapshot would have its files"
    return None


def writable_by_others(real: bytes, stores: bytes) -> str | None:
    """Returns why an export may not write to a canonical path, which need not exist; None if it may."""
    if not all(is_tree_name(part) for part in real.split(b"/")):
        return "it lies in a .git"
    for folder in _with_ancestors(real):
        if folder == stores:
            return "it lies among snapd's own stores"
        if _is_git_directory(folder):
            return f"it lies in the store or git repository {shown(folder)}"
    return None


def _with_ancestors(path: bytes) -> Iterator[bytes]:
    """Yields a path and all directories above it."""
    yield path
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above


def _is_git_directory(folder: bytes) -> bool:
    try:
        return all(test(os.stat(os.path.join(folder, name)).st_mode) for name, test in _GIT_DIRECTORY)
    except OSError:
        # one of them does not exist
        return False


def _is_same(one: bytes, other: bytes) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        # one does not exist yet, so it is not the other
        return False


def _refused(directory: bytes, why: str, hint: str = _OUTSIDE) -> InvalidParams:
    return InvalidParams(f"directory: cannot export to {shown(directory)}: {why}", hint=hint, field="directory")


_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
REMOVE_SECONDS = 10.0  # how long a program that still writes into the folder may delay its removal
_RETRY_SECONDS = 0.05


class _ExportedFile(NamedTuple):
    """A file as it was exported; `oid` is set only where the signature does not suffice."""

    signature: Signature
    oid: ObjectId | None


class Scratch:
    """A folder with exported files, inside a new private folder in `above`; `path` exists from the first export on."""

    def __init__(self, above: bytes, name: bytes) -> None:
        with os_errors(above):
            self._private = tempfile.mkdtemp(prefix=b"snapd-bisect-", dir=above)
        self._name = name
        self.path = os.path.join(self._private, name)
        self._files: dict[RelPath, _ExportedFile] = {}
        self._directories: dict[RelPath, int] = {}

    def note(self, paths: Iterable[RelPath] | None) -> None:
        """Records files right after their export, or all for None; `paths` need not exist. Raises `IoError`."""
        with os_errors(self.path), _Opened(self._private) as directories:
            if paths is None:
                paths = self._everything(directories)
            for path in paths:
                self._note(directories, path)

    def clear(self, differing: Iterable[RelPath], *, keep: bool) -> set[RelPath]:
        """Removes what the next snapshot does not have as it is; raises `IoError`.

        `differing` are its differences to the exported one. With `keep`, files that were not exported stay unless their
        names are needed. Returns the files of `differing` and all that changed since the export; none exists now.
        """
        wrong = {self._inside(path) for path in differing}
        with os_errors(self.path), _Opened(self._private) as directories:
            intact = self._sweep(directories, wrong, keep=keep)
        wrong.update(self._files.keys() - intact)
        for path in wrong:
            self._files.pop(path, None)
        return {path[len(self._name) + 1 :] for path in wrong}

    def remove(self) -> None:
        """Removes the folder with all files in it; raises `IoError`."""
        self._files.clear()
        self._directories.clear()
        until = time.monotonic() + REMOVE_SECONDS
        while True:
            try:
                with _Opened(self._private) as directories:
                    self._sweep(directories, set(), keep=False)
                os.rmdir(self._private)
            except FileNotFoundError:
                return
            except OSError as error:
                # a command that is being cancelled may write one more file
                if time.monotonic() > until:
                    raise error_from_os_error(error, self._private) from error
                time.sleep(_RETRY_SECONDS)
            else:
                return

    def _inside(self, path: RelPath) -> RelPath:
        return self._name + b"/" + path

    def _everything(self, directories: Directories) -> list[RelPath]:
        """Returns all files, and records all directories."""
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
        self._files[path] = _ExportedFile(signature(status), _read(descriptor, name, status)[0] if is_young else None)
        for directory in parents(path):
            if directory in self._directories:
                break
            self._directories[directory] = os.fstat(directories.open(directory)).st_mode

    def _sweep(self, directories: Directories, wrong: set[RelPath], *, keep: bool) -> set[RelPath]:
        """Removes the `wrong` files and all that is not as recorded; with `keep`, others stay if not in the way."""
        ways = {above for path in wrong for above in parents(path)} | self._directories.keys()
        intact: set[RelPath] = set()
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
                    intact.add(path)
                elif goes or is_known or not keep or path in wrong or path in ways:
                    os.unlink(name, dir_fd=descriptor)
        self._directories = {path: self._directories[path] for path, _ in visited if path in self._directories}
        # contents were visited after their directory
        for path, goes in reversed(visited[1:]):
            if goes or not keep or path in self._directories:
                self._remove_if_empty(directories, path)
        return intact

    def _make_passable(self, above: int, name: bytes, path: RelPath, status: os.stat_result) -> None:
        """Gives a directory its recorded mode, and a new one a mode with which this process can enter it."""
        mode = self._directories.get(path, status.st_mode | stat.S_IRWXU)
        if mode != status.st_mode:
            os.chmod(name, stat.S_IMODE(mode), dir_fd=above)

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
            self._files[path] = _ExportedFile(noted.signature, None)
        return True


class _Opened(Directories):
    """The directories below one that is opened for it."""

    def __init__(self, path: bytes) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        super().__init__(self._descriptor)

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        os.close(self._descriptor)


def _listed(directory: int) -> list[tuple[bytes, os.stat_result]]:
    """Returns the names in a directory with their status, without those that vanished meanwhile."""
    listed = []
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                listed.append((os.fsencode(entry.name), entry.stat(follow_symlinks=False)))
            except FileNotFoundError:
                continue
    return listed


def _is_empty(directory: int) -> bool:
    with os.scandir(directory) as entries:
        return next(entries, None) is None


def _read(directory: int, name: bytes, status: os.stat_result) -> tuple[ObjectId | None, bool]:
    """Returns the id of a file's bytes, None if unknown, and whether the file is still racy."""
    if stat.S_ISLNK(status.st_mode):
        result = read_link(directory, name, blob_id)
    else:
        result = read_stable(directory, name, status.st_size, blob_id)
    return (result[0], result[2]) if isinstance(result, tuple) else (None, True)
