"""The form of a journal file: a start that is its own, then frames, each written and read as a whole.

File: 8 bytes that name the format, 8 random bytes. Frame: the same random bytes, the length of its payload, the CRC-32
of length and payload, the payload. Payload: the number of objects, of each its id, the length and the bytes of its
loose file; the number of references, of each the length of its name, the name, the id. Numbers are big-endian.
"""

from __future__ import annotations

import re
import secrets
import struct
import zlib
from typing import TYPE_CHECKING

import attrs

from snapd.core.model import ObjectId

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FORMAT = b"snapdJ1\n"
_ANY_FORMAT = re.compile(rb"snapdJ([1-9][0-9]{0,8})\n")
FORMAT_BYTES = 16
_TOKEN_BYTES = 8
_START_BYTES = len(_FORMAT) + _TOKEN_BYTES
_LENGTH = struct.Struct(">I")
_HEADER = struct.Struct(f">{_TOKEN_BYTES}sII")
_OBJECT = struct.Struct(">20sI")
_NAME = struct.Struct(">H")


@attrs.frozen
class Frame:
    """What became durable in one step.

    Attributes:
        objects: by id, the bytes of the loose file.
        references: by name, what it points to from then on.
    """

    objects: Mapping[ObjectId, bytes]
    references: Mapping[str, ObjectId]


def file_start() -> bytes:
    """The first bytes of a new journal file."""
    # what a file of the user contains cannot look like a frame to the one who reads on after a damaged one
    return _FORMAT + secrets.token_bytes(_TOKEN_BYTES)


def encode_frame(start: bytes, frame: Frame) -> bytes:
    """A frame as it stands in the file that begins with `start`."""
    parts = [_LENGTH.pack(len(frame.objects))]
    for oid, compressed in frame.objects.items():
        parts += (_OBJECT.pack(oid, len(compressed)), compressed)
    parts.append(_LENGTH.pack(len(frame.references)))
    for name, oid in frame.references.items():
        raw = name.encode("ascii")
        parts += (_NAME.pack(len(raw)), raw, oid)
    payload = b"".join(parts)
    return _HEADER.pack(start[len(_FORMAT) :], len(payload), _checksum(payload)) + payload


def decode_frames(data: bytes) -> Iterator[Frame]:
    """The whole and undamaged frames of a journal file, in their order; what is torn or damaged is passed over."""
    if len(data) < _START_BYTES or not data.startswith(_FORMAT):
        return
    for _, payload in _payloads(data):
        yield _decode(payload)


def newer_format(data: bytes) -> int | None:
    """The format of a journal file that only a newer snapd can read; None for any other file.

    Args:
        data: of the file; the first `FORMAT_BYTES` are enough.
    """
    found = _ANY_FORMAT.match(data)
    number = int(found[1]) if found else 0
    return number if number > 1 else None


def has_gap(data: bytes) -> bool:
    """Whether something in a journal file is damaged that no crash can have torn.

    A power cut leaves a file empty, torn at its end, or with zeros where bytes were never written. So damage is what
    stands before a whole frame, and a beginning that is neither ours nor followed by nothing but zeros.
    """
    if not data.startswith(_FORMAT):
        return bool(data.strip(b"\0")) and not _FORMAT.startswith(data.rstrip(b"\0"))
    if len(data) < _START_BYTES:
        return False
    expected = _START_BYTES
    for at, payload in _payloads(data):
        if at != expected:
            return True
        expected = at + _HEADER.size + len(payload)
    return False


def _payloads(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The payloads of whole and undamaged frames, and where these begin."""
    token = data[len(_FORMAT) : _START_BYTES]
    at = data.find(token, _START_BYTES)
    while at >= 0:
        payload = _payload(data, at)
        if payload is None:
            at = data.find(token, at + 1)
            continue
        yield at, payload
        at = data.find(token, at + _HEADER.size + len(payload))


def _checksum(payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(_LENGTH.pack(len(payload))))


def _payload(data: bytes, at: int) -> bytes | None:
    start = at + _HEADER.size
    if start > len(data):
        return None
    _, length, checksum = _HEADER.unpack_from(data, at)
    payload = data[start : start + length]
    return payload if len(payload) == length and _checksum(payload) == checksum else None


def _decode(payload: bytes) -> Frame:
    objects: dict[ObjectId, bytes] = {}
    references: dict[str, ObjectId] = {}
    (count,) = _LENGTH.unpack_from(payload)
    at = _LENGTH.size
    for _ in range(count):
        oid, length = _OBJECT.unpack_from(payload, at)
        at += _OBJECT.size
        objects[oid] = payload[at : at + length]
        at += length
    (count,) = _LENGTH.unpack_from(payload, at)
    at += _LENGTH.size
    for _ in range(count):
        (length,) = _NAME.unpack_from(payload, at)
        at += _NAME.size
        name = payload[at : at + length].decode("ascii")
        at += length
        references[name] = payload[at : at + 20]
        at += 20
    return Frame(objects, references)
