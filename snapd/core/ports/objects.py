"""Git objects of the store: blobs, trees, and what is computed from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from snapd.core.model import Entry, ObjectId, RelPath, TreeEntry


class ObjectBatch(Protocol):
    """Objects that are stored together; a context manager that discards what was not committed."""

    def __enter__(self) -> ObjectBatch: ...

    def __exit__(self, *_: object) -> None: ...

    def blob(self, data: bytes) -> ObjectId:
        """Adds a file's bytes."""

    def blob_stream(self, size: int, chunks: Iterator[bytes]) -> ObjectId:
        """Adds a large file's bytes, piece by piece."""

    @property
    def packing(self) -> str:
        """The module whose `packed_blob` turns a file's bytes into its id and the bytes to store, in any process."""

    def add_packed_blob(self, oid: ObjectId, packed: bytes) -> None:
        """Adds a file's bytes, given as what `packing` made of them."""

    def encoded_tree(self, data: bytes) -> ObjectId:
        """Adds a directory, given as the bytes of its tree object."""

    def commit(self) -> None:
        """Stores everything that was added; it is durable at the latest when the next snapshot is recorded."""


class Blobs(Protocol):
    """The bytes of files, by their ids."""

    def read_blob(self, oid: ObjectId) -> bytes:
        """The bytes of a file; raises `StoreCorrupt`."""

    def read_small_blob(self, oid: ObjectId, most: int) -> bytes | None:
        """The bytes of a file, None if it has more than `most`; raises `StoreCorrupt`."""

    def blob_size(self, oid: ObjectId) -> int:
        """The size of a file, bytes; raises `StoreCorrupt`."""

    def blob_chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """The bytes of a file, in pieces; raises `StoreCorrupt` before the last piece if they are damaged."""


class Objects(Blobs, Protocol):
    """The objects of a workspace's snapshots."""

    def check_present(self) -> None:
        """Raises `StoreCorrupt` if the store was deleted or replaced."""

    def batch(self) -> ObjectBatch:
        """Opens a set of objects to store together."""

    def adopt(self, directories: Sequence[bytes], wanted: Collection[ObjectId]) -> frozenset[ObjectId]:
        """Copies wanted objects from other git `objects` directories, durably; gives those that are stored now."""

    def read_tree(self, oid: ObjectId) -> tuple[TreeEntry, ...]:
        """The entries of a directory; raises `StoreCorrupt`."""

    def entry_in(self, tree: ObjectId, name: bytes) -> TreeEntry | None:
        """What a directory has under a name, if anything; repeated calls read it once. Raises `StoreCorrupt`."""

    def differing(self, old: ObjectId, new: ObjectId) -> list[tuple[TreeEntry | None, TreeEntry | None]]:
        """The entries that differ between two directories, each before and after; raises `StoreCorrupt`."""

    def renames(self, old: ObjectId, new: ObjectId) -> dict[RelPath, RelPath]:
        """The old path of each file that was moved, by its new one."""

    def merge(self, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
        """Merges a file three ways and stores the result; None if the changes overlap."""

    def store_blob(self, data: bytes) -> ObjectId:
        """Stores the bytes of a file that no work tree had; raises `StorageFull`, `IoError`."""

    def discard(self) -> frozenset[ObjectId]:
        """Drops the objects that were added since the last snapshot was recorded; gives their ids."""
