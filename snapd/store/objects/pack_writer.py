"""Writes many objects at once: a pack and its index, both of version 2. Maintenance makes the deltas later."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import struct
from collections.abc import Iterable

from snapd.failpoints import failpoint
from snapd.model.errors import error_from_os_error, os_errors
from snapd.model.snapshot import ObjectId
from snapd.store.files.durable import PRIVATE_FILE, remove_if_there, sync_directory

from .pack_entry import CRC_BYTES

_READ_SIZE = 1 << 20
_ENTRY = struct.Struct(">20sIQ")
"""A line of the index: the id of an object, the CRC-32 of its entry, and its offset."""


class PackWriter:
    """A pack in `objects/pack` under construction, invisible to git until `finish`. For one thread at a time."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._temporary = os.path.join(directory, f"tmp_pack_{secrets.token_hex(8)}")
        # one bytearray: tens of thousands of small objects would fragment the memory
        self._entries = bytearray()
        with os_errors(directory):
            failpoint("pack.begin")
            descriptor = os.open(self._temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        self._file = os.fdopen(descriptor, "w+b", buffering=_READ_SIZE)
        self._offset = self._file.write(struct.pack(">4sII", b"PACK", 2, 0))

    @property
    def size(self) -> int:
        """The bytes so far, which are the offset of the next object."""
        return self._offset

    def add(self, oid: ObjectId, packed: bytes) -> None:
        """Appends a packed object, see `pack_entry.pack_object`; each id only once. After an error, call `discard`."""
        self._entries += _ENTRY.pack(oid, int.from_bytes(packed[:CRC_BYTES], "big"), self._offset)
        # no context manager: a first snapshot comes here tens of thousands of times
        try:
            failpoint("pack.add")
            self._offset += self._file.write(memoryview(packed)[CRC_BYTES:])
        except OSError as error:
            raise error_from_os_error(error, self._temporary) from error

    def finish(self) -> str:
        """Adds the pack to the repository, durably, or not at all; returns its path without an ending."""
        with os_errors(self._temporary):
            checksum = self._seal()
            name = os.path.join(self._directory, f"pack-{checksum.hex()}")
            index = f"{self._temporary}.idx"
            try:
                write_index(index, _ENTRY.iter_unpack(self._entries), checksum)
                # git reads a pack as soon as its index exists, so the pack is renamed first
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
        """Removes the temporary file; raises `IoError` if that fails."""
        # closing writes the buffer, which fails again on a full disk
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


def encode_index(lines: Iterable[tuple[ObjectId, int, int]], checksum: bytes) -> bytes:
    """Encodes the index of a pack with these lines: object id, CRC-32 and offset of each entry."""
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
    return body + hashlib.sha1(body).digest()


def write_index(path: str, lines: Iterable[tuple[ObjectId, int, int]], checksum: bytes) -> None:
    """Writes the index of a pack, see `encode_index`, and syncs the file but not its name."""
    failpoint("pack.index")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(encode_index(lines, checksum))
        file.flush()
        os.fsync(file.fileno())
