"""The frames of a journal file, as bytes: each frame becomes durable at once."""

from __future__ import annotations

import re
import secrets
import struct
import zlib
from collections.abc import Iterator, Mapping

import attrs

from snapd.model.snapshot import ObjectId

FORMAT = b"snapdJ2\n"
_READABLE = (b"snapdJ1\n", FORMAT)
"""In format 1, frames have no intent."""
_ANY_FORMAT = re.compile(rb"snapdJ([1-9][0-9]{0,8})\n")
FORMAT_BYTES = 16
_TOKEN_BYTES = 8
START_BYTES = len(FORMAT) + _TOKEN_BYTES
_LENGTH = struct.Struct(">I")
_HEADER = struct.Struct(f">{_TOKEN_BYTES}sII")
_OBJECT = struct.Struct(">20sI")
_NAME = struct.Struct(">H")
_INTENT = b"I"
"""Comes before an intent, which is the rest of its frame."""


@attrs.frozen
class Frame:
    """What becomes durable at once."""

    objects: Mapping[ObjectId, bytes] = attrs.field(factory=dict)  # the bytes of loose files
    references: Mapping[str, ObjectId] = attrs.field(factory=dict)  # the new targets, by name
    # what an operation is about to do to the folder; empty once it is done or given up, None to leave it unchanged
    intent: bytes | None = None


def file_start() -> bytes:
    """Returns the first bytes of a new journal file."""
    # random, so that the contents of a captured file cannot look like a frame after a damaged one
    return FORMAT + secrets.token_bytes(_TOKEN_BYTES)


def encode_frame(start: bytes, frame: Frame) -> bytes:
    """Encodes a frame for the file that begins with `start`."""
    parts = [_LENGTH.pack(len(frame.objects))]
    for oid, compressed in frame.objects.items():
        parts += (_OBJECT.pack(oid, len(compressed)), compressed)
    parts.append(_LENGTH.pack(len(frame.references)))
    for name, oid in frame.references.items():
        raw = name.encode("ascii")
        parts += (_NAME.pack(len(raw)), raw, oid)
    if frame.intent is not None:
        parts += (_INTENT, frame.intent)
    payload = b"".join(parts)
    return _HEADER.pack(start[len(FORMAT) :], len(payload), _checksum(payload)) + payload


def decode_frames(data: bytes) -> Iterator[Frame]:
    """Yields the undamaged frames of a journal file, in order; torn and damaged ones are skipped."""
    if len(data) >= START_BYTES and data.startswith(_READABLE):
        for _, payload in _payloads(data):
            yield _decode(payload)


def newer_format(data: bytes) -> int | None:
    """Returns the format of a journal file of a newer snapd, given its first `FORMAT_BYTES`; None for other files."""
    result = _ANY_FORMAT.match(data)
    number = int(result[1]) if result else 0
    return number if number > len(_READABLE) else None


def has_gap(data: bytes) -> bool:
    """Whether a journal file is damaged in a way that no crash explains.

    A power cut leaves a file empty, torn at its end, or with zeros in place of bytes never written. So damage is
    anything before an undamaged frame, and a start that is neither ours nor followed only by zeros.
    """
    if not data.startswith(_READABLE):
        begun = data.rstrip(b"\0")
        return bool(data.strip(b"\0")) and not any(known.startswith(begun) for known in _READABLE)
    if len(data) < START_BYTES:
        return False
    expected = START_BYTES
    for at, payload in _payloads(data):
        if at != expected:
            return True
        expected = at + _HEADER.size + len(payload)
    return False


def _payloads(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the payloads of the undamaged frames, with the offsets of the frames."""
    token = data[len(FORMAT) : START_BYTES]
    at = data.find(token, START_BYTES)
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
    return Frame(objects, references, payload[at + len(_INTENT) :] if payload[at:].startswith(_INTENT) else None)


def without_intents(data: bytes) -> bytes:
    """Rewrites a journal file so that every intent in it counts as given up; the result is never longer."""
    start = data[:START_BYTES]
    frames = (frame if frame.intent is None else attrs.evolve(frame, intent=b"") for frame in decode_frames(data))
    return start + b"".join(encode_frame(start, frame) for frame in frames)
