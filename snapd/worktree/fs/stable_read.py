"""Reads files so that bytes and signature belong together, and bounded files of other programs."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from functools import partial

from snapd.model.errors import os_errors
from snapd.model.snapshot import EXECUTABLE, REGULAR, SYMLINK, ObjectId, RelPath, Signature, SkipReason, file_clock_ns
from snapd.worktree.fs.directories import opened_directory

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

CHUNK = 1 << 20
STREAM_FROM = 8 << 20  # bytes; files from this size on are hashed and stored in chunks

SMALL_BYTES = 1 << 20  # default limit for files of other programs that are read whole

_PATH_BYTES = 4096  # the system takes no longer paths
_UNREADABLE = (
    errno.EFBIG,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.ELOOP,
    errno.EINVAL,
    errno.ENXIO,
    errno.EACCES,
    errno.EPERM,
    errno.ENAMETOOLONG,
)
_ATTEMPTS = 5
_LONG_WRITE = 32 << 10  # a write of so many bytes can be read halfway
TICK_NS = 20_000_000
"""Twice the longest step of Linux's clock for file times: one scheduler tick, up to 10 ms."""
COARSE_NS = 2_100_000_000  # FAT and some network file systems count in steps of up to two seconds


def signature(status: os.stat_result) -> Signature:
    """Returns the signature of a status."""
    return Signature(status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def tree_mode(st_mode: int) -> int:
    """Returns the mode of a file or symlink in a tree."""
    if stat.S_ISLNK(st_mode):
        return SYMLINK
    return EXECUTABLE if st_mode & 0o100 else REGULAR


def racy_since() -> int:
    """Returns the ctime (nanoseconds since 1970) from which on a file read now may be racy."""
    return file_clock_ns() - COARSE_NS


def is_racy(ctime_ns: int, looked_at_ns: int) -> bool:
    """Returns whether a write right after the scan, which began at `looked_at_ns`, could keep the signature."""
    coarse = ctime_ns % 1_000_000 == 0
    return ctime_ns >= looked_at_ns - (COARSE_NS if coarse else TICK_NS)


def lstat_at(root: int, path: RelPath) -> os.stat_result | None:
    """Returns the `lstat` of a path below a directory, without following symlinks; None if nothing is there."""
    above, _, name = path.rpartition(b"/")
    try:
        with opened_directory(root, above) as directory:
            return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise


def read_stable(
    directory: int, name: bytes, limit: int, store: Callable[[int, Iterator[bytes]], ObjectId]
) -> tuple[ObjectId, Signature, bool] | SkipReason:
    """Reads a file so that bytes and signature belong together; returns the blob, the signature and whether it is racy.

    `store` takes the size and the bytes and returns the blob's id, or raises `ValueError` if they do not match. Returns
    the reason if the file cannot be captured. Raises `FileNotFoundError`, or `OSError` if the disk is in trouble.
    """
    for _ in range(_ATTEMPTS):
        looked_at = file_clock_ns()
        try:
            descriptor = os.open(name, _FILE, dir_fd=directory)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM):
                return SkipReason.UNREADABLE
            if error.errno == errno.ELOOP:
                continue
            if error.errno == errno.ENXIO:
                return SkipReason.SPECIAL
            raise
        try:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                return SkipReason.SPECIAL
            if before.st_size > limit:
                return SkipReason.TOO_LARGE
            try:
                oid = store(before.st_size, read_chunks(descriptor, before.st_size))
            except ValueError:
                continue
            then = signature(before)
            racy = is_racy(then.ctime_ns, looked_at)
            may_be_half = racy and before.st_size >= _LONG_WRITE
            if signature(os.fstat(descriptor)) == then and not (may_be_half and _has_changed(descriptor, then, oid)):
                return oid, then, racy
        finally:
            os.close(descriptor)
    return SkipReason.UNSTABLE


def _has_changed(descriptor: int, then: Signature, oid: ObjectId) -> bool:
    """Returns whether a file's bytes changed since they were read: a write sets the times before the bytes."""
    # this call waits for writes in progress
    with contextlib.suppress(OSError):
        os.lseek(descriptor, 0, getattr(os, "SEEK_DATA", os.SEEK_SET))
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        return blob_id(then.size, read_chunks(descriptor, then.size)) != oid
    except ValueError:
        return True


def read_chunks(descriptor: int, size: int) -> Iterator[bytes]:
    """Reads a file in chunks, up to one byte beyond its size."""
    # one byte more shows that the file grew
    left = size + 1
    while left > 0 and (chunk := os.read(descriptor, min(CHUNK, left))):
        left -= len(chunk)
        yield chunk


def read_link(
    directory: int, name: bytes, store: Callable[[int, Iterator[bytes]], ObjectId]
) -> tuple[ObjectId, Signature, bool] | SkipReason:
    """Does for the target of a symlink what `read_stable` does for a file."""
    for _ in range(_ATTEMPTS):
        looked_at = file_clock_ns()
        before = signature(os.stat(name, dir_fd=directory, follow_symlinks=False))
        try:
            target = os.readlink(name, dir_fd=directory)
        except OSError as error:
            if error.errno == errno.EINVAL:
                continue
            raise
        oid = store(len(target), iter((target,)))
        if signature(os.stat(name, dir_fd=directory, follow_symlinks=False)) == before:
            return oid, before, is_racy(before.ctime_ns, looked_at)
    return SkipReason.UNSTABLE


def blob_id(size: int, chunks: Iterator[bytes]) -> ObjectId:
    """Returns the store's id for these bytes; raises `ValueError` if their number is not `size`."""
    digest = hashlib.sha1(b"blob %d\0" % size)
    for chunk in chunks:
        digest.update(chunk)
        size -= len(chunk)
    if size:
        raise ValueError("the file grew or shrank while it was read")
    return digest.digest()


def regular(path: str | bytes, flags: int, *, directory: int | None = None) -> int:
    """An `opener` for regular files, else EINVAL: a FIFO would block. With `directory`, no symlink is followed."""
    unfollowed = 0 if directory is None else os.O_NOFOLLOW
    descriptor = os.open(path, flags | unfollowed | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file", path)


def read_bounded(
    path: str | bytes, most: int = SMALL_BYTES, directory: int | None = None, *, cut: bool = False
) -> bytes:
    """Reads a regular file of another program as a whole; all such reads go through here.

    With `cut`, reads `most + 1` bytes of a larger file, for a parser that refuses so many. Raises `OSError`: EINVAL if
    it is not regular, EFBIG if it is larger.
    """
    with open(path, "rb", buffering=0, opener=partial(regular, directory=directory)) as file:
        pieces, left = [], most + 1
        while left and (piece := file.read(min(left, CHUNK))):
            pieces.append(piece)
            left -= len(piece)
    if not left and not cut:
        raise OSError(errno.EFBIG, f"more than {most >> 10} KiB", path)
    return b"".join(pieces)


def resolved(path: bytes) -> bytes | None:
    """Returns a path without symlinks; None where it or its links are too long."""
    try:
        # `realpath` checks all preceding parts again for each part
        return os.path.realpath(path) if len(path) < _PATH_BYTES else None
    except RecursionError:
        return None


def read_small(
    path: bytes, directory: int | None = None, most: int = SMALL_BYTES, *, cut: bool = False
) -> bytes | None:
    """As `read_bounded`, but None if missing or forbidden; raises `IoError` if the disk is in trouble."""
    with os_errors(path):
        try:
            return read_bounded(path, most, directory, cut=cut)
        except OSError as error:
            if error.errno in _UNREADABLE:
                return None
            raise


def content(root: int, path: RelPath, most: int) -> bytes | None:
    """Returns the bytes of a file, or a symlink's target, below `root`; None if unreadable or over `most` bytes."""
    above, _, name = path.rpartition(b"/")
    try:
        with opened_directory(root, above) as directory:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                return os.readlink(name, dir_fd=directory)
            return None if status.st_size > most else read_bounded(name, most, directory)
    except OSError:
        return None


_Noted = tuple[int, ...]
_ABSENT: _Noted = ()


class StatCache:
    """The files that a result depends on: the result is valid while none of them changed.

    Of a directory, only the identity counts; unreadable status counts as absent.
    """

    def __init__(self) -> None:
        self.refused: dict[str, None] = {}  # files too large or of the wrong kind to be read
        self._paths: dict[tuple[bytes, bool], _Noted] = {}
        self._beside: dict[tuple[bytes, int], _Noted] = {}
        self._trusted = True

    def stat(self, path: str | bytes, *, follow: bool = True) -> os.stat_result | None:
        """Records and returns the status of an absolute path about to be read; None if unreadable."""
        looked_at = file_clock_ns()
        status = _status(path, follow)
        noted = _note(status, looked_at, self)
        # it changed meanwhile: next time, all is read again
        if self._paths.setdefault((os.fsencode(path), follow), noted) != noted:
            self._trusted = False
        return status

    def stat_at(self, name: bytes, directory: int) -> None:
        """Records a name in an open directory about to be read; of a symlink, the link itself counts."""
        looked_at = file_clock_ns()
        self._beside[name, directory] = _note(_status(name, False, directory), looked_at, self)

    def mark_uncertain(self) -> None:
        """Records that the result also depends on something that cannot be checked."""
        self._trusted = False

    def unchanged(self) -> bool:
        """Returns whether everything is certainly unchanged."""
        if not self._trusted:
            return False
        for (path, follow), noted in self._paths.items():
            if not noted and follow:
                # equivalent to `stat`, and faster for an absent file
                if os.access(path, os.F_OK):
                    return False
                continue
            if _of(_status(path, follow)) != noted:
                return False
        return all(_of(_status(name, False, at)) == noted for (name, at), noted in self._beside.items())


def _status(path: str | bytes, follow: bool, directory: int | None = None) -> os.stat_result | None:
    try:
        return os.stat(path, dir_fd=directory, follow_symlinks=follow)
    except (OSError, ValueError):
        # ValueError: the name has a NUL, so no file has it
        return None


def _note(status: os.stat_result | None, looked_at: int, stats: StatCache) -> _Noted:
    if status is not None and not stat.S_ISDIR(status.st_mode) and is_racy(status.st_ctime_ns, looked_at):
        stats.mark_uncertain()
    return _of(status)


def _of(status: os.stat_result | None) -> _Noted:
    if status is None:
        return _ABSENT
    if stat.S_ISDIR(status.st_mode):
        return status.st_dev, status.st_ino
    return status.st_ino, status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_mode, status.st_dev
