"""Reads from packs the objects that are stored whole (gitformat-pack(5)); those stored as deltas are left to libgit2.

What snapd writes while it works is stored whole. To read it here lets go of the interpreter lock, and costs a third.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from typing import TYPE_CHECKING

from .deflate import ERRORS, inflater
from .objects import KINDS, header

if TYPE_CHECKING:
    from snapd.core.model import ObjectId

    from .objects import ObjectKind

_HEADER_BYTES = 16
_INLINE_BYTES = 8192
"""What is read at once; enough for most source files."""


class PackReader:
    """One pack, open. Safe to use from several threads.

    Args:
        path: the `.pack` file.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: str) -> None:
        # not mapped: a file that somebody cuts short would end the process
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._descriptor)

    def read(self, oid: ObjectId, offset: int, most: int | None = None) -> tuple[ObjectKind, bytes] | None:
        """The object at a place in the pack.

        Args:
            oid: what it must be.
            offset: from the beginning of the file.
            most: a larger object is not wanted, bytes.

        Returns:
            Its type and bytes, which match the id; None where it is stored as a delta, is larger, or is not what it
            should be.
        """
        try:
            data = os.pread(self._descriptor, _INLINE_BYTES, offset)
        except OSError:
            return None
        kind, size, at = _entry(data)
        if kind is None or (most is not None and size > most):
            return None
        # more than zlib makes of what cannot be compressed
        end = at + size + (size >> 8) + 64
        if end > len(data) == _INLINE_BYTES:
            try:
                data += os.pread(self._descriptor, end - len(data), offset + len(data))
            except OSError:
                return None
        stream = inflater()
        try:
            content = stream.decompress(data[at:])
        except ERRORS:
            return None
        digest = hashlib.sha1(header(kind, len(content)))
        digest.update(content)
        return (kind, content) if stream.eof and digest.digest() == oid else None


def _entry(data: bytes) -> tuple[ObjectKind | None, int, int]:
    """Type and size of an entry, and where its stream begins; no type for a delta."""
    number, size, shift, at = 0, 0, 4, 0
    for at, byte in enumerate(data[:_HEADER_BYTES]):
        if at == 0:
            number, size = byte >> 4 & 7, byte & 0x0F
        else:
            size |= (byte & 0x7F) << shift
            shift += 7
        if byte < 0x80:
            break
    return KINDS.get(number), size, at + 1
