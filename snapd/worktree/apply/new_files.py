"""The new files of a plan: written aside, and durable before the first of them takes its name."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from typing import TypeVar

import attrs

from snapd.failpoints import failpoint
from snapd.model.call import Call
from snapd.model.errors import from_os_error, os_errors
from snapd.model.plan import CapturedFile, Write
from snapd.model.snapshot import EXECUTABLE, SYMLINK, ObjectId, RelPath
from snapd.worktree.fs.directories import HeldDirectories
from snapd.worktree.fs.syncing import can_sync_together, check_written, sync_together

PARALLEL_FROM = 16
"""From this many files on, threads are worth their start."""
_AT_ONCE = 8
_PIECE = 32
"""How many files a thread takes at a time: handing over each one by itself costs as much as many a system call."""

_T = TypeVar("_T")


def in_parallel(work: Callable[[_T], None], items: Sequence[_T], progress: Callable[[int], None]) -> None:
    """Does some work on each item, on many items in threads: a disk syncs eight files in the time of three.

    If one fails, or `progress` does, it starts no other and waits for those under way.

    Args:
        work: what to do; may be called from several threads.
        items: in the order in which they are begun.
        progress: called in this thread with the number of items done.

    Raises:
        BaseException: what `work` or `progress` raises.
    """
    if len(items) < PARALLEL_FROM:
        for done, item in enumerate(items):
            progress(done)
            work(item)
        return
    size = max(1, min(_PIECE, len(items) // (2 * _AT_ONCE)))
    pieces = [items[at : at + size] for at in range(0, len(items), size)]
    is_over = False

    def do(piece: Sequence[_T]) -> int:
        nonlocal is_over
        for item in piece:
            if is_over:
                break
            try:
                work(item)
            except BaseException:
                is_over = True
                raise
        return len(piece)

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="snapd-apply") as pool:
        futures = [pool.submit(do, piece) for piece in pieces]
        done = 0
        try:
            for future in as_completed(futures):
                done += future.result()
                progress(done)
        except BaseException:
            is_over = True
            for future in futures:
                future.cancel()
            raise


def by_file(items: Iterable[_T], captured_of: Callable[[_T], CapturedFile | None]) -> list[list[_T]]:
    """Puts together what changes names of one file: each name that goes changes the file's ctime.

    A thread that compares the bytes of a file because its ctime changed must not see that happen again and again.

    Args:
        items: writes or deletes, in order.
        captured_of: gives the file that one replaces or deletes.
    """
    groups: list[list[_T]] = []
    known: dict[int, list[_T]] = {}
    for item in items:
        captured = captured_of(item)
        group = known.get(captured.signature.ino) if captured is not None else None
        if group is None:
            group = []
            groups.append(group)
            if captured is not None:
                known[captured.signature.ino] = group
        group.append(item)
    return groups


TOGETHER_FROM = 16
"""From this many files on, one sync of the file system takes less than one of each file."""
_SYNC_BYTES = 64 << 20
"""So much is written before it is synced: a sync cannot be cancelled, and should not take long."""
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_WRITTEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@attrs.frozen
class NewFile:
    """A file written aside: its write, and the directory and name that it has for now."""

    write: Write
    directory: RelPath
    name: bytes


class NewFiles:
    """The new files of one plan.

    Args:
        root: descriptor of the workspace.
        umask: of the user; limits the permissions of the files.
        chunks: returns a blob's bytes.
        call: the request.
        count: how many files the plan writes.
        permissions: see `Plan`.

    Attributes:
        is_together: whether `sync` makes them durable, and not `write` each of them; `write` then has nothing to wait
            for, and is for one thread.
    """

    def __init__(
        self,
        root: int,
        umask: int,
        chunks: Callable[[ObjectId], Iterator[bytes]],
        call: Call,
        count: int,
        permissions: Mapping[RelPath, int],
    ) -> None:
        self._root = root
        self._umask = umask
        self.permissions = permissions
        self._chunks = chunks
        self._call = call
        # finds the files even after somebody moved their directory
        self._directories = HeldDirectories(root)
        self._device = os.fstat(root).st_dev
        self.is_together = count >= TOGETHER_FROM and can_sync_together(root)
        self._unsynced: list[NewFile] = []
        self._unsynced_bytes = 0

    def close(self) -> None:
        """Closes the directories."""
        self._directories.close()

    def directory_of(self, file: NewFile) -> AbstractContextManager[int]:
        """The descriptor of the directory that a file is in, open for the length of the block; raises `OSError`."""
        return self._directories.open(file.directory)

    def write(self, write: Write, directory: RelPath) -> NewFile:
        """Writes a file aside.

        Args:
            write: says what.
            directory: where to.

        Raises:
            OSError: it could not be written; nothing is left of it.
            StorageFull, StoreCorrupt, IoError, Cancelled: as `sync`, or the blob is damaged.
        """
        file = NewFile(write, directory, b".snapd-tmp-" + secrets.token_hex(8).encode())
        with self._directories.open(directory) as descriptor:
            try:
                self._write(file, descriptor)
            except BaseException:
                _unlink(descriptor, file.name)
                raise
        return file

    def sync(self) -> None:
        """Makes durable what is written by now.

        Raises:
            StorageFull, IoError, Cancelled: not all of it is.
        """
        files, self._unsynced, self._unsynced_bytes = self._unsynced, [], 0
        if not files:
            return
        self._call.check()
        with os_errors(b"."):
            failpoint("apply.sync_all")
        if sync_together(self._root):
            for file in files:
                self._with(file, check_written)
        else:
            in_parallel(lambda file: self._with(file, os.fsync), files, lambda _: self._call.check())

    def discard(self, file: NewFile) -> None:
        """Removes a file that is not needed any more, if it is there."""
        try:
            with self.directory_of(file) as descriptor:
                _unlink(descriptor, file.name)
        except OSError:
            return

    def _write(self, file: NewFile, directory: int) -> None:
        failpoint("apply.write")
        entry = file.write.entry
        if entry.mode == SYMLINK:
            os.symlink(b"".join(self._chunks(entry.oid)), file.name, dir_fd=directory)
            return
        permissions = self._permissions(file.write)
        descriptor = os.open(file.name, _NEW_FILE, 0o600, dir_fd=directory)
        try:
            size = 0
            for chunk in self._chunks(entry.oid):
                self._call.check()
                view = memoryview(chunk)
                size += len(view)
                while view:
                    view = view[os.write(descriptor, view) :]
            os.fchmod(descriptor, permissions)
            # `sync` opens it again, and syncs one file system alone
            if self.is_together and permissions & stat.S_IRUSR and os.fstat(descriptor).st_dev == self._device:
                self._unsynced.append(file)
                self._unsynced_bytes += size
            else:
                failpoint("apply.sync")
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if self._unsynced_bytes >= _SYNC_BYTES:
            self.sync()

    def _permissions(self, write: Write) -> int:
        """What the file had, or the umask gives it, limited by the permissions of the replaced file."""
        is_executable = write.entry.mode == EXECUTABLE
        wanted = self.permissions.get(write.path)
        if wanted is None or bool(wanted & stat.S_IXUSR) is not is_executable:
            wanted = (0o777 if is_executable else 0o666) & ~self._umask
        if write.captured is not None and stat.S_ISREG(write.captured.signature.mode):
            readable = stat.S_IMODE(write.captured.signature.mode) & 0o666
            wanted &= readable | (readable & 0o444) >> 2
        # nothing that comes out of a store runs as somebody else
        return wanted & 0o777

    def _with(self, file: NewFile, act: Callable[[int], None]) -> None:
        """Does something with the descriptor of a file; raises `StorageFull`, `IoError`."""
        try:
            with self.directory_of(file) as directory:
                descriptor = os.open(file.name, _WRITTEN_FILE, dir_fd=directory)
            try:
                act(descriptor)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            # somebody removed it: whoever wants to move it notices
            return
        except OSError as error:
            raise from_os_error(error, file.write.path) from error


def _unlink(directory: int, name: bytes) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return
