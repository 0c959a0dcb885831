"""The entries of a pack as bytes (gitformat-pack(5)): what stands before the stream of each, and what a delta says."""

from __future__ import annotations

from typing import NamedTuple

from snapd.store.files.disk_errors import Damaged

from .codec import ID_BYTES, KINDS, ObjectKind

HEADER_BYTES = 32
"""What stands before the stream of an entry is never longer, unless its size is a lie."""

DEEPEST = 5000
"""More deltas are not applied one on the other: git makes no longer chains than 4,095."""

_OFFSET_DELTA = 6
_NAMED_DELTA = 7


class EntryHead(NamedTuple):
    """What stands before the stream of an entry.

    Attributes:
        number: of its type; one of `KINDS` where it is stored whole.
        size: of what the stream holds, bytes: the object, or the delta.
        length: bytes before the stream.
        distance: of a delta, how many bytes before this entry the one begins that it stands on; 0 if `base` says it.
        base: of a delta, the id of what it stands on.
    """

    number: int
    size: int
    length: int
    distance: int = 0
    base: bytes | None = None

    @property
    def is_delta(self) -> bool:
        """Whether it stands on another entry."""
        return self.number in (_OFFSET_DELTA, _NAMED_DELTA)

    @property
    def kind(self) -> ObjectKind | None:
        """Its type; None for a delta."""
        return KINDS.get(self.number)


def read_head(data: bytes) -> EntryHead:
    """Reads what stands before the stream of an entry.

    Args:
        data: the entry, from its beginning; `HEADER_BYTES` are enough.

    Raises:
        Damaged: it is none.
    """
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
        raise Damaged("it is cut short") from error
    if number == _NAMED_DELTA and len(data) >= at + ID_BYTES:
        return EntryHead(number, size, at + ID_BYTES, base=data[at : at + ID_BYTES])
    raise Damaged("no entry of a pack")


def offset_delta_head(size: int, distance: int) -> bytes:
    """What stands before the stream of a delta on an entry before it.

    Args:
        size: of the delta, bytes.
        distance: how many bytes before it the other begins.
    """
    back = bytearray((distance & 0x7F,))
    while distance := distance >> 7:
        distance -= 1
        back.append(0x80 | distance & 0x7F)
    return entry_start(_OFFSET_DELTA, size) + bytes(reversed(back))


def entry_start(number: int, size: int) -> bytes:
    """The first bytes of an entry.

    Args:
        number: of its type.
        size: of what its stream holds, bytes.
    """
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
    """The size of what a delta makes, bytes, by its first bytes.

    Raises:
        Damaged: it is not a delta.
    """
    try:
        return _number(delta, _number(delta, 0)[1])[0]
    except IndexError as error:
        raise Damaged("a delta that is cut short") from error


def apply_delta(base: bytes, delta: bytes) -> bytes:
    """What a delta makes of its base.

    Raises:
        Damaged: it is not a delta of this base.
    """
    try:
        base_size, at = _number(delta, 0)
        size, at = _number(delta, at)
        if base_size != len(base):
            raise Damaged("a delta of something else")
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
                    raise Damaged("a delta of more than there is")
                pieces.append(base[start : start + length])
                made += length
            elif code and at + code <= end:
                pieces.append(delta[at : at + code])
                at += code
                made += code
            else:
                raise Damaged("no delta")
            # before it takes the memory: a few bytes of a delta can stand for any number
            if made > size:
                raise Damaged("a delta that makes more than it says")
    except IndexError as error:
        raise Damaged("a delta that is cut short") from error
    if made != size:
        raise Damaged("a delta that makes something else")
    return b"".join(pieces)


def _number(delta: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = delta[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
