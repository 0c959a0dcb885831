"""The index of a pack, made from the pack itself when its own is missing or damaged."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

from snapd.store.files.disk_errors import Damaged, reading
from snapd.store.objects.codec import ID_BYTES, object_id
from snapd.store.objects.compression import CHUNK_BYTES
from snapd.store.objects.pack_index import PackIndex
from snapd.store.objects.pack_reader import PackReader, object_cache
from snapd.store.objects.pack_writer import encode_index

if TYPE_CHECKING:
    from snapd.core.call import Call
    from snapd.core.model import ObjectId

CACHED_BYTES = 32 << 20
"""How much fsck keeps of the objects of one pack: the next deltas need them as bases."""

_FIRST = 12


class RebuiltIndex(PackIndex):
    """The index of a pack, made of what was found in the pack itself; it states no CRC-32.

    Args:
        path: the `.pack` file.
        call: the request.

    Attributes:
        is_whole: whether every entry of the pack is an object.

    Raises:
        FileNotFoundError: there is none.
        Damaged: it is not a file, or its bytes are lost.
        IoError: it cannot be read now.
    """

    def __init__(self, path: str, call: Call) -> None:
        self._path = path
        self._found: dict[ObjectId, int] = {}
        self._lengths: dict[int, int] = {}
        with reading(path):
            file = PackReader(path, object_cache(CACHED_BYTES, CACHED_BYTES))
        try:
            self.is_whole = self._list(file, call) & self._resolve(file, call)
        finally:
            file.close()
        with reading(path), open(path, "rb") as pack:
            pack.seek(max(0, os.fstat(pack.fileno()).st_size - ID_BYTES))
            checksum = pack.read()
        super().__init__(encode_index(((oid, 0, offset) for oid, offset in self._found.items()), checksum), path)

    def lines(self) -> list[tuple[ObjectId, int, int]]:
        """What an index states for each object: its id, the CRC-32 of its entry, and its offset.

        Raises:
            Damaged, IoError: the pack cannot be read.
        """
        found = []
        with reading(self._path), open(self._path, "rb") as pack:
            for oid, offset in self._found.items():
                pack.seek(offset)
                checksum, left = 0, self._lengths[offset]
                while left and (data := pack.read(min(CHUNK_BYTES, left))):
                    checksum = zlib.crc32(data, checksum)
                    left -= len(data)
                found.append((oid, checksum, offset))
        return found

    def _list(self, file: PackReader, call: Call) -> bool:
        """Finds the offsets of the entries, one after the other, until one cannot be read."""
        at = _FIRST
        while at < file.end:
            try:
                with reading(self._path):
                    self._lengths[at] = file.length_at(at)
            except Damaged:
                return False
            at += self._lengths[at]
            call.progress("listing a pack", at, file.end)
        return at == file.end

    def _resolve(self, file: PackReader, call: Call) -> bool:
        """Finds the ids of the objects; the base of a delta may come later in the pack."""
        pending = list(self._lengths)
        while pending:
            left = []
            for offset in pending:
                call.check()
                try:
                    with reading(self._path):
                        kind, data = file.object_at(offset, self._found.get)
                except Damaged:
                    left.append(offset)
                    continue
                self._found[object_id(kind, data)] = offset
            if len(left) == len(pending):
                return False
            pending = left
        return True
