"""Loose objects: one file each (gitformat-loose in git's documentation), read and written in pieces if large."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from functools import partial
from typing import BinaryIO

from snapd.failpoints import failpoint
from snapd.model.errors import StoreCorrupt, error_from_os_error, os_errors
from snapd.model.snapshot import ObjectId
from snapd.store.files.durable import (
    PRIVATE_DIRECTORY,
    PRIVATE_FILE,
    DamagedData,
    reading,
    remove_if_there,
    sync_if_there,
    write_all,
)

from .codec import ID_BYTES, KINDS, ObjectKind, header
from .compression import (
    CHUNK_BYTES,
    ERRORS,
    MOST_EXPANDED,
    NoStream,
    deflate_small,
    deflater,
    expand,
    expanded,
    inflater,
)

_TRIES = 16
_START_BYTES = 4096
"""The start of a loose file that is enough to read its header: most of it is the stream's code tables."""
_HEADER_BYTES = 32

_OTHER = "its bytes are those of another object"

_KINDS: dict[bytes, ObjectKind] = {kind.encode(): kind for kind in KINDS.values()}


def object_path(objects: str, oid: ObjectId) -> str:
    """Returns the path of a loose object."""
    name = oid.hex()
    return os.path.join(objects, name[:2], name[2:])


def encode_loose(kind: ObjectKind, data: bytes) -> bytes:
    """Encodes the loose file of a small object."""
    return deflate_small(header(kind, len(data)) + data)


def kind_of(compressed: bytes) -> ObjectKind | None:
    """Returns the type of an object by the bytes of its loose file; None if they do not state one."""
    try:
        start = inflater().decompress(compressed)
    except ERRORS:
        return None
    return _KINDS.get(start.partition(b" ")[0])


def write_loose(objects: str, oid: ObjectId, compressed: bytes, *, durable: bool = False) -> None:
    """Writes one loose object, whole or not at all; `durable` syncs the bytes, and leaves the name to the caller."""
    path = object_path(objects, oid)
    temporary = os.path.join(objects, f"tmp_obj_{secrets.token_hex(8)}")
    with os_errors(path):
        failpoint("loose.place")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            try:
                write_all(descriptor, compressed)
                if durable:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
            move_in(temporary, path)
        except BaseException:
            remove_if_there(temporary)
            raise


def move_in(temporary: str, path: str) -> None:
    """Gives a loose object its name, as `os.rename`; makes its directory if it is the first one there."""
    failpoint("loose.name")
    for _ in range(_TRIES):
        with contextlib.suppress(FileNotFoundError):
            os.rename(temporary, path)
            return
        # the directory is missing: it was not made yet, or a `git gc` run on the store removed it when it became empty
        with contextlib.suppress(FileExistsError):
            os.mkdir(os.path.dirname(path), PRIVATE_DIRECTORY)
    os.rename(temporary, path)


def loose_files(objects: str) -> Iterator[tuple[ObjectId, os.DirEntry[str]]]:
    """Yields the files of loose objects in an `objects` directory, with the ids in their names; raises `IoError`."""
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
    """Writes loose objects into an `objects` directory; `sync` makes all of them durable."""

    def __init__(self, objects: str) -> None:
        self._objects = objects
        self._directories: set[str] = set()

    def write(self, kind: ObjectKind, size: int, chunks: Iterable[bytes]) -> ObjectId:
        """Hashes, compresses and writes one object in one pass; raises `ValueError` if it has not `size` bytes."""
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
        """Syncs the names of the objects that were written."""
        for directory in sorted({*self._directories, self._objects} if self._directories else ()):
            with os_errors(directory):
                # missing if a git command run on the store has packed its objects, and synced the pack
                sync_if_there(directory)
        self._directories.clear()


def read_chunks(path: str, oid: ObjectId) -> Iterator[bytes] | None:
    """Returns an iterator over the bytes of a loose object; None if there is none.

    Before the last piece, the iterator raises `StoreCorrupt` if the bytes do not match the id.
    """
    with _typed_error(path, oid):
        file = _open(path)
    return None if file is None else _chunks(file, path, oid)


def read_whole(path: str, oid: ObjectId) -> tuple[ObjectKind, bytes] | None:
    """Reads a loose object; None if there is none. Raises `IoError`, or `StoreCorrupt` if it does not match its id."""
    with _typed_error(path, oid):
        return _read(path, oid)


def describe(path: str, oid: ObjectId) -> tuple[ObjectKind, int] | None:
    """Returns the type and the size in bytes that a loose object states; None without one. Raises as `read_whole`."""
    with _typed_error(path, oid):
        file = _open(path)
        if file is None:
            return None
        with file:
            return _head(file.read(_START_BYTES))[:2]


def expand_loose(compressed: bytes, oid: ObjectId) -> tuple[ObjectKind, bytes] | None:
    """Reads an object from the bytes of its loose file; None if they are of another object, or none."""
    try:
        return _expand(compressed, oid)
    except DamagedData:
        return None


def read_loose(path: str, oid: ObjectId) -> tuple[ObjectKind, bytes] | None:
    """As `read_whole`, for fsck; raises `DamagedData` if the bytes do not match the id or are lost, else `IoError`."""
    with reading(path):
        return _read(path, oid)


def check_loose(path: str, oid: ObjectId) -> tuple[ObjectKind, int, bytes] | None:
    """Reads a loose object, however large, and compares it with its id; raises as `read_loose`.

    Returns its type, its size in bytes, and for a commit its bytes, else none; None if there is no such loose object.
    """
    with reading(path):
        file = _open(path)
        if file is None:
            return None
        with file:
            kind, size, _ = _head(file.read(_START_BYTES))
            file.seek(0)
            pieces = _checked(file, oid, size)
            return kind, size, b"".join(data for data in pieces if kind == "commit")


def _open(path: str) -> BinaryIO | None:
    """Opens a loose object; None if there is none. Raises `OSError`, and `DamagedData` if it is not a regular file."""
    try:
        # a pipe without a writer must not block
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DamagedData("it is no regular file")
    return os.fdopen(descriptor, "rb")


def _read(path: str, oid: ObjectId) -> tuple[ObjectKind, bytes] | None:
    file = _open(path)
    if file is None:
        return None
    with file:
        return _expand(file.read(), oid)


@contextlib.contextmanager
def _typed_error(path: str, oid: ObjectId) -> Iterator[None]:
    """Raises `StoreCorrupt` for `DamagedData`, and `IoError` or `StorageFull` for errors of the system."""
    try:
        yield
    except OSError as error:
        raise error_from_os_error(error, path) from error
    except DamagedData as error:
        raise StoreCorrupt(f"object {oid.hex()} is damaged", object=oid.hex()) from error


def _head(start: bytes) -> tuple[ObjectKind, int, int]:
    """Returns type, size and header length, from the first bytes of the file; raises `DamagedData`."""
    try:
        stated, end, _ = inflater().decompress(start, _HEADER_BYTES).partition(b"\0")
    except ERRORS as error:
        raise DamagedData(f"it cannot be expanded: {error}") from error
    name, _, size = stated.partition(b" ")
    kind = _KINDS.get(name)
    if kind is None or not end or not size.isdigit():
        raise DamagedData("it does not state its type and size")
    return kind, int(size), len(stated) + 1


def _expand(compressed: bytes, oid: ObjectId) -> tuple[ObjectKind, bytes]:
    kind, size, length = _head(compressed)
    data = expand(compressed, length + size) if size <= MOST_EXPANDED * len(compressed) else None
    if data is None:
        raise DamagedData("it cannot be expanded to the size that it states")
    if hashlib.sha1(data).digest() != oid:
        raise DamagedData(_OTHER)
    return kind, data[length:]


def _chunks(file: BinaryIO, path: str, oid: ObjectId) -> Iterator[bytes]:
    with _typed_error(path, oid), file:
        yield from _checked(file, oid)


def _checked(file: BinaryIO, oid: ObjectId, size: int | None = None) -> Iterator[bytes]:
    """Yields the bytes of an object of `size` bytes without its header, the last piece only if all match the id."""
    digest = hashlib.sha1()
    start: bytes | None = b""
    held = b""
    seen = 0
    try:
        for data in expanded(iter(partial(file.read, CHUNK_BYTES), b""), CHUNK_BYTES):
            digest.update(data)
            piece = data
            if start is not None:
                start += data
                if b"\0" not in start[:_HEADER_BYTES]:
                    continue
                piece = start.split(b"\0", 1)[1]
                start = None
            seen += len(piece)
            if size is not None and seen > size:
                raise DamagedData("it has more bytes than it states")
            if held:
                yield held
            held = piece
    except NoStream as error:
        raise DamagedData(f"it cannot be expanded: {error}") from error
    if digest.digest() != oid or (size is not None and seen != size):
        raise DamagedData(_OTHER)
    if held:
        yield held
