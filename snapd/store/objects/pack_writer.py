"""Writes many objects at once: a pack and its index, version 2 each (gitformat-pack(5)).

Objects are stored whole, without deltas: that is left to maintenance, off the hot path.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import struct
from typing import TYPE_CHECKING

from snapd.core.errors import os_errors
from snapd.core.model import ObjectId
from snapd.failpoints import failpoint
from snapd.store.files.durable import PRIVATE_FILE, remove_if_there, sync_directory

from .pack_encoding import CRC_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

_READ_SIZE = 1 << 20
_ENTRY = struct.Struct(">20sIQ")
"""What the index is to say of an object: its id, the CRC-32 of its bytes in the pack, and where they begin."""


class PackWriter:
    """A pack under construction, invisible to git until `finish`.

    Args:
        directory: `objects/pack` of the repository.

    Not safe to use from several threads at once.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._temporary = os.path.join(directory, f"tmp_pack_{secrets.token_hex(8)}")
        # packed: tens of thousands of objects, each with some of its own, would leave holes in the memory behind them
        self._entries = bytearray()
        with os_errors(directory):
            failpoint("pack.begin")
            descriptor = os.open(self._temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        self._file = os.fdopen(descriptor, "w+b", buffering=_READ_SIZE)
        self._offset = self._file.write(struct.pack(">4sII", b"PACK", 2, 0))

    @property
    def size(self) -> int:
        """Bytes so far: where the next object begins."""
        return self._offset

    def add(self, oid: ObjectId, packed: bytes) -> None:
        """Appends one object.

        Args:
            oid: its id; each id once.
            packed: the object, see `packed.py`.

        Raises:
            StorageFull, IoError: the pack is of no use any more; `discard` it.
        """
        entry = memoryview(packed)[CRC_BYTES:]
        self._entries += _ENTRY.pack(oid, int.from_bytes(packed[:CRC_BYTES], "big"), self._offset)
        with os_errors(self._temporary):
            failpoint("pack.add")
            self._file.write(entry)
        self._offset += len(entry)

    def finish(self) -> str:
        """Makes the pack part of the repository, durably.

        Returns:
            Its path, without an ending.

        Raises:
            StorageFull, IoError: nothing became part of it.
        """
        with os_errors(self._temporary):
            checksum = self._seal()
            name = os.path.join(self._directory, f"pack-{checksum.hex()}")
            index = f"{self._temporary}.idx"
            try:
                write_index(index, _ENTRY.iter_unpack(self._entries), checksum)
                # git takes a pack for there when it sees the index, so the pack comes first
                failpoint("pack.rename")
                os.rename(self._temporary, f"{name}.pack")
                failpoint("pack.rename_index")
                os.rename(index, f"{name}.idx")
            except OSError:
                remove_if_there(index)
                raise
            sync_directory(self._directory)
        return name

    def discard(self) -> None:
        """Leaves nothing behind; raises `IoError` if that cannot be done."""
        # closing writes what is still buffered, which fails again where space ran out
        with contextlib.suppress(OSError):
            self._file.close()
        with os_errors(self._temporary):
            remove_if_there(self._temporary)

    def _seal(self) -> bytes:
        self._file.seek(0)
        self._file.write(struct.pack(">4sII", b"PACK", 2, len(self._entries) // _ENTRY.size))
        self._file.seek(0)
        digest = hashlib.sha1()
        while chunk := self._file.read(_READ_SIZE):
            digest.update(chunk)
        self._file.write(digest.digest())
        self._file.flush()
        failpoint("pack.seal")
        os.fsync(self._file.fileno())
        self._file.close()
        return digest.digest()


def write_index(path: str, lines: Iterable[tuple[ObjectId, int, int]], checksum: bytes) -> None:
    """Writes the index of a pack, durably but for its name.

    Args:
        path: the file to make.
        lines: of each object the id, the CRC-32 of its bytes in the pack, and where they begin.
        checksum: of the pack, its last 20 bytes.

    Raises:
        OSError: there may be a part of it.
    """
    entries = sorted(lines)
    counts = [0] * 256
    for oid, _, _ in entries:
        counts[oid[0]] += 1
    fanout, total = [], 0
    for count in counts:
        total += count
        fanout.append(total)
    small: list[int] = []
    large: list[int] = []
    for _, _, offset in entries:
        if offset < 0x80000000:
            small.append(offset)
        else:
            small.append(0x80000000 | len(large))
            large.append(offset)
    body = b"".join(
        (
            b"\377tOc",
            struct.pack(">I", 2),
            struct.pack(">256I", *fanout),
            b"".join(oid for oid, _, _ in entries),
            struct.pack(f">{len(entries)}I", *(crc for _, crc, _ in entries)),
            struct.pack(f">{len(small)}I", *small),
            struct.pack(f">{len(large)}Q", *large),
            checksum,
        )
    )
    failpoint("pack.index")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(body)
        file.write(hashlib.sha1(body).digest())
        file.flush()
        os.fsync(file.fileno())
