"""Compares a work tree with a snapshot without storing anything."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import attrs

from snapd.core.model import Change, Entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from snapd.core.model import Drift, ObjectId
    from snapd.core.ports.objects import Blobs


def changes_of(drift: Drift) -> tuple[tuple[Change, ...], dict[ObjectId, bytes]]:
    """Finds what really differs, by the ids of the bytes that were read.

    Args:
        drift: what may differ.

    Returns:
        The changes; and those of their blobs that were read from the work tree, by id.
    """
    changes: list[Change] = []
    held: dict[ObjectId, bytes] = {}
    for drifted in drift.files:
        new = drifted.new
        if new is not None and drifted.data is not None:
            new = Entry(new.mode, _blob_id(drifted.data))
        if new != drifted.old:
            changes.append(Change(drifted.path, drifted.old, new))
            if new is not None and drifted.data is not None:
                held[new.oid] = drifted.data
    return tuple(changes), held


def _blob_id(data: bytes) -> ObjectId:
    """The id that git gives to a file's bytes (gitformat-object: SHA-1 over type, size and content)."""
    digest = hashlib.sha1(b"blob %d\0" % len(data))
    digest.update(data)
    return digest.digest()


@attrs.frozen
class UnstoredBlobs:
    """The blobs of a store, and some more that it may not have; implements `ports.Blobs`.

    Attributes:
        stored: the blobs of the store.
        held: the bytes of the others, by id.
    """

    stored: Blobs
    held: Mapping[ObjectId, bytes]

    def holds(self, oid: ObjectId) -> bool:
        """Whether a blob is among the held ones, and so not read from the store."""
        return oid in self.held

    def read_blob(self, oid: ObjectId) -> bytes:
        """See `Blobs.read_blob`."""
        data = self.held.get(oid)
        return self.stored.read_blob(oid) if data is None else data

    def read_small_blob(self, oid: ObjectId, most: int) -> bytes | None:
        """See `Blobs.read_small_blob`."""
        data = self.held.get(oid)
        if data is None:
            return self.stored.read_small_blob(oid, most)
        return data if len(data) <= most else None

    def blob_size(self, oid: ObjectId) -> int:
        """See `Blobs.blob_size`."""
        data = self.held.get(oid)
        return self.stored.blob_size(oid) if data is None else len(data)

    def blob_chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """See `Blobs.blob_chunks`."""
        data = self.held.get(oid)
        return self.stored.blob_chunks(oid) if data is None else iter((data,))
