"""The entries of a pack (gitformat-pack(5)): the head before the stream of each, and deltas.

A *packed* object is the CRC-32 for the index of the pack, big-endian, followed by its entry in the pack: type, size,
and the bytes as a zlib stream. Any process can make one.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from snapd.model.snapshot import ObjectId
from snapd.store.files.durable import DamagedData

from .codec import ID_BYTES, KINDS, NUMBERS, ObjectKind, object_id
from .compression import deflate

_SIZE_BITS = 63
HEADER_BYTES = 32
"""The head of an entry is never longer, unless its size is wrong."""

DEEPEST = 5000
"""The longest chain of deltas that is read: git makes none of more than 4,095."""

_OFFSET_DELTA = 6
_NAMED_DELTA = 7

CRC_BYTES = 4


class EntryHead(NamedTuple):
    """The head of an entry: the bytes before its stream."""

    number: int  # of its type; a key of `KINDS` for a whole object
    size: int  # of the object or the delta in the stream, in bytes when it is expanded
    length: int  # of the head, in bytes
    distance: int = 0  # for a delta, how many bytes before this entry its base begins; 0 if `base` names it
    base: bytes | None = None  # for a delta, the id of its base; None if `distance` locates it

    @property
    def is_delta(self) -> bool:
        """Whether the entry is a delta."""
        return self.number in (_OFFSET_DELTA, _NAMED_DELTA)

    @property
    def kind(self) -> ObjectKind | None:
        """The type of the object; None for a delta."""
        return KINDS.get(self.number)


def read_head(data: bytes) -> EntryHead:
    """Reads the head of an entry from its first `HEADER_BYTES`, or more; raises `DamagedData` if it is not an entry."""
    # a number of a mebibyte of digits would take half a minute
    data = data[:HEADER_BYTES]
    try:
        byte = data[0]
        number, size, shift, at = byte >> 4 & 7, byte & 0x0F, 4, 1
        while byte & 0x80:
            byte = data[at]
            size |= (byte & 0x7F) << shift
            shift += 7
            at += 1
        if number in KINDS:
            return EntryHead(number, size, at)
        if number == _OFFSET_DELTA:
            byte = data[at]
            distance, at = byte & 0x7F, at + 1
            while byte & 0x80:
                byte = data[at]
                distance, at = ((distance + 1) << 7) | (byte & 0x7F), at + 1
            if distance:
                return EntryHead(number, size, at, distance)
    except IndexError as error:
        raise DamagedData("it is cut short") from error
    if number == _NAMED_DELTA and len(data) >= at + ID_BYTES:
        return EntryHead(number, size, at + ID_BYTES, base=data[at : at + ID_BYTES])
    raise DamagedData("it is not an entry of a pack")


def offset_delta_head(size: int, distance: int) -> bytes:
    """Encodes the head of a delta of `size` bytes, whose base begins `distance` bytes before it."""
    back = bytearray((distance & 0x7F,))
    while distance := distance >> 7:
        distance -= 1
        back.append(0x80 | distance & 0x7F)
    return entry_start(_OFFSET_DELTA, size) + bytes(reversed(back))


def entry_start(number: int, size: int) -> bytes:
    """Encodes the first bytes of an entry: the number of its type, and the size in bytes of the expanded stream."""
    first = (number << 4) | (size & 0x0F)
    size >>= 4
    encoded = bytearray()
    while size:
        encoded.append(first | 0x80)
        first = size & 0x7F
        size >>= 7
    encoded.append(first)
    return bytes(encoded)


def delta_size(delta: bytes) -> int:
    """Returns the size in bytes of a delta's result, from its first bytes; raises `DamagedData`."""
    try:
        return _number(delta, _number(delta, 0)[1])[0]
    except IndexError as error:
        raise DamagedData("the delta is cut short") from error


def apply_delta(base: bytes, delta: bytes) -> bytes:
    """Applies a delta to its base; raises `DamagedData` if it is not a delta of this base."""
    try:
        base_size, at = _number(delta, 0)
        size, at = _number(delta, at)
        if base_size != len(base):
            raise DamagedData("the delta has another base")
        pieces = []
        made, end = 0, len(delta)
        while at < end:
            code = delta[at]
            at += 1
            if code & 0x80:
                start = length = 0
                if code & 0x01:
                    start = delta[at]
                    at += 1
                if code & 0x02:
                    start |= delta[at] << 8
                    at += 1
                if code & 0x04:
                    start |= delta[at] << 16
                    at += 1
                if code & 0x08:
                    start |= delta[at] << 24
                    at += 1
                if code & 0x10:
                    length = delta[at]
                    at += 1
                if code & 0x20:
                    length |= delta[at] << 8
                    at += 1
                if code & 0x40:
                    length |= delta[at] << 16
                    at += 1
                length = length or 0x10000
                if start + length > base_size:
                    raise DamagedData("the delta copies more than its base has")
                pieces.append(base[start : start + length])
                made += length
            elif code and at + code <= end:
                pieces.append(delta[at : at + code])
                at += code
                made += code
            else:
                raise DamagedData("it is not a delta")
            # before the memory is taken: a few bytes of a delta can expand to any number
            if made > size:
                raise DamagedData("the delta makes more bytes than it states")
    except IndexError as error:
        raise DamagedData("the delta is cut short") from error
    if made != size:
        raise DamagedData("the delta makes fewer bytes than it states")
    return b"".join(pieces)


def _number(delta: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if shift > _SIZE_BITS:
            raise DamagedData("the delta states a size that nothing has")
        byte = delta[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def pack_object(kind: ObjectKind, data: bytes) -> bytes:
    """Packs an object."""
    entry = entry_start(NUMBERS[kind], len(data)) + deflate(data)
    return zlib.crc32(entry).to_bytes(CRC_BYTES, "big") + entry


def packed_blob(data: bytes) -> tuple[ObjectId, bytes]:
    """Returns the id of the blob with the bytes of a file, and the packed blob."""
    return object_id("blob", data), pack_object("blob", data)
