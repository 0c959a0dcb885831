"""The state of a captured file, in a record of 57 bytes: a project may have hundreds of thousands of them.

A record is the signature when the file was read (36 bytes, `listing.SIGNATURE`), its blob's id (20) and whether it is
racy (1).
"""

from __future__ import annotations

import os
import re
import struct
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache

import attrs

from snapd.model.snapshot import Entry, ObjectId, Signature
from snapd.worktree.fs.listing import SIGNATURE, SIGNATURE_BYTES
from snapd.worktree.fs.stable_read import tree_mode

Record = bytes

OID_BYTES = 20

CTIMES = struct.Struct("<20xq8x")  # see `ctime_of`
_INODES = struct.Struct("<28xQ")
_OID = slice(36, 56)
_RACY = 56
_FEW = 32  # up to this many inodes are searched for as bytes, in all signatures at once


class Inodes:
    """A set of inode numbers, to find the files that have one of them."""

    def __init__(self, numbers: Collection[int]) -> None:
        self.numbers = frozenset(numbers)
        few = len(self.numbers) <= _FEW
        self._pattern = re.compile(b"|".join(re.escape(_number(inode)) for inode in self.numbers)) if few else None

    def may_be_in(self, signatures: bytes) -> bool:
        """Returns whether packed signatures may contain one of them; fast for a few numbers that are not in them."""
        return self._pattern is None or self._pattern.search(signatures) is not None


class InodeIndex:
    """The inodes that files of a state may have, 8 bytes each: most others are not worth a look at each directory."""

    def __init__(self, inodes: Iterable[int]) -> None:
        ordered = sorted(inodes)
        self._sorted = memoryview(struct.pack(f"{len(ordered)}Q", *ordered)).cast("Q")
        self._added: set[int] = set()
        self.add, self.update = self._added.add, self._added.update

    @property
    def is_stale(self) -> bool:
        """Whether a new index would be much smaller: inodes that are gone stay, and added ones take more memory."""
        return len(self._added) > 1000 + len(self._sorted) // 4

    def __contains__(self, inode: int) -> bool:
        at = bisect_left(self._sorted, inode)
        return inode in self._added or (at < len(self._sorted) and self._sorted[at] == inode)


def _number(inode: int) -> bytes:
    return inode.to_bytes(8, "little")


@attrs.frozen
class PackedFiles:
    """The records of a directory's files in four objects, in the order of a listing."""

    names: bytes  # each ends with a zero byte
    signatures: bytes  # `SIGNATURE_BYTES` each
    oids: bytes  # `OID_BYTES` each
    racy: bytes  # one byte each, 0 or 1

    @classmethod
    def of(cls, files: Mapping[bytes, Record]) -> PackedFiles:
        """Packs records."""
        ordered = sorted(files.items(), key=lambda item: os.fsdecode(item[0]))
        return cls(
            b"".join([name + b"\0" for name, _ in ordered]),
            b"".join([record[:SIGNATURE_BYTES] for _, record in ordered]),
            b"".join([record[_OID] for _, record in ordered]),
            b"".join([record[_RACY:] for _, record in ordered]),
        )

    def __len__(self) -> int:
        return len(self.racy)

    def of_inodes(self, inodes: Inodes) -> list[bytes]:
        """Returns the names of the files with one of these inodes."""
        if not inodes.may_be_in(self.signatures):
            return []
        positions = [at for at, inode in enumerate(self.inodes()) if inode in inodes.numbers]
        names = self.names.split(b"\0") if positions else []
        return [names[at] for at in positions]

    def inodes(self) -> Iterator[int]:
        """Yields the inode of each file."""
        return (inode for (inode,) in _INODES.iter_unpack(self.signatures))

    def tree_lines(self) -> list[tuple[bytes, bytes]]:
        """Returns each name with its line in the tree object."""
        signatures, oids = self.signatures, self.oids
        return [
            (
                name,
                b"%b%b\0%b"
                % (
                    _prefix(signatures[at * SIGNATURE_BYTES : at * SIGNATURE_BYTES + 4]),
                    name,
                    oids[at * OID_BYTES : (at + 1) * OID_BYTES],
                ),
            )
            for at, name in enumerate(self.names.split(b"\0")[:-1])
        ]

    def unpacked(self) -> dict[bytes, Record]:
        """Returns the records by name."""
        signatures, oids, racy = self.signatures, self.oids, self.racy
        return {
            name: signatures[at * SIGNATURE_BYTES : (at + 1) * SIGNATURE_BYTES]
            + oids[at * OID_BYTES : (at + 1) * OID_BYTES]
            + racy[at : at + 1]
            for at, name in enumerate(self.names.split(b"\0")[:-1])
        }


def make_record(signature: Signature, oid: ObjectId, racy: bool) -> Record:
    """Returns a file's record; `racy`: it may have changed within the clock tick in which it was read."""
    packed = SIGNATURE.pack(signature.mode, signature.size, signature.mtime_ns, signature.ctime_ns, signature.ino)
    return seeded_record(packed, oid, racy)


def seeded_record(signature: bytes, oid: ObjectId, racy: bool) -> Record:
    """Returns a file's record from an already packed signature; else as `make_record`."""
    return signature + oid + (b"\1" if racy else b"\0")


def oid_of(record: Record) -> ObjectId:
    """Returns the id of the file's blob."""
    return record[_OID]


def ctime_of(signature: bytes) -> int:
    """Returns the ctime in a signature, nanoseconds since 1970."""
    return int.from_bytes(signature[20:28], "little", signed=True)


def is_racy_record(record: Record) -> bool:
    """Returns whether the file may have changed within the clock tick in which it was read."""
    return record[_RACY] != 0


def inode_of(record: Record) -> int:
    """Returns the file's inode number."""
    return int.from_bytes(record[28:36], "little")


@cache
def _prefix(mode: bytes) -> bytes:
    return b"%o " % tree_mode(int.from_bytes(mode, "little"))


def tree_lines(files: Mapping[bytes, Record]) -> list[tuple[bytes, bytes]]:
    """Returns each name with its line in the tree object."""
    return [(name, b"%b%b\0%b" % (_prefix(record[:4]), name, record[_OID])) for name, record in files.items()]


def entry_of(record: Record) -> Entry:
    """Returns the file's entry in a tree."""
    return Entry(tree_mode(int.from_bytes(record[:4], "little")), record[_OID])


def signature_of(record: Record) -> Signature:
    """Returns the file's signature."""
    mode, size, mtime_ns, ctime_ns, inode = SIGNATURE.unpack_from(record)
    return Signature(mode, inode, size, mtime_ns, ctime_ns)
