"""Encodes objects for a pack (gitformat-pack(5)); any process can do this part of the work.

A *packed* object is the CRC-32 for the index of the pack, big-endian, followed by its entry in the pack: type, size,
and the bytes as a zlib stream.
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
    """Packs an object, given as its bytes."""
    entry = entry_start(NUMBERS[kind], len(data)) + deflate(data)
    return zlib.crc32(entry).to_bytes(CRC_BYTES, "big") + entry


def packed_blob(data: bytes) -> tuple[ObjectId, bytes]:
    """The id of the blob with the bytes of a file, and the packed blob."""
    return object_id("blob", data), pack_object("blob", data)
