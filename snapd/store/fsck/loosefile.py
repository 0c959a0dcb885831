"""One loose object, inflated and hashed; nothing of it is believed."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from snapd.store.files.disk_errors import Damaged, reading
from snapd.store.objects.compression import NoStream, expanded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.model import ObjectId

_CHUNK = 1 << 20
_HEADER_BYTES = 32
_KINDS = ("blob", "tree", "commit", "tag")


def check_loose(path: str, oid: ObjectId) -> tuple[str, int, bytes]:
    """Reads a loose object and compares it with its id, piece by piece.

    Returns:
        Its kind, its size in bytes, and its bytes where it is a commit, else nothing.

    Raises:
        FileNotFoundError: there is none.
        Damaged: it is another, or none.
        IoError: it cannot be read now.
    """
    pieces = _pieces(path)
    start, rest = _start(pieces)
    kind, size = _said(start)
    digest = hashlib.sha1(start + b"\0")
    held = b""
    seen = 0
    while True:
        digest.update(rest)
        seen += len(rest)
        if seen > size:
            raise Damaged("it has more bytes than it says")
        if kind == "commit":
            held += rest
        following = next(pieces, None)
        if following is None:
            break
        rest = following
    if seen != size or digest.digest() != oid:
        raise Damaged("its bytes are another's")
    return kind, size, held


def read_loose(path: str, oid: ObjectId) -> tuple[str, bytes]:
    """The kind and the bytes of a loose object; raises as `check_loose`."""
    pieces = _pieces(path)
    start, rest = _start(pieces)
    kind, size = _said(start)
    parts, left = [rest], size - len(rest)
    while left >= 0 and (piece := next(pieces, None)) is not None:
        parts.append(piece)
        left -= len(piece)
    data = b"".join(parts)
    digest = hashlib.sha1(start + b"\0")
    digest.update(data)
    if len(data) != size or digest.digest() != oid:
        raise Damaged("its bytes are another's")
    return kind, data


def _start(pieces: Iterator[bytes]) -> tuple[bytes, bytes]:
    """The header of an object, and what follows it in the same piece."""
    start = b""
    for piece in pieces:
        start += piece
        if b"\0" in start[:_HEADER_BYTES]:
            header, _, rest = start.partition(b"\0")
            return header, rest
        if len(start) >= _HEADER_BYTES:
            break
    raise Damaged("it does not say what it is")


def _said(header: bytes) -> tuple[str, int]:
    kind, _, size = header.decode("ascii", "replace").partition(" ")
    if kind not in _KINDS or not (size.isascii() and size.isdecimal()):
        raise Damaged("it does not say what it is")
    return kind, int(size)


def _pieces(path: str) -> Iterator[bytes]:
    try:
        yield from expanded(_compressed(path), _CHUNK)
    except NoStream as error:
        raise Damaged(f"it cannot be inflated: {error}") from error


def _compressed(path: str) -> Iterator[bytes]:
    with reading(path):
        # there may be a pipe by its name
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        while True:
            with reading(path):
                data = os.read(descriptor, _CHUNK)
            if not data:
                return
            yield data
    finally:
        os.close(descriptor)
