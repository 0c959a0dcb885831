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

from snapd.store.damage import Damaged, reading
from snapd.store.deflate import ERRORS, inflater

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.model import ObjectId

ID_BYTES = 20

_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OFFSET_DELTA = 6
_NAMED_DELTA = 7
_HEADER_BYTES = 32
_CHUNK = 1 << 20
_STREAM_FROM = 8 << 20
"""Objects that are stored whole and have more bytes than this are hashed piece by piece."""
_CACHE_BYTES = 32 << 20
_DEEPEST = 5000
"""git makes no longer chains of deltas than 4,095."""


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
        deltas: list[tuple[int, bytes]] = []
        at = offset
        while (found := self._cached(at)) is None:
            number, size, stream, base = self._entry(at)
            data = self._inflate(stream, size)
            if number in _KINDS:
                found = (_KINDS[number], data)
                self._remember(at, found)
                break
            if base is None or len(deltas) > _DEEPEST:
                raise Damaged("a delta of nothing")
            deltas.append((at, data))
            at = base
        for place, delta in reversed(deltas):
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
        data = self._bytes(min(_HEADER_BYTES, max(0, self.end - offset)), offset)
        try:
            byte = data[0]
            number, size, shift, at = byte >> 4 & 7, byte & 0x0F, 4, 1
            while byte & 0x80:
                byte = data[at]
                size |= (byte & 0x7F) << shift
                shift, at = shift + 7, at + 1
            if number in _KINDS:
                return number, size, offset + at, None
            if number == _OFFSET_DELTA:
                byte = data[at]
                distance, at = byte & 0x7F, at + 1
                while byte & 0x80:
                    byte = data[at]
                    distance, at = ((distance + 1) << 7) | (byte & 0x7F), at + 1
                if not 0 < distance < offset:
                    raise Damaged("a delta of what is not in the pack")
                return number, size, offset + at, offset - distance
        except IndexError as error:
            raise Damaged("it is cut short") from error
        if number == _NAMED_DELTA and len(data) >= at + ID_BYTES:
            base = self.places.offset_of(data[at : at + ID_BYTES])
            return number, size, offset + at + ID_BYTES, base
        raise Damaged("no entry of a pack")

    def _bytes(self, count: int, at: int) -> bytes:
        with reading(self.path):
            return os.pread(self._descriptor, count, at)

    def _inflate(self, stream: int, size: int) -> bytes:
        return b"".join(self._pieces(stream, size))

    def _pieces(self, stream: int, size: int) -> Iterator[bytes]:
        inflate = inflater()
        at, seen = stream, 0
        # more than zlib makes of what cannot be compressed
        left = size + (size >> 8) + 64
        while not inflate.eof and left > 0:
            data = self._bytes(min(_CHUNK, left, max(0, self.end - at)), at)
            if not data:
                break
            at += len(data)
            left -= len(data)
            try:
                piece = inflate.decompress(data)
            except ERRORS as error:
                raise Damaged(str(error)) from error
            seen += len(piece)
            if seen > size:
                raise Damaged("it has more bytes than it says")
            yield piece
        if not inflate.eof or seen != size:
            raise Damaged("it is cut short")

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


def apply_delta(base: bytes, delta: bytes) -> bytes:
    """What a delta makes of its base.

    Raises:
        Damaged: it is no delta of this base.
    """
    try:
        base_size, at = _number(delta, 0)
        size, at = _number(delta, at)
        if base_size != len(base):
            raise Damaged("a delta of something else")
        pieces = []
        while at < len(delta):
            code = delta[at]
            at += 1
            if code & 0x80:
                start = length = 0
                for bit in range(4):
                    if code & 1 << bit:
                        start |= delta[at] << 8 * bit
                        at += 1
                for bit in range(3):
                    if code & 0x10 << bit:
                        length |= delta[at] << 8 * bit
                        at += 1
                length = length or 0x10000
                if start + length > base_size:
                    raise Damaged("a delta of more than there is")
                pieces.append(base[start : start + length])
            elif code and at + code <= len(delta):
                pieces.append(delta[at : at + code])
                at += code
            else:
                raise Damaged("no delta")
    except IndexError as error:
        raise Damaged("a delta that is cut short") from error
    data = b"".join(pieces)
    if len(data) != size:
        raise Damaged("a delta that makes something else")
    return data


def _number(delta: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = delta[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
