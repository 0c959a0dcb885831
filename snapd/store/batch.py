"""The objects of one snapshot, written together: a few as loose objects through the journal, many as one pack."""

from __future__ import annotations

from collections.abc import Iterator

from snapd.model.snapshot import ObjectId
from snapd.store.objects.codec import ObjectKind, object_id
from snapd.store.objects.loose import LooseWriter, encode_loose
from snapd.store.objects.pack_entry import pack_object, packed_blob
from snapd.store.objects.pack_index import KnownPacks
from snapd.store.objects.pack_writer import PackWriter

from .repository import ShadowRepository

LOOSE_COUNT = 32
LOOSE_BYTES = 4 << 20
"""From this many objects or bytes on, one pack is cheaper than loose objects."""


class ObjectBatch:
    """Collects objects and stores them at `commit`; after an error, no object is half written.

    A context manager: objects that were not committed are discarded. Not safe to use from several threads at once.
    """

    packing = packed_blob.__module__

    def __init__(self, repository: ShadowRepository) -> None:
        self._repository = repository
        self._seen: set[ObjectId] = set()
        self._pending: list[tuple[ObjectId, ObjectKind, bytes]] = []
        self._pending_bytes = 0
        self._pack: PackWriter | None = None
        self._loose = LooseWriter(repository.objects)
        self._fresh: bool | None = None
        self._packs: KnownPacks | None = None

    def __enter__(self) -> ObjectBatch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pack is not None:
            self._pack.discard()
            self._pack = None

    def blob(self, data: bytes) -> ObjectId:
        """Adds a file's bytes."""
        return self._add("blob", data)

    def blob_stream(self, size: int, chunks: Iterator[bytes]) -> ObjectId:
        """Adds a large file's bytes without holding them in memory.

        Args:
            size: of all chunks together, in bytes.
            chunks: the bytes.

        Raises:
            ValueError: the chunks have another size; nothing was added.
        """
        return self._loose.write("blob", size, chunks)

    def add_packed_blob(self, oid: ObjectId, packed: bytes) -> None:
        """Adds a blob that another process has packed with the module `packing`; worth it only for many blobs.

        Args:
            oid: the id of the blob.
            packed: the second value that `pack_encoding.packed_blob` returned.
        """
        if not self._is_stored(oid):
            (self._pack or self._begin_pack()).add(oid, packed)

    def encoded_tree(self, data: bytes) -> ObjectId:
        """Adds a directory, given as the bytes of its tree object."""
        return self._add("tree", data)

    def commit_object(self, data: bytes) -> ObjectId:
        """Adds a commit, given as its bytes."""
        return self._add("commit", data)

    def commit(self) -> None:
        """Stores everything that was added: a pack durably, a few objects durably with the next record in the log.

        Raises:
            StorageFull, IoError: nothing was stored but objects that nothing refers to.
        """
        if self._pack is not None:
            self._pack.finish()
            self._pack = None
        if self._pending:
            self._repository.journal.add({oid: encode_loose(kind, data) for oid, kind, data in self._pending})
        self._pending.clear()
        self._pending_bytes = 0
        self._loose.sync()

    def _add(self, kind: ObjectKind, data: bytes) -> ObjectId:
        oid = object_id(kind, data)
        if self._is_stored(oid):
            return oid
        if self._pack is not None:
            self._pack.add(oid, pack_object(kind, data))
            return oid
        self._pending.append((oid, kind, data))
        self._pending_bytes += len(data)
        if len(self._pending) > LOOSE_COUNT or self._pending_bytes > LOOSE_BYTES:
            self._begin_pack()
        return oid

    def _is_stored(self, oid: ObjectId) -> bool:
        """Whether an object is in the repository or was added before; from now on it counts as added."""
        if oid in self._seen:
            return True
        self._seen.add(oid)
        if self._fresh is None:
            # not earlier: objects may have been adopted since the batch was made
            self._fresh = self._repository.is_empty()
        if self._fresh:
            return False
        if self._packs is None:
            self._packs = self._repository.packs.now()
        # the objects of a pack that is removed meanwhile are in another pack
        return self._repository.has(oid, self._packs)

    def _begin_pack(self) -> PackWriter:
        pack = self._pack = PackWriter(self._repository.pack_directory)
        for oid, kind, data in self._pending:
            pack.add(oid, pack_object(kind, data))
        self._pending.clear()
        self._pending_bytes = 0
        return pack
