"""The blobs in the object directories of the user's own git, read by our own code, which does not trust them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from snapd.core.errors import StoreCorrupt
from snapd.store.files.disk_errors import ignoring_unreadable
from snapd.store.objects.loose import describe, object_path, read_whole
from snapd.store.objects.pack_index import PackIndexes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from snapd.core.model import ObjectId
    from snapd.store.objects.codec import ObjectKind


class ProjectBlobs:
    """Blobs that may be missing, damaged or malicious.

    Args:
        directories: absolute paths of the `objects` directories of the user's repository and its alternates.
    """

    def __init__(self, directories: Sequence[bytes]) -> None:
        self._directories = [os.fsdecode(directory) for directory in directories]
        self._packs = [PackIndexes(os.path.join(directory, "pack")) for directory in self._directories]

    def sizes(self, wanted: Collection[ObjectId]) -> dict[ObjectId, int]:
        """The sizes in bytes that those of the wanted blobs state that lie in packs.

        Loose objects are left out: to find out whether one is sound takes as long as to read the file that it was made
        of, and git does not sync them.

        Args:
            wanted: ids of 20 bytes.

        Raises:
            IoError: too few file descriptors or too little memory.
        """
        found: dict[ObjectId, int] = {}
        missing = set(wanted)
        for packs in self._packs:
            with ignoring_unreadable():
                for index in packs.now().indexes.values():
                    found.update((oid, size) for oid, kind, size in index.describe_all(missing) if kind == "blob")
                    missing -= found.keys()
        return found

    def read(self, oid: ObjectId, most: int) -> bytes | None:
        """The bytes of a blob, which match its id.

        Args:
            oid: its id, of 20 bytes.
            most: do not read a blob of more bytes than this.

        Returns:
            None if there is no such blob, it is larger, or it is damaged.

        Raises:
            IoError: too few file descriptors or too little memory.
        """
        for directory, packs in zip(self._directories, self._packs, strict=True):
            found = None
            with ignoring_unreadable():
                found = packs.read(oid, most)
            with ignoring_unreadable(), suppress(StoreCorrupt):
                found = found or _read_loose(object_path(directory, oid), oid, most)
            if found is not None:
                return found[1] if found[0] == "blob" else None
        return None


def _read_loose(path: str, oid: ObjectId, most: int) -> tuple[ObjectKind, bytes] | None:
    stated = describe(path, oid)
    return None if stated is None or stated[1] > most else read_whole(path, oid)
