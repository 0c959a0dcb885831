"""Removes the files that an operation had written or moved aside when it was killed.

Their contents are stored: they will be written again, or were in the snapshot that the operation took first. A file
with other contents (somebody wrote to it in the moment of the swap) gets a name of its own.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterable, Iterator

from snapd.failpoints import failpoint
from snapd.model.call import Call
from snapd.model.errors import os_errors
from snapd.model.snapshot import SYMLINK, Entry, ObjectId, RelPath
from snapd.worktree.fs.directories import open_directory
from snapd.worktree.fs.rename import rename_no_replace
from snapd.worktree.snapshot.classifier import OWN_TEMPORARY

Chunks = Callable[[ObjectId], Iterator[bytes]]

logger = logging.getLogger(__name__)

_READ_BYTES = 1 << 20
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def sweep(root: int, directories: Iterable[RelPath], entries: Collection[Entry], chunks: Chunks, call: Call) -> None:
    """Removes the files that a killed operation left in some directories.

    Args:
        root: descriptor of the workspace.
        directories: where they may be; not below.
        entries: their possible contents; a file that was being written has the beginning of one.
        chunks: returns a blob's bytes.
        call: the request.

    Raises:
        StoreCorrupt: a blob among the entries is damaged.
        IoError: a file cannot be read or removed.
        Interrupted: the process is about to end.
    """
    known = {entry.oid for entry in entries}
    for path in directories:
        call.check()
        try:
            descriptor = open_directory(root, path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            # a symlink by now: the operation left nothing where it leads
            continue
        try:
            with os_errors(path):
                for name in os.listdir(descriptor):
                    if OWN_TEMPORARY.fullmatch(os.fsencode(name)):
                        call.check()
                        try:
                            _clear(descriptor, os.fsencode(name), known, entries, chunks)
                        except PermissionError:
                            # it does no harm, and must not block everything until somebody may write there
                            logger.warning(
                                "an interrupted operation left %s, and there is no permission to remove it: remove it",
                                os.fsdecode(os.path.join(path, os.fsencode(name))),
                            )
        finally:
            os.close(descriptor)


def _clear(
    directory: int, name: bytes, known: Collection[ObjectId], entries: Collection[Entry], chunks: Chunks
) -> None:
    failpoint("leftovers.clear")
    if _is_stored(directory, name, known, entries, chunks):
        os.unlink(name, dir_fd=directory)
    else:
        rename_no_replace(directory, name, directory, b".snapd-kept-" + secrets.token_hex(4).encode())


def _is_stored(
    directory: int, name: bytes, known: Collection[ObjectId], entries: Collection[Entry], chunks: Chunks
) -> bool:
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(name, dir_fd=directory)
        return hashlib.sha1(b"blob %d\0" % len(target) + target).digest() in known
    if not stat.S_ISREG(status.st_mode):
        return False
    digest = hashlib.sha1(b"blob %d\0" % status.st_size)
    for chunk in _read(directory, name):
        digest.update(chunk)
    if digest.digest() in known:
        return True
    return any(
        entry.mode != SYMLINK and _begins(chunks(entry.oid), _read(directory, name), status.st_size)
        for entry in entries
    )


def _begins(whole: Iterator[bytes], part: Iterator[bytes], size: int) -> bool:
    """Whether `whole` begins with `part`, which has this size, bytes."""
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
