"""Loose objects: one file each (gitformat-loose in git's documentation), streamed where they are large."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from snapd.core.errors import StoreCorrupt, os_errors
from snapd.core.model import ObjectId
from snapd.failpoints import failpoint
from snapd.store.files.durable import PRIVATE_DIRECTORY, PRIVATE_FILE, remove_if_there, sync_if_there, write_all

from .codec import KINDS, ObjectKind, header
from .compression import ERRORS, MOST_EXPANDED, NoStream, deflate_small, deflater, expand, expanded, inflater

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHUNK = 1 << 20
ID_BYTES = 20
_TRIES = 16
_START_BYTES = 4096
"""So many bytes of a loose file hold its header, and the codes that git compressed it by."""
_HEADER_BYTES = 32

_KINDS: dict[bytes, ObjectKind] = {kind.encode(): kind for kind in KINDS.values()}


def object_path(objects: str, oid: ObjectId) -> str:
    """Where the loose object lies below the `objects` directory."""
    name = oid.hex()
    return os.path.join(objects, name[:2], name[2:])


def pack_loose(kind: ObjectKind, data: bytes) -> bytes:
    """The bytes of the loose file of a small object."""
    return deflate_small(header(kind, len(data)) + data)


def kind_of(packed: bytes) -> ObjectKind | None:
    """The kind of an object by the bytes of its loose file; None where they say none."""
    try:
        start = inflater().decompress(packed)
    except ERRORS:
        return None
    return _KINDS.get(start.partition(b" ")[0])


def place(objects: str, oid: ObjectId, packed: bytes, *, durable: bool = False) -> None:
    """Writes one loose object: there and whole, or not there.

    Args:
        objects: the `objects` directory of the repository.
        oid: its id.
        packed: the bytes of the file.
        durable: whether the bytes are to be on the disk before the name; syncing the name is left to the caller.

    Raises:
        StorageFull, IoError: it was not stored.
    """
    path = object_path(objects, oid)
    temporary = os.path.join(objects, f"tmp_obj_{secrets.token_hex(8)}")
    with os_errors(path):
        failpoint("loose.place")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            try:
                write_all(descriptor, packed)
                if durable:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
            move_in(temporary, path)
        except BaseException:
            remove_if_there(temporary)
            raise


def move_in(temporary: str, path: str) -> None:
    """Gives a loose object its name; makes the directory where it is the first in it.

    Raises:
        OSError: as of `rename`.
    """
    failpoint("loose.name")
    for _ in range(_TRIES):
        with contextlib.suppress(FileNotFoundError):
            os.rename(temporary, path)
            return
        # not made yet; or a `git gc` that somebody runs on the store removes directories as they become empty
        with contextlib.suppress(FileExistsError):
            os.mkdir(os.path.dirname(path), PRIVATE_DIRECTORY)
    os.rename(temporary, path)


def prepare(objects: str) -> None:
    """Makes the directories for loose objects ahead of need: each is a tenth of what a small step takes.

    Args:
        objects: the `objects` directory of a repository.
    """
    # what cannot be made now is made, or its reason told, when an object needs it; see `move_in`
    with contextlib.suppress(OSError):
        for number in range(256):
            with contextlib.suppress(FileExistsError):
                os.mkdir(os.path.join(objects, f"{number:02x}"), PRIVATE_DIRECTORY)


def loose_files(objects: str) -> Iterator[tuple[ObjectId, os.DirEntry[str]]]:
    """The files of loose objects, and the ids that their names say.

    Args:
        objects: the `objects` directory of a repository.

    Raises:
        IoError: it cannot be listed.
    """
    with os_errors(objects):
        for directory in list(os.scandir(objects)):
            if len(directory.name) != 2 or not directory.is_dir(follow_symlinks=False):
                continue
            try:
                files = list(os.scandir(directory.path))
            except FileNotFoundError:
                continue
            for file in files:
                try:
                    oid = bytes.fromhex(directory.name + file.name)
                except ValueError:
                    continue
                if len(oid) == ID_BYTES:
                    yield oid, file


class LooseWriter:
    """Writes loose objects; `sync` makes all of them durable.

    Args:
        objects: the `objects` directory of the repository.
    """

    def __init__(self, objects: str) -> None:
        self._objects = objects
        self._directories: set[str] = set()

    def write(self, kind: ObjectKind, size: int, chunks: Iterable[bytes]) -> ObjectId:
        """Hashes, compresses and stores one object in a single pass.

        Args:
            kind: its type.
            size: of all chunks together, bytes.
            chunks: its bytes.

        Returns:
            Its id.

        Raises:
            StorageFull, IoError: it was not stored.
            ValueError: the chunks are not of that size; it was not stored.
        """
        temporary = os.path.join(self._objects, f"tmp_obj_{secrets.token_hex(8)}")
        start = header(kind, size)
        digest = hashlib.sha1(start)
        stream = deflater()
        seen = 0
        with os_errors(temporary):
            failpoint("loose.stream")
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
            try:
                write_all(descriptor, stream.compress(start))
                for chunk in chunks:
                    seen += len(chunk)
                    digest.update(chunk)
                    failpoint("loose.chunk")
                    write_all(descriptor, stream.compress(chunk))
                if seen != size:
                    raise ValueError(f"{seen} bytes instead of {size}")
                write_all(descriptor, stream.flush())
                failpoint("loose.sync")
                os.fsync(descriptor)
                oid = digest.digest()
                path = object_path(self._objects, oid)
                move_in(temporary, path)
            except BaseException:
                remove_if_there(temporary)
                raise
            finally:
                os.close(descriptor)
        self._directories.add(os.path.dirname(path))
        return oid

    def sync(self) -> None:
        """Makes the names of what was written durable."""
        for directory in sorted({*self._directories, self._objects} if self._directories else ()):
            with os_errors(directory):
                # gone where a git that somebody runs on the store has packed what was in it, and synced the pack
                sync_if_there(directory)
        self._directories.clear()


def read_chunks(path: str, oid: ObjectId) -> Iterator[bytes] | None:
    """The bytes of a loose object, chunk by chunk, checked against its id at the end.

    Returns:
        None where there is no such loose object.

    Raises:
        StoreCorrupt: from the iterator, before its last chunk is handed out, where the bytes do not match.
        IoError: it cannot be opened; from the iterator, where it cannot be read.
    """
    file = _open(path, oid)
    return None if file is None else _inflate(file, path, oid)


def read_whole(path: str, oid: ObjectId) -> tuple[ObjectKind, bytes] | None:
    """The type and the bytes of a loose object, checked; libgit2 never returns from one that is cut short.

    Returns:
        None where there is no such loose object.

    Raises:
        StoreCorrupt: the bytes are not those of the object.
        IoError: they cannot be read.
    """
    file = _open(path, oid)
    if file is None:
        return None
    with file, os_errors(path):
        packed = file.read()
    found = expand_loose(packed, oid)
    if found is None:
        raise _damaged(oid)
    return found


def describe(path: str, oid: ObjectId) -> tuple[ObjectKind, int] | None:
    """The type of a loose object and its size in bytes, as it says itself.

    Returns:
        None where there is no such loose object.

    Raises:
        StoreCorrupt: it does not say.
        IoError: it cannot be read.
    """
    file = _open(path, oid)
    if file is None:
        return None
    with file, os_errors(path):
        head = _head(file.read(_START_BYTES))
    if head is None:
        raise _damaged(oid)
    return head[:2]


def expand_loose(packed: bytes, oid: ObjectId) -> tuple[ObjectKind, bytes] | None:
    """The type and the bytes of an object.

    Args:
        packed: its loose file.
        oid: what it must be.

    Returns:
        None where it is another, or none.
    """
    head = _head(packed)
    if head is None:
        return None
    kind, size, length = head
    data = expand(packed, length + size) if size <= MOST_EXPANDED * len(packed) else None
    if data is None or hashlib.sha1(data).digest() != oid:
        return None
    return kind, data[length:]


def _open(path: str, oid: ObjectId) -> BinaryIO | None:
    """The file of a loose object, None where there is none; raises `StoreCorrupt` where it is no file, `IoError`."""
    with os_errors(path):
        try:
            # there may be a pipe by its name, which nobody ever writes to
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise _damaged(oid)
        return os.fdopen(descriptor, "rb")


def _head(start: bytes) -> tuple[ObjectKind, int, int] | None:
    """The type and the size of an object by the start of its loose file, and how many bytes of it say so."""
    try:
        said, end, _ = inflater().decompress(start, _HEADER_BYTES).partition(b"\0")
    except ERRORS:
        return None
    name, _, size = said.partition(b" ")
    kind = _KINDS.get(name)
    if kind is None or not end or not size.isdigit():
        return None
    return kind, int(size), len(said) + 1


def _inflate(file: BinaryIO, path: str, oid: ObjectId) -> Iterator[bytes]:
    digest = hashlib.sha1()
    start: bytes | None = b""
    held = b""
    with file, os_errors(path):
        try:
            for data in expanded(iter(partial(file.read, CHUNK), b""), CHUNK):
                digest.update(data)
                piece = data
                if start is not None:
                    start += data
                    if b"\0" not in start[:_HEADER_BYTES]:
                        continue
                    piece = start.split(b"\0", 1)[1]
                    start = None
                if held:
                    yield held
                held = piece
        except NoStream as error:
            raise _damaged(oid) from error
    if digest.digest() != oid:
        raise _damaged(oid)
    if held:
        yield held


def _damaged(oid: ObjectId) -> StoreCorrupt:
    return StoreCorrupt(f"object {oid.hex()} is damaged", object=oid.hex())
