"""Writes, replaces and deletes the files of a plan, and removes what a killed operation left behind.

New files are staged, and durable before the first takes its name (`NewFiles`). A file that is replaced or deleted is
moved aside and checked once more: if it is not what the plan saw, it is kept.
"""

from __future__ import annotations

import logging
import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, suppress
from typing import TypeVar

import attrs

from snapd.failpoints import failpoint
from snapd.model.call import Call
from snapd.model.errors import error_from_os_error, os_errors
from snapd.model.plan import CapturedFile, Plan, Write
from snapd.model.snapshot import EXECUTABLE, SYMLINK, Entry, ObjectId, RelPath, Signature
from snapd.store.files.durable import write_all
from snapd.worktree.fs.directories import HeldDirectories, open_directory
from snapd.worktree.fs.stable_read import blob_id, read_link, read_stable, signature
from snapd.worktree.fs.system import can_sync_together, check_written, exchange, rename_no_replace, sync_together
from snapd.worktree.snapshot.classifier import OWN_TEMPORARY

PARALLEL_FROM = 16  # from this many files on, threads pay off
_AT_ONCE = 8
_PIECE = 32  # files per task: handing over each one alone costs as much as many a system call

_T = TypeVar("_T")


def in_parallel(work: Callable[[_T], None], items: Sequence[_T], progress: Callable[[int], None]) -> None:
    """Applies `work` to each item, in threads if there are many: a disk syncs eight files in the time of three.

    `progress` is called in the calling thread. If one of them raises, no further item is started.
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


def group_by_file(items: Iterable[_T], captured_of: Callable[[_T], CapturedFile | None]) -> list[list[_T]]:
    """Groups changes of the names of one file: each changes its ctime, which other threads must not see."""
    groups: dict[tuple[str, int], list[_T]] = {}
    for at, item in enumerate(items):
        captured = captured_of(item)
        key = ("new", at) if captured is None else ("inode", captured.signature.ino)
        groups.setdefault(key, []).append(item)
    return list(groups.values())


TOGETHER_FROM = 16  # from this many files on, one sync of the file system is faster
SYNC_BYTES = 64 << 20  # written between syncs: a sync cannot be cancelled, and must not take long
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_WRITTEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@attrs.frozen
class NewFile:
    """A staged file: its write, and its current directory and name."""

    write: Write
    directory: RelPath
    name: bytes


class NewFiles:
    """The new files of one plan.

    With `is_together`, `sync` makes them durable at once, and one thread calls `write`; else `write` syncs each.
    """

    def __init__(
        self, root: int, umask: int, chunks: Callable[[ObjectId], Iterator[bytes]], plan: Plan, call: Call
    ) -> None:
        self._root = root
        self._umask = umask
        self._permissions = dict(plan.permissions)
        self._chunks = chunks
        self._call = call
        # finds the files even after another program moved their directory
        self._directories = HeldDirectories(root)
        self._device = os.fstat(root).st_dev
        self.is_together = len(plan.writes) >= TOGETHER_FROM and can_sync_together(root)
        self._unsynced: list[NewFile] = []
        self._unsynced_bytes = 0

    def close(self) -> None:
        """Closes the directories."""
        self._directories.close()

    def directory_of(self, file: NewFile) -> AbstractContextManager[int]:
        """Opens a staged file's directory for the block; raises `OSError`."""
        return self._directories.open(file.directory)

    def write(self, write: Write, directory: RelPath) -> NewFile:
        """Stages a file in a directory; raises as `sync`, or `StoreCorrupt`, or `OSError`: nothing is left of it."""
        file = NewFile(write, directory, b".snapd-tmp-" + secrets.token_hex(8).encode())
        with self._directories.open(directory) as descriptor:
            try:
                self._write(file, descriptor)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(file.name, dir_fd=descriptor)
                raise
        return file

    def sync(self) -> None:
        """Makes all files written so far durable, or raises `StorageFull`, `IoError`, `Cancelled`."""
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
        """Removes a staged file that is no longer needed, if it exists."""
        with suppress(OSError), self.directory_of(file) as descriptor:
            os.unlink(file.name, dir_fd=descriptor)

    def _write(self, file: NewFile, directory: int) -> None:
        failpoint("apply.write")
        entry = file.write.entry
        if entry.mode == SYMLINK:
            os.symlink(b"".join(self._chunks(entry.oid)), file.name, dir_fd=directory)
            return
        permissions = self._permissions_of(file.write)
        descriptor = os.open(file.name, _NEW_FILE, 0o600, dir_fd=directory)
        try:
            size = 0
            for chunk in self._chunks(entry.oid):
                self._call.check()
                size += len(chunk)
                write_all(descriptor, chunk)
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
        if self._unsynced_bytes >= SYNC_BYTES:
            self.sync()

    def _permissions_of(self, write: Write) -> int:
        """Returns the planned permissions of a file, or those of the umask."""
        is_executable = write.entry.mode == EXECUTABLE
        permissions = self._permissions.get(write.path, (0o777 if is_executable else 0o666) & ~self._umask)
        if bool(permissions & stat.S_IXUSR) is not is_executable:
            permissions = permissions | (permissions & 0o444) >> 2 if is_executable else permissions & 0o666
        # nothing from a store may run as another user (setuid)
        return permissions & 0o777

    def _with(self, file: NewFile, act: Callable[[int], None]) -> None:
        """Calls `act` with the descriptor of a file; raises `StorageFull`, `IoError`."""
        try:
            with self.directory_of(file) as directory:
                descriptor = os.open(file.name, _WRITTEN_FILE, dir_fd=directory)
            try:
                act(descriptor)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            # another program removed it: the move will fail
            return
        except OSError as error:
            raise error_from_os_error(error, file.write.path) from error


_KEPT_NAME_BYTES = 230  # with our suffix, names must fit into 255 bytes


def replace(source: int, temporary: bytes, target: int, name: bytes, captured: CapturedFile) -> bool:
    """Puts the new file (`temporary` in `source`) in place of the old one, unless that is not what the plan saw.

    Returns whether it did; raises `OSError` if nothing changed.
    """
    if not _is_unchanged(target, name, captured):
        return False
    failpoint("apply.exchange")
    # in this order, for watchers that go by the last event of a name: the new file must come after the old one went
    if not exchange(target, name, source, temporary):
        os.rename(temporary, name, src_dir_fd=source, dst_dir_fd=target)
        return True
    if not _look(source, temporary).same_content(captured.signature):
        exchange(target, name, source, temporary)
        return False
    try:
        failpoint("apply.exchanged")
        os.unlink(temporary, dir_fd=source)
    except OSError:
        # swap back: the outcome of the file must be true
        exchange(target, name, source, temporary)
        raise
    return True


def take_away(directory: int, name: bytes, captured: CapturedFile) -> bool:
    """Deletes a file if it is what the plan saw, and returns whether it was; raises `OSError` if nothing changed."""
    if not _is_unchanged(directory, name, captured):
        return False
    aside = b".snapd-tmp-" + secrets.token_hex(8).encode()
    os.rename(name, aside, src_dir_fd=directory, dst_dir_fd=directory)
    if _look(directory, aside).same_content(captured.signature):
        try:
            failpoint("apply.deleted")
            os.unlink(aside, dir_fd=directory)
        except OSError:
            _put_back(directory, aside, name)
            raise
        return True
    _put_back(directory, aside, name)
    return False


def _put_back(directory: int, aside: bytes, name: bytes) -> None:
    try:
        rename_no_replace(directory, aside, directory, name)
    except FileExistsError:
        # another program put yet another file there: both must survive, so this one gets a new name
        kept = name[:_KEPT_NAME_BYTES] + b".snapd-kept-" + secrets.token_hex(4).encode()
        rename_no_replace(directory, aside, directory, kept)


def _look(directory: int, name: bytes) -> Signature:
    return signature(os.stat(name, dir_fd=directory, follow_symlinks=False))


def _is_unchanged(directory: int, name: bytes, captured: CapturedFile) -> bool:
    """Returns whether a file is what the plan saw; if only the ctime differs, as by a link, compares the bytes."""
    now = _look(directory, name)
    if now == captured.signature:
        return True
    if attrs.evolve(now, ctime_ns=captured.signature.ctime_ns) != captured.signature:
        return False
    if captured.entry.mode == SYMLINK:
        result = read_link(directory, name, blob_id)
    else:
        result = read_stable(directory, name, now.size, blob_id)
    return isinstance(result, tuple) and result[:2] == (captured.entry.oid, now)


Chunks = Callable[[ObjectId], Iterator[bytes]]

logger = logging.getLogger(__name__)

_READ_BYTES = 1 << 20
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def sweep(root: int, directories: Iterable[RelPath], entries: Collection[Entry], chunks: Chunks, call: Call) -> None:
    """Removes the staged files that a killed operation left in some directories, but not below them.

    `entries` are their possible contents; an unfinished file has the beginning of one.
    """
    known = {entry.oid for entry in entries}
    for path in directories:
        call.check()
        try:
            descriptor = open_directory(root, path)
        except OSError:
            # gone, or a symlink by now: the operation left nothing at its target
            continue
        try:
            with os_errors(path):
                for name in filter(OWN_TEMPORARY.fullmatch, map(os.fsencode, os.listdir(descriptor))):
                    call.check()
                    try:
                        failpoint("leftovers.clear")
                        if _is_stored(descriptor, name, known, entries, chunks):
                            os.unlink(name, dir_fd=descriptor)
                        else:
                            kept = b".snapd-kept-" + secrets.token_hex(4).encode()
                            rename_no_replace(descriptor, name, descriptor, kept)
                    except PermissionError:
                        # it does no harm, and must not block everything until the directory is writable
                        logger.warning(
                            "an interrupted operation left %s, and there is no permission to remove it: remove it",
                            os.fsdecode(os.path.join(path, name)),
                        )
        finally:
            os.close(descriptor)


def _is_stored(
    directory: int, name: bytes, known: Collection[ObjectId], entries: Collection[Entry], chunks: Chunks
) -> bool:
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(name, dir_fd=directory)
        return blob_id(len(target), iter((target,))) in known
    if not stat.S_ISREG(status.st_mode):
        return False
    # a file that grows meanwhile has no id
    with suppress(ValueError):
        if blob_id(status.st_size, _read(directory, name)) in known:
            return True
    return any(
        entry.mode != SYMLINK and _begins(chunks(entry.oid), _read(directory, name), status.st_size)
        for entry in entries
    )


def _begins(whole: Iterator[bytes], part: Iterator[bytes], size: int) -> bool:
    """Returns whether `whole` begins with `part`, which is `size` bytes long."""
    held = b""
    for chunk in part:
        while len(held) < len(chunk):
            more = next(whole, b"")
            if not more:
                return False
            held += more
        if not held.startswith(chunk):
            return False
        held = held[len(chunk) :]
        size -= len(chunk)
    return size == 0


def _read(directory: int, name: bytes) -> Iterator[bytes]:
    with open(os.open(name, _OPEN, dir_fd=directory), "rb", buffering=0) as file:
        while chunk := file.read(_READ_BYTES):
            yield chunk
