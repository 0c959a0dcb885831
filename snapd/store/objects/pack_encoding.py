"""Objects as they stand in a pack (gitformat-pack(5)): the part of the work that any process can do.

An object *packed* is the CRC-32 that the index of the pack has of it, big-endian, and then its entry in the pack: type,
size, and the bytes as a zlib stream.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from .codec import NUMBERS, object_id
from .compression import deflate
from .pack_entry import entry_start

if TYPE_CHECKING:
    from snapd.core.model import ObjectId

    from .codec import ObjectKind

CRC_BYTES = 4


def pack_object(kind: ObjectKind, data: bytes) -> bytes:
    """An object, given as its bytes, packed."""
    entry = entry_start(NUMBERS[kind], len(data)) + deflate(data)
    return zlib.crc32(entry).to_bytes(CRC_BYTES, "big") + entry


def packed_blob(data: bytes) -> tuple[ObjectId, bytes]:
    """The id of a file's bytes as a blob, and the blob packed."""
    return object_id("blob", data), pack_object("blob", data)
