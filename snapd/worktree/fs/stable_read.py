"""Reads files below a directory descriptor, so that bytes and signature belong together.

Every path is opened part by part with `O_NOFOLLOW`: a directory that somebody replaces by a symlink leads nowhere.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from functools import partial

from snapd.model.errors import os_errors
from snapd.model.snapshot import EXECUTABLE, REGULAR, SYMLINK, ObjectId, RelPath, Signature, SkipReason, file_clock_ns

from .directories import open_directory, opened_directory

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

CHUNK = 1 << 20
STREAM_FROM = 8 << 20
"""Files of this size (bytes) and over are hashed and stored in chunks."""

SMALL_BYTES = 1 << 20
"""A file of others that is to be read as a whole counts as unreadable beyond that, unless its reader says otherwise."""

_PATH_BYTES = 4096
"""Longer paths than the system takes."""
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
_TICK_NS = 20_000_000
"""Twice the longest step of the clock that Linux takes file times from: one scheduler tick, up to 10 ms."""
_COARSE_NS = 2_100_000_000
"""FAT and some network file systems keep file times in steps of up to two seconds."""


def signature(status: os.stat_result) -> Signature:
    """The signature in a status."""
    return Signature(status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def tree_mode(st_mode: int) -> int:
    """The mode of a file or symlink in a tree."""
    if stat.S_ISLNK(st_mode):
        return SYMLINK
    return EXECUTABLE if st_mode & 0o100 else REGULAR


def racy_from() -> int:
    """From this ctime on (nanoseconds since 1970), a file that is seen now may be racy."""
    return file_clock_ns() - _COARSE_NS


def is_racy(ctime_ns: int, looked_at_ns: int) -> bool:
    """Whether a write right after the look could leave the signature unchanged.

    Args:
        ctime_ns: of the file as it was found.
        looked_at_ns: `file_clock_ns` before the look.
    """
    coarse = ctime_ns % 1_000_000 == 0
    return ctime_ns >= looked_at_ns - (_COARSE_NS if coarse else _TICK_NS)


def lstat_at(root: int, path: RelPath) -> os.stat_result | None:
    """`lstat` of a path below a directory, without following any symlink; None if nothing is there."""
    above, _, name = path.rpartition(b"/")
    try:
        descriptor = open_directory(root, above)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise
    try:
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return None
    finally:
        os.close(descriptor)


def read_stable(
    directory: int, name: bytes, limit: int, store: Callable[[int, Iterator[bytes]], ObjectId]
) -> tuple[ObjectId, Signature, bool] | SkipReason:
    """Reads a file so that the bytes and the signature belong together.

    Args:
        directory: descriptor of its directory.
        name: its name there.
        limit: bytes; a larger file is `TOO_LARGE`.
        store: takes the size and the bytes, returns the blob's id; raises ValueError if they do not match.

    Returns:
        The blob, the signature and whether that is racy; or why it cannot be captured.

    Raises:
        FileNotFoundError: it is gone.
        OSError: the disk is in trouble, not the file.
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
                oid = store(before.st_size, _chunks(descriptor, before.st_size))
            except ValueError:
                continue
            seen = signature(before)
            if signature(os.fstat(descriptor)) == seen:
                return oid, seen, is_racy(seen.ctime_ns, looked_at)
        finally:
            os.close(descriptor)
    return SkipReason.UNSTABLE


def _chunks(descriptor: int, size: int) -> Iterator[bytes]:
    # one byte more than there should be shows a file that grew
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
    """The id that the store gives these bytes; raises ValueError if their number is not `size`."""
    digest = hashlib.sha1(b"blob %d\0" % size)
    for chunk in chunks:
        digest.update(chunk)
        size -= len(chunk)
    if size:
        raise ValueError("the file grew or shrank while it was read")
    return digest.digest()


def regular(path: str | bytes, flags: int, *, directory: int | None = None) -> int:
    """An `opener` for `open` that only opens regular files: a FIFO must not make the daemon wait.

    Args:
        path: what to open.
        flags: from `open`.
        directory: descriptor that the path is relative to; a symlink is then not followed.

    Raises:
        OSError: EINVAL for anything else.
    """
    unfollowed = 0 if directory is None else os.O_NOFOLLOW
    descriptor = os.open(path, flags | unfollowed | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file", path)


def read_bounded(
    path: str | bytes, most: int = SMALL_BYTES, directory: int | None = None, *, cut: bool = False
) -> bytes:
    """The bytes of a regular file of others: the one place that reads such a file as a whole.

    Args:
        path: of the file.
        most: bytes that it may have.
        directory: as for `regular`.
        cut: whether to read `most + 1` bytes of a larger file, for a parser that refuses so many.

    Raises:
        OSError: it cannot be read: EINVAL if it is no regular file, EFBIG if it is larger.
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
    """A path that a file of others names, without symlinks; None where it is too long, or the links are."""
    try:
        # with each part, all that precede it are looked at once more
        return os.path.realpath(path) if len(path) < _PATH_BYTES else None
    except RecursionError:
        return None


def read_small(
    path: bytes, directory: int | None = None, most: int = SMALL_BYTES, *, cut: bool = False
) -> bytes | None:
    """As `read_bounded`; None if there is no such file, or it may not be read.

    Raises:
        IoError: the disk or the process is in trouble, so what the file says is unknown.
    """
    with os_errors(path):
        try:
            return read_bounded(path, most, directory, cut=cut)
        except OSError as error:
            if error.errno in _UNREADABLE:
                return None
            raise


def content(root: int, path: RelPath, most: int) -> bytes | None:
    """The bytes of a file, or the target of a symlink; None if there is neither, or it cannot be read.

    Args:
        root: descriptor of the folder; no symlink leads out of it.
        path: the file.
        most: larger files are not read, bytes.
    """
    above, _, name = path.rpartition(b"/")
    try:
        with opened_directory(root, above) as directory:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                return os.readlink(name, dir_fd=directory)
            return None if status.st_size > most else read_bounded(name, most, directory)
    except OSError:
        return None
