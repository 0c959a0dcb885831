"""One pack, read by the places that its index names: every object is inflated here, deltas too, and hashed.

Nothing of it is believed: not the pack's ends, not its entries, and libgit2, which may never return from what is cut
short, has no part in it. See gitformat-pack(5).
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

from snapd.store.files.disk_errors import Damaged, reading
from snapd.store.objects.compression import NoStream, expanded
from snapd.store.objects.pack_entry import DEEPEST, HEADER_BYTES, apply_delta, read_head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.model import ObjectId

ID_BYTES = 20

_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_CHUNK = 1 << 20
_STREAM_FROM = 8 << 20
"""Objects that are stored whole and have more bytes than this are hashed piece by piece."""
_CACHE_BYTES = 32 << 20


class Places(Protocol):
    """Where objects lie in a pack."""

    def offset_of(self, oid: ObjectId) -> int | None:
        """Where an object begins, bytes; None where it is not there."""

    def entries(self) -> Iterator[tuple[ObjectId, int]]:
        """All objects, each with where it begins."""


def digest_of(kind: str, data: bytes) -> ObjectId:
    """The id of an object of any kind."""
    digest = hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)))
    digest.update(data)
    return digest.digest()


class PackFile:
    """A pack that is open; not to be used from several threads at once.

    Args:
        path: the `.pack` file.
        places: where its objects lie.

    `IoError` comes from any method where the pack cannot be read now.

    Raises:
        FileNotFoundError: there is none.
        Damaged: it is no file, or its bytes are lost.
        IoError: it cannot be opened now.
    """

    def __init__(self, path: str, places: Places) -> None:
        self.path = path
        self.places = places
        with reading(path):
            # what lies in somebody's git directory may be a pipe
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            # without the checksum at the end
            self.end = max(0, os.fstat(self._descriptor).st_size - ID_BYTES)
        self._cache: OrderedDict[int, tuple[str, bytes]] = OrderedDict()
        self._cached_bytes = 0

    def close(self) -> None:
        """Lets go of the file."""
        os.close(self._descriptor)

    def forget(self) -> None:
        """Has everything read anew."""
        self._cache.clear()
        self._cached_bytes = 0

    def read(self, oid: ObjectId) -> tuple[str, bytes] | None:
        """The kind and the bytes of an object, which match its id; None where it is not there.

        Raises:
            Damaged: it is another, or none.
        """
        offset = self.places.offset_of(oid)
        if offset is None:
            return None
        kind, data = self.object_at(offset)
        if digest_of(kind, data) != oid:
            raise Damaged("its bytes are another's")
        return kind, data

    def object_at(self, offset: int) -> tuple[str, bytes]:
        """The kind and the bytes of what begins at a place, unchecked.

        Raises:
            Damaged: it is no object.
        """
        deltas: dict[int, bytes] = {}
        at = offset
        while (found := self._cached(at)) is None:
            number, size, stream, base = self._entry(at)
            data = self._inflate(stream, size)
            if number in _KINDS:
                found = (_KINDS[number], data)
                self._remember(at, found)
                break
            if base is None or at in deltas or len(deltas) > DEEPEST:
                raise Damaged("a delta of nothing")
            deltas[at] = data
            at = base
        for place, delta in reversed(deltas.items()):
            found = (found[0], apply_delta(found[1], delta))
            self._remember(place, found)
        return found

    def check(self, oid: ObjectId, offset: int) -> tuple[str, int, bytes]:
        """Reads an object and compares it with its id.

        Returns:
            Its kind, its size in bytes, and its bytes where it is a commit, else nothing.

        Raises:
            Damaged: it is another, or none.
        """
        number, size, stream, _ = self._entry(offset)
        if number in _KINDS and size > _STREAM_FROM:
            digest = hashlib.sha1(b"%s %d\0" % (_KINDS[number].encode(), size))
            for piece in self._pieces(stream, size):
                digest.update(piece)
            if digest.digest() != oid:
                raise Damaged("its bytes are another's")
            return _KINDS[number], size, b""
        kind, data = self.object_at(offset)
        if digest_of(kind, data) != oid:
            raise Damaged("its bytes are another's")
        return kind, len(data), data if kind == "commit" else b""

    def length_at(self, offset: int) -> int:
        """How many bytes of the pack an entry takes, found out without an index.

        Raises:
            Damaged: there is no entry.
        """
        _, size, stream, _ = self._entry(offset)
        inflate = zlib.decompressobj()
        at, seen = stream, 0
        while not inflate.eof:
            data = self._bytes(min(_CHUNK, max(0, self.end - at)), at)
            if not data:
                raise Damaged("it is cut short")
            at += len(data)
            try:
                seen += len(inflate.decompress(data, _CHUNK))
                while inflate.unconsumed_tail and not inflate.eof:
                    seen += len(inflate.decompress(inflate.unconsumed_tail, _CHUNK))
            except zlib.error as error:
                raise Damaged(str(error)) from error
        if seen != size:
            raise Damaged("it has another size than it says")
        return at - len(inflate.unused_data) - offset

    def _entry(self, offset: int) -> tuple[int, int, int, int | None]:
        """Number of the kind, size, where the stream begins, and for a delta where its base does."""
        head = read_head(self._bytes(min(HEADER_BYTES, max(0, self.end - offset)), offset))
        stream = offset + head.length
        if not head.is_delta:
            return head.number, head.size, stream, None
        if head.base is not None:
            return head.number, head.size, stream, self.places.offset_of(head.base)
        if head.distance >= offset:
            raise Damaged("a delta of what is not in the pack")
        return head.number, head.size, stream, offset - head.distance

    def _bytes(self, count: int, at: int) -> bytes:
        with reading(self.path):
            return os.pread(self._descriptor, count, at)

    def _inflate(self, stream: int, size: int) -> bytes:
        return b"".join(self._pieces(stream, size))

    def _pieces(self, stream: int, size: int) -> Iterator[bytes]:
        seen = 0
        try:
            for piece in expanded(self._compressed(stream, size), _CHUNK):
                seen += len(piece)
                if seen > size:
                    raise Damaged("it has more bytes than it says")
                yield piece
        except NoStream as error:
            raise Damaged(str(error)) from error
        if seen != size:
            raise Damaged("it is cut short")

    def _compressed(self, stream: int, size: int) -> Iterator[bytes]:
        # more than zlib makes of what cannot be compressed
        at, left = stream, size + (size >> 8) + 64
        while left > 0 and (data := self._bytes(min(_CHUNK, left, max(0, self.end - at)), at)):
            yield data
            at += len(data)
            left -= len(data)

    def _cached(self, offset: int) -> tuple[str, bytes] | None:
        found = self._cache.get(offset)
        if found is not None:
            self._cache.move_to_end(offset)
        return found

    def _remember(self, offset: int, found: tuple[str, bytes]) -> None:
        if len(found[1]) > _CACHE_BYTES or offset in self._cache:
            return
        self._cache[offset] = found
        self._cached_bytes += len(found[1])
        while self._cached_bytes > _CACHE_BYTES:
            _, (_, data) = self._cache.popitem(last=False)
            self._cached_bytes -= len(data)
