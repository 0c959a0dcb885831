"""What is remembered of a captured file, in 57 bytes: a project may have hundreds of thousands of them.

A record is the file's signature (what `lstat` said when its bytes were read: 36 bytes), the id of its blob (20 bytes),
and whether it is racy (1 byte).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from snapd.core.model import Entry, Signature

from .disk import tree_mode
from .listing import STAMP

if TYPE_CHECKING:
    from snapd.core.model import ObjectId

Record = bytes

SIGNATURE_BYTES = STAMP.size
RECORD_BYTES = 57

_OID = slice(36, 56)
_RACY = 56


def make_record(signature: Signature, oid: ObjectId, racy: bool) -> Record:
    """The record of a file.

    Args:
        signature: what `lstat` said when it was read.
        oid: the blob with its bytes.
        racy: it may have changed since within the same clock tick.
    """
    stamp = STAMP.pack(signature.mode, signature.size, signature.mtime_ns, signature.ctime_ns, signature.ino)
    return seeded_record(stamp, oid, racy)


def seeded_record(signature: bytes, oid: ObjectId, racy: bool) -> Record:
    """As `make_record`, of a signature that is packed already."""
    return signature + oid + (b"\1" if racy else b"\0")


def oid_of(record: Record) -> ObjectId:
    """The file's blob."""
    return record[_OID]


def ctime_of(signature: bytes) -> int:
    """The ctime in a signature, nanoseconds since 1970."""
    return int.from_bytes(signature[20:28], "little", signed=True)


def is_racy_record(record: Record) -> bool:
    """Whether the file may have changed within the clock tick in which it was read."""
    return record[_RACY] != 0


def inode_of(record: Record) -> int:
    """The file's inode number."""
    return int.from_bytes(record[28:36], "little")


def mode_of(record: Record) -> int:
    """The mode that a tree gives the file."""
    return tree_mode(int.from_bytes(record[:4], "little"))


@cache
def _prefix(mode: bytes) -> bytes:
    return b"%o " % tree_mode(int.from_bytes(mode, "little"))


def tree_prefix(record: Record) -> bytes:
    """The mode, as a tree object writes it before the name."""
    return _prefix(record[:4])


def entry_of(record: Record) -> Entry:
    """What a tree says of the file."""
    return Entry(mode_of(record), record[_OID])


def signature_of(record: Record) -> Signature:
    """The file's signature."""
    mode, size, mtime_ns, ctime_ns, inode = STAMP.unpack_from(record)
    return Signature(mode, inode, size, mtime_ns, ctime_ns)
