"""Reads the objects of a pack by our own code, deltas too, which lets go of the interpreter lock for most of it.

Nothing of the pack is believed: what is given out matches its id. libgit2 has no part in it, since it never returns
from deltas that stand on each other in a circle.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import weakref
from collections import OrderedDict
from itertools import count
from typing import TYPE_CHECKING

from snapd.core.errors import from_os_error
from snapd.store.files.disk_errors import EXHAUSTED, Damaged

from .codec import KINDS, header
from .compression import ERRORS, MOST_EXPANDED, expand, inflater
from .pack_entry import DEEPEST, HEADER_BYTES, EntryHead, apply_delta, delta_size, read_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from snapd.core.model import ObjectId

    from .codec import ObjectKind

    Places = Callable[[ObjectId], int | None]
    """Where in the pack an object begins, bytes; None where it is not there."""

CACHED_BYTES = 8 << 20
"""What is kept of objects that deltas stand on, of all packs together: they are asked for again soon."""

_CHECKSUM_BYTES = 20
_INLINE_BYTES = 8192
"""What is read at once; enough for most source files."""
_DELTA_BYTES = 512
"""So many bytes of an entry say how large the object is that a delta makes; the codes of its stream take most."""
_SIZES_BYTES = 32
"""The two sizes at the beginning of a delta are never longer, unless they are a lie."""
_LARGEST_DELTA = 1 << 30
"""A delta makes nothing larger, and stands on nothing larger: git by itself has none for what is over 512 MiB."""
_READ_BYTES = 1 << 30


class PackReader:
    """One pack, open. Safe to use from several threads.

    Args:
        path: the `.pack` file.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: str) -> None:
        # not mapped: a file that somebody cuts short would end the process
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._descriptor)
        status = os.fstat(self._descriptor)
        self._end = status.st_size - _CHECKSUM_BYTES if stat.S_ISREG(status.st_mode) else 0
        self._path = path
        self._number = next(_numbers)

    def read(
        self, oid: ObjectId, offset: int, places: Places, most: int | None = None
    ) -> tuple[ObjectKind, bytes] | None:
        """The object at a place in the pack.

        Args:
            oid: what it must be.
            offset: from the beginning of the file.
            places: where the objects of the pack begin.
            most: a larger object is not wanted, bytes.

        Returns:
            Its type and bytes, which match the id; None where it is larger, or is not what it should be.

        Raises:
            IoError: it cannot be read for now, which says nothing of it.
        """
        try:
            start = self._bytes(_INLINE_BYTES, offset)
            head = read_head(start)
            if head.is_delta:
                if most is not None and self._size_of_delta(head, start) > most:
                    return None
                kind, content = self._undeltified(offset, head, start, places)
            elif head.kind is None or (most is not None and head.size > most):
                return None
            else:
                kind, content = head.kind, self._content(offset, head, start)
        except Damaged:
            return None
        digest = hashlib.sha1(header(kind, len(content)))
        digest.update(content)
        return (kind, content) if digest.digest() == oid else None

    def describe(self, offsets: Iterable[int], places: Places) -> Iterator[tuple[ObjectKind, int] | None]:
        """What the objects at some places are, as far as the pack says, without reading all of them.

        Args:
            offsets: from the beginning of the file; in ascending order it is fastest.
            places: where the objects of the pack begin.

        Returns:
            Of each its type and its size in bytes, of which nothing is checked but that no delta stands on itself; None
            where the pack has no object there.

        Raises:
            IoError: from the iterator, where the pack cannot be read for now, which says nothing of it.
        """
        known: dict[int, ObjectKind | None] = {}
        for offset in offsets:
            try:
                start = self._bytes(_DELTA_BYTES, offset)
                # a first look asks for every file of a project: most are stored whole, and have short sizes
                kind = KINDS.get(start[0] >> 4 & 7) if start else None
                if kind is not None and len(start) > 4 and not (start[1] & start[2] & 0x80):
                    size = start[0] & 0x0F
                    if start[0] & 0x80:
                        size |= (start[1] & 0x7F) << 4
                        if start[1] & 0x80:
                            size |= start[2] << 11
                    known[offset] = kind
                else:
                    kind, size = self._described(offset, start, places, known)
            except Damaged:
                yield None
                continue
            yield None if kind is None else (kind, size)

    def _described(
        self, offset: int, start: bytes, places: Places, known: dict[int, ObjectKind | None]
    ) -> tuple[ObjectKind | None, int]:
        """As `describe`, of one."""
        head = read_head(start)
        self._check_size(offset, head)
        if head.is_delta:
            return self._kind(offset, head, places, known), self._size_of_delta(head, start)
        known[offset] = head.kind
        return head.kind, head.size

    def _kind(
        self, offset: int, head: EntryHead, places: Places, known: dict[int, ObjectKind | None]
    ) -> ObjectKind | None:
        """The type of what a chain of deltas ends in; None where it ends in nothing, or never."""
        passed: list[int] = []
        at, kind = offset, None
        while True:
            if at in known:
                kind = known[at]
                break
            # a chain that comes here again finds that there is nothing
            known[at] = None
            passed.append(at)
            if not head.is_delta:
                kind = head.kind
                break
            try:
                at = _base(at, head, places)
                head = read_head(self._bytes(HEADER_BYTES, at))
            except Damaged:
                break
        if len(passed) > DEEPEST:
            kind = None
        known.update(dict.fromkeys(passed, kind))
        return kind

    def _undeltified(self, offset: int, head: EntryHead, start: bytes, places: Places) -> tuple[ObjectKind, bytes]:
        deltas: dict[int, bytes] = {}
        at = offset
        while (found := _cache.get((self._number, at))) is None:
            if head.size > _LARGEST_DELTA or len(deltas) > DEEPEST or at in deltas:
                raise Damaged("no delta that git makes")
            content = self._content(at, head, start)
            if not head.is_delta:
                found = (KINDS[head.number], content)
                _cache.keep((self._number, at), found)
                break
            deltas[at] = content
            at = _base(at, head, places)
            start = self._bytes(_INLINE_BYTES, at)
            head = read_head(start)
        kind, content = found
        for place, delta in reversed(deltas.items()):
            if delta_size(delta) > _LARGEST_DELTA:
                raise Damaged("no delta that git makes")
            content = apply_delta(content, delta)
            _cache.keep((self._number, place), (kind, content))
        return kind, content

    def _content(self, offset: int, head: EntryHead, start: bytes) -> bytes:
        """What the stream of an entry holds.

        Args:
            offset: of the entry.
            head: what stands before the stream.
            start: the first bytes of the entry.
        """
        self._check_size(offset, head)
        # more than zlib makes of what cannot be compressed
        length = head.length + head.size + (head.size >> 8) + 64
        if length > len(start) == _INLINE_BYTES:
            pieces, have = [start], len(start)
            while have < length and (piece := self._bytes(min(length - have, _READ_BYTES), offset + have)):
                pieces.append(piece)
                have += len(piece)
            start = b"".join(pieces)
        content = expand(start[head.length :], head.size)
        if content is None:
            raise Damaged("it cannot be expanded")
        return content

    @staticmethod
    def _size_of_delta(head: EntryHead, start: bytes) -> int:
        """The size of what a delta makes; `start` has the first bytes of the entry."""
        try:
            size = delta_size(inflater().decompress(start[head.length :], _SIZES_BYTES))
        except ERRORS as error:
            raise Damaged(str(error)) from error
        if size > _LARGEST_DELTA:
            raise Damaged("no delta that git makes")
        return size

    def _check_size(self, offset: int, head: EntryHead) -> None:
        """Raises `Damaged` where no stream that fits into the pack holds as much as an entry says."""
        if head.size > MOST_EXPANDED * (self._end - offset):
            raise Damaged("it is cut short")

    def _bytes(self, size: int, at: int) -> bytes:
        # nothing lies beyond the end, and no file is as large as a damaged index may say
        left = self._end - at
        if left <= 0:
            return b""
        size = min(size, left)
        try:
            return os.pread(self._descriptor, size, at)
        except OSError as error:
            if error.errno in EXHAUSTED:
                raise from_os_error(error, self._path) from error
            raise Damaged(os.strerror(error.errno or 0)) from error


def _base(offset: int, head: EntryHead, places: Places) -> int:
    """Where what a delta stands on begins; raises `Damaged`."""
    base = places(head.base) if head.base is not None else offset - head.distance
    if base is None or base <= 0:
        raise Damaged("a delta of what is not in the pack")
    return base


class _Cache:
    """Objects that were read lately, by their pack and their place in it. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._objects: OrderedDict[tuple[int, int], tuple[ObjectKind, bytes]] = OrderedDict()
        self._bytes = 0

    def get(self, place: tuple[int, int]) -> tuple[ObjectKind, bytes] | None:
        with self._lock:
            found = self._objects.get(place)
            if found is not None:
                self._objects.move_to_end(place)
        return found

    def keep(self, place: tuple[int, int], found: tuple[ObjectKind, bytes]) -> None:
        # one large object would drive out all the others
        if len(found[1]) > CACHED_BYTES // 8:
            return
        with self._lock:
            before = self._objects.pop(place, None)
            self._objects[place] = found
            self._bytes += len(found[1]) - (len(before[1]) if before is not None else 0)
            while self._bytes > CACHED_BYTES:
                _, (_, oldest) = self._objects.popitem(last=False)
                self._bytes -= len(oldest)


_numbers = count()
_cache = _Cache()
