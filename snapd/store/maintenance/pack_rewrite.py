"""Rewrites a pack without some of its objects: the entries of the others are copied as they are, deltas too.

Only a delta whose base is dropped is written as a whole object, so the size is known before a byte is written.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import StoreCorrupt, os_errors
from snapd.store.files.disk_errors import Damaged
from snapd.store.objects.codec import ID_BYTES
from snapd.store.objects.pack_entry import CRC_BYTES, HEADER_BYTES, offset_delta_head, pack_object, read_head
from snapd.store.objects.pack_writer import PackWriter

if TYPE_CHECKING:
    from collections.abc import Collection

    from snapd.core.call import Call
    from snapd.core.model import ObjectId
    from snapd.store.objects.pack_entry import EntryHead
    from snapd.store.objects.pack_index import PackIndex
    from snapd.store.repository import ShadowRepository

_ENDS = 64
"""The most bytes that a pack has beside its entries, and an index beside its table and lines of `_LINE` bytes."""
_LINE = 20 + 4 + 4 + 8
_INDEX = 8 + 4 * 256 + _ENDS


@attrs.frozen
class _Entry:
    """An entry that stays.

    Attributes:
        oid: the object.
        offset: of the entry in the old pack, in bytes.
        length: of the entry, in bytes.
        head: of the entry.
        base: the offset of the base of a delta; None if it has no base in the pack.
        is_whole: whether to write it as a whole object, because its base is dropped.
    """

    oid: ObjectId
    offset: int
    length: int
    head: EntryHead
    base: int | None
    is_whole: bool


class PackRewrite:
    """A pack that is to be rewritten.

    Args:
        repository: of the pack.
        path: of the pack, without an ending.
        index: of the pack.
        staying: the objects to keep.

    Attributes:
        needed: the most bytes that the new pack and its index take.

    Raises:
        StoreCorrupt: the pack is damaged.
        IoError: it cannot be read now.
    """

    def __init__(
        self, repository: ShadowRepository, path: str, index: PackIndex, staying: Collection[ObjectId]
    ) -> None:
        self._repository = repository
        self._path = path
        self._index = index
        with os_errors(path):
            self._descriptor = os.open(f"{path}.pack", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            self._entries = self._find(index, frozenset(staying))
            self.needed = _ENDS + _INDEX + sum(_LINE + self._max_length(entry) for entry in self._entries)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the pack."""
        os.close(self._descriptor)

    def write(self, call: Call) -> None:
        """Adds the new pack to the repository, durably; the old one stays.

        Raises:
            StoreCorrupt: an object is damaged.
            StorageFull, IoError, Cancelled: the pack could not be written, or the request was cancelled.

        After an error, the repository is unchanged and no file is left behind.
        """
        writer = PackWriter(self._repository.pack_directory)
        offsets: dict[int, int] = {}
        try:
            for entry in self._entries:
                call.check()
                offsets[entry.offset] = writer.size
                writer.add(entry.oid, self._packed(entry, offsets))
            writer.finish()
        finally:
            writer.discard()

    def _find(self, index: PackIndex, staying: frozenset[ObjectId]) -> list[_Entry]:
        """The entries that stay, by offset."""
        with os_errors(self._path):
            end = os.fstat(self._descriptor).st_size - ID_BYTES
        entries = sorted((offset, oid) for oid, offset in index.entries())
        ends = [offset for offset, _ in entries[1:]] + [end]
        kept = {offset for offset, oid in entries if oid in staying}
        found = []
        for (offset, oid), following in zip(entries, ends, strict=True):
            if oid not in staying:
                continue
            try:
                head = read_head(self._bytes(min(HEADER_BYTES, max(0, following - offset)), offset))
            except Damaged as error:
                raise self._damaged(oid) from error
            base = offset - head.distance if head.distance else None
            if head.base is not None:
                base = index.offset_of(head.base)
            is_whole = head.is_delta and base not in kept
            found.append(_Entry(oid, offset, following - offset, head, base, is_whole))
        return found

    def _max_length(self, entry: _Entry) -> int:
        """The most bytes that an entry takes in the new pack."""
        if not entry.is_whole:
            # the distance to the base may take more bytes than before
            return entry.length + HEADER_BYTES
        _, size = self._repository.describe(entry.oid)
        # the most that the compressor makes of bytes that cannot be compressed
        return size + (size >> 8) + HEADER_BYTES + _ENDS

    def _packed(self, entry: _Entry, offsets: dict[int, int]) -> bytes:
        if entry.is_whole:
            return pack_object(*self._repository.read(entry.oid))
        data = self._bytes(entry.length, entry.offset)
        if zlib.crc32(data) != self._index.checksum_of(entry.oid):
            raise self._damaged(entry.oid)
        if entry.head.distance:
            assert entry.base is not None
            distance = offsets[entry.offset] - offsets[entry.base]
            data = offset_delta_head(entry.head.size, distance) + data[entry.head.length :]
        return zlib.crc32(data).to_bytes(CRC_BYTES, "big") + data

    def _bytes(self, size: int, at: int) -> bytes:
        with os_errors(self._path):
            return os.pread(self._descriptor, size, at)

    def _damaged(self, oid: ObjectId) -> StoreCorrupt:
        name = os.path.basename(self._path)
        return StoreCorrupt(f"pack {name}: object {oid.hex()} is damaged", object=name)
