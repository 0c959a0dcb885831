"""Reads the objects of a pack, deltas too, for the daemon and for fsck. Most of the work releases the interpreter lock.

A damaged pack never leads to a wrong object, an endless loop, or more memory than its entries can fill. libgit2 is not
used, because it never returns from circular deltas.
"""

from __future__ import annotations

import hashlib
import os
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import count

from snapd.model.errors import error_from_os_error
from snapd.model.snapshot import ObjectId
from snapd.store.files.durable import EXHAUSTED, DamagedData

from .cache import RecentCache
from .codec import ID_BYTES, KINDS, ObjectKind, header, object_id
from .compression import CHUNK_BYTES, ERRORS, MOST_EXPANDED, Inflater, NoStream, expand, expanded, inflater
from .pack_entry import DEEPEST, HEADER_BYTES, EntryHead, apply_delta, delta_size, read_head

OffsetOf = Callable[[ObjectId], int | None]
"""Returns the offset in the pack at which an object begins, in bytes; None if the pack does not have it."""

_INLINE_BYTES = 8192
"""The bytes read at once; enough for most source files."""
_DELTA_BYTES = 512
"""This much of an entry is enough to read the size of a delta's result; most of it is the stream's code tables."""
_SIZES_BYTES = 32
"""The two sizes at the beginning of a delta are never longer than this, unless they are wrong."""
_LARGEST_DELTA = 1 << 30
"""The largest result and base of a delta: git makes none for objects over 512 MiB (`core.bigFileThreshold`)."""
_READ_BYTES = 1 << 30
STREAM_FROM = 8 << 20
"""`check` hashes whole objects larger than this piece by piece."""


ObjectCache = RecentCache[tuple[int, int], "tuple[ObjectKind, bytes]"]
"""The most recently read objects, by the number of the reader and the offset in its pack."""


def object_cache(capacity: int, largest: int) -> ObjectCache:
    """Creates a cache; an object of more than `largest` bytes is not kept: it would displace all the others."""
    return ObjectCache(capacity, lambda result: len(result[1]), largest)


_numbers = count()
_shared_cache = object_cache(8 << 20, 1 << 20)
"""The bases of deltas, of all packs that the daemon has open: the next deltas need them again."""


class PackReader:
    """One open pack. Safe to use from several threads. `cache` keeps the bases of deltas; None for a shared one."""

    def __init__(self, path: str, cache: ObjectCache | None = None) -> None:
        # not mapped: if the file were truncated, a map would end the process; it may also be a pipe
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self.close = weakref.finalize(self, os.close, self._descriptor)
        status = os.fstat(self._descriptor)
        # where the entries end and the checksum begins
        self.end = max(0, status.st_size - ID_BYTES) if stat.S_ISREG(status.st_mode) else 0
        self._path = path
        self._number = next(_numbers)
        self._cache = cache or _shared_cache

    def read(
        self, oid: ObjectId, offset: int, offset_of: OffsetOf, most: int | None = None
    ) -> tuple[ObjectKind, bytes] | None:
        """Reads the object at `offset`; None if it is larger than `most` bytes, damaged, or does not match the id."""
        try:
            start = self._bytes(_INLINE_BYTES, offset)
            head = read_head(start)
            if most is not None and (self._size_of_delta(head, start) if head.is_delta else head.size) > most:
                return None
            if head.kind is None:
                kind, content = self._resolve(offset, head, start, offset_of)
            else:
                kind, content = head.kind, self._content(offset, head, start)
        except DamagedData:
            return None
        except OSError as error:
            self._raise_if_exhausted(error)
            return None
        return (kind, content) if object_id(kind, content) == oid else None

    def describe(self, offsets: Iterable[int], offset_of: OffsetOf) -> Iterator[tuple[ObjectKind, int] | None]:
        """Yields the types and sizes in bytes that the pack states for the objects at some offsets; None for no object.

        Their bytes are not read; only the end of every chain of deltas is checked. Ascending offsets are fastest.
        """
        known: dict[int, ObjectKind | None] = {}
        for offset in offsets:
            try:
                start = self._bytes(_DELTA_BYTES, offset)
                # the first snapshot describes every file of a project: most are stored whole, and their sizes are short
                kind = KINDS.get(start[0] >> 4 & 7) if start else None
                if kind is not None and len(start) > 4 and not (start[1] & start[2] & 0x80):
                    size = start[0] & 0x0F
                    if start[0] & 0x80:
                        size |= (start[1] & 0x7F) << 4
                        if start[1] & 0x80:
                            size |= start[2] << 11
                    known[offset] = kind
                else:
                    kind, size = self._described(offset, start, offset_of, known)
            except DamagedData:
                yield None
                continue
            except OSError as error:
                self._raise_if_exhausted(error)
                yield None
                continue
            yield None if kind is None else (kind, size)

    def object_at(self, offset: int, offset_of: OffsetOf) -> tuple[ObjectKind, bytes]:
        """Reads the object at an offset, whatever its id; raises `DamagedData` if there is none, and `OSError`."""
        start = self._bytes(_INLINE_BYTES, offset)
        return self._resolve(offset, read_head(start), start, offset_of)

    def check(self, oid: ObjectId, offset: int, offset_of: OffsetOf) -> tuple[ObjectKind, int, bytes]:
        """Reads an object, however large, and compares it with its id; arguments as of `read`.

        Returns its type, its size in bytes, and for a commit its bytes, else none. Raises as `object_at`.
        """
        head = self._head(offset)
        if head.kind is not None and head.size > STREAM_FROM:
            kind, size, data = head.kind, head.size, b""
            digest = hashlib.sha1(header(kind, size))
            for piece in self._pieces(offset, head, inflater()):
                digest.update(piece)
            result = digest.digest()
        else:
            kind, data = self.object_at(offset, offset_of)
            result, size = object_id(kind, data), len(data)
        if result != oid:
            raise DamagedData("its bytes are those of another object")
        return kind, size, data if kind == "commit" else b""

    def length_at(self, offset: int) -> int:
        """Returns how many bytes of the pack an entry takes; needs no index. Raises as `object_at`."""
        head, stream = self._head(offset), inflater()
        read = 0

        def compressed() -> Iterator[bytes]:
            nonlocal read
            for piece in self._compressed(offset, head):
                read += len(piece)
                yield piece

        for _ in self._pieces(offset, head, stream, compressed()):
            pass
        return head.length + read - len(stream.unused_data)

    def forget(self) -> None:
        """Clears the cache, so that everything is read from the disk again."""
        self._cache.clear()

    def _raise_if_exhausted(self, error: OSError) -> None:
        """Raises `IoError` if the error says nothing about the pack."""
        if error.errno in EXHAUSTED:
            raise error_from_os_error(error, self._path) from error

    def _head(self, offset: int) -> EntryHead:
        return read_head(self._bytes(HEADER_BYTES, offset))

    def _described(
        self, offset: int, start: bytes, offset_of: OffsetOf, known: dict[int, ObjectKind | None]
    ) -> tuple[ObjectKind | None, int]:
        head = read_head(start)
        self._check_size(offset, head)
        if head.is_delta:
            return self._kind(offset, head, offset_of, known), self._size_of_delta(head, start)
        known[offset] = head.kind
        return head.kind, head.size

    def _kind(
        self, offset: int, head: EntryHead, offset_of: OffsetOf, known: dict[int, ObjectKind | None]
    ) -> ObjectKind | None:
        """Returns the type of the object at the end of a chain of deltas; None if there is none, or it is a circle."""
        passed: list[int] = []
        at, kind = offset, None
        while True:
            if at in known:
                kind = known[at]
                break
            # a circle that returns to this entry ends here
            known[at] = None
            passed.append(at)
            if not head.is_delta:
                kind = head.kind
                break
            try:
                at = _base(at, head, offset_of)
                head = self._head(at)
            except DamagedData:
                break
        if len(passed) > DEEPEST:
            kind = None
        known.update(dict.fromkeys(passed, kind))
        return kind

    def _resolve(self, offset: int, head: EntryHead, start: bytes, offset_of: OffsetOf) -> tuple[ObjectKind, bytes]:
        """Reads the object of an entry with these first bytes: applies its deltas to the whole object at their end."""
        deltas: dict[int, bytes] = {}
        at = offset
        while (result := self._cache.get((self._number, at))) is None:
            is_large = head.size > _LARGEST_DELTA and (head.is_delta or deltas)
            if is_large or len(deltas) > DEEPEST or at in deltas:
                raise DamagedData("it is a delta that git does not make")
            content = self._content(at, head, start)
            if head.kind is not None:
                result = (head.kind, content)
                self._cache.keep((self._number, at), result)
                break
            deltas[at] = content
            at = _base(at, head, offset_of)
            start = self._bytes(_INLINE_BYTES, at)
            head = read_head(start)
        kind, content = result
        for at, delta in reversed(deltas.items()):
            if delta_size(delta) > _LARGEST_DELTA:
                raise DamagedData("it is a delta that git does not make")
            content = apply_delta(content, delta)
            self._cache.keep((self._number, at), (kind, content))
        return kind, content

    def _content(self, offset: int, head: EntryHead, start: bytes) -> bytes:
        """Expands the stream of an entry. Arguments as for `_resolve`."""
        self._check_size(offset, head)
        length = _longest(head)
        if length > len(start) == _INLINE_BYTES:
            pieces, have = [start], len(start)
            while have < length and (piece := self._bytes(min(length - have, _READ_BYTES), offset + have)):
                pieces.append(piece)
                have += len(piece)
            start = b"".join(pieces)
        content = expand(start[head.length :], head.size)
        if content is None:
            raise DamagedData("it cannot be expanded")
        return content

    def _pieces(
        self, offset: int, head: EntryHead, stream: Inflater, compressed: Iterator[bytes] | None = None
    ) -> Iterator[bytes]:
        """As `_content`, piece by piece; `compressed` has the bytes of the stream if they are read by the caller."""
        seen = 0
        try:
            for piece in expanded(compressed or self._compressed(offset, head), CHUNK_BYTES, stream):
                seen += len(piece)
                if seen > head.size:
                    break
                yield piece
        except NoStream as error:
            raise DamagedData(str(error)) from error
        if seen != head.size:
            raise DamagedData("its size is not the one that it states")

    def _compressed(self, offset: int, head: EntryHead) -> Iterator[bytes]:
        at, end = offset + head.length, offset + _longest(head)
        while at < end and (data := self._bytes(min(CHUNK_BYTES, end - at), at)):
            yield data
            at += len(data)

    @staticmethod
    def _size_of_delta(head: EntryHead, start: bytes) -> int:
        """Returns the size of a delta's result, in bytes; `start` has the first bytes of the entry."""
        try:
            size = delta_size(inflater().decompress(start[head.length :], _SIZES_BYTES))
        except ERRORS as error:
            raise DamagedData(str(error)) from error
        if size > _LARGEST_DELTA:
            raise DamagedData("it is a delta that git does not make")
        return size

    def _check_size(self, offset: int, head: EntryHead) -> None:
        """Raises `DamagedData` if no stream that fits into the pack can expand to the size that the entry states."""
        if head.size > MOST_EXPANDED * (self.end - offset):
            raise DamagedData("it is cut short")

    def _bytes(self, size: int, at: int) -> bytes:
        # a damaged index may state any offset and any size
        left = self.end - at
        return os.pread(self._descriptor, min(size, left), at) if left > 0 else b""


def _longest(head: EntryHead) -> int:
    """Returns the most bytes that an entry takes, if zlib cannot compress it."""
    return head.length + head.size + (head.size >> 8) + 64


def _base(offset: int, head: EntryHead, offset_of: OffsetOf) -> int:
    base = offset_of(head.base) if head.base is not None else offset - head.distance
    if base is None or base <= 0:
        raise DamagedData("it is a delta of an object that is not in the pack")
    return base
