"""Three-way merges of a file, by libgit2, in memory.

In the repository itself libgit2 would set the time of a result that is there already, also where that is a link to an
object of the user's own git; and it would write what the journal does not know of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pygit2
from pygit2.enums import FileMode, MergeFlag, ObjectType

from snapd.core.errors import StoreCorrupt
from snapd.core.model import Entry

if TYPE_CHECKING:
    from snapd.core.model import ObjectId

    from .repository import ShadowRepository


def merge(repository: ShadowRepository, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
    """Merges two changes of one file, mode and text, as git does; has the journal store the result.

    Args:
        repository: where the blobs are.
        base: what both started from; None where both made the file.
        ours: what is there now.
        theirs: what is asked for.

    Returns:
        The merged file; None where the two overlap, or are no text.

    Raises:
        StoreCorrupt: an object is missing or damaged.
        StorageFull, IoError: too much waited in the journal, and could not be stored.
    """
    memory = _Memory()
    for entry in (base, ours, theirs):
        if entry is not None:
            memory.objects[entry.oid] = (ObjectType.BLOB, repository.read_blob(entry.oid))
    database = pygit2.Odb()
    database.add_backend(memory, 1)
    handle = pygit2.Repository()
    handle.set_odb(database)

    def tree_of(entry: Entry | None) -> pygit2.Oid:
        builder = handle.TreeBuilder()
        if entry is not None:
            builder.insert("file", pygit2.Oid(raw=entry.oid), FileMode(entry.mode))
        return builder.write()

    try:
        index = handle.merge_trees(tree_of(base), tree_of(ours), tree_of(theirs), flags=MergeFlag(0))
    except pygit2.GitError as error:
        raise StoreCorrupt(f"merging {ours.oid.hex()}: {error}", object=ours.oid.hex()) from error
    if index.conflicts is not None:
        return None
    merged = index["file"]
    oid: ObjectId = bytes(merged.id.raw)
    with repository.batch() as batch:
        batch.blob(memory.objects[oid][1])
        batch.commit()
    return Entry(int(merged.mode), oid)


class _Memory(pygit2.OdbBackend):
    """Objects in memory.

    Attributes:
        objects: type and bytes, by id.
    """

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[ObjectId, tuple[int, bytes]] = {}

    def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
        return self.objects[bytes(oid.raw)]

    def read_header_cb(self, oid: pygit2.Oid) -> tuple[int, int]:
        kind, data = self.objects[bytes(oid.raw)]
        return kind, len(data)

    def exists_cb(self, oid: pygit2.Oid) -> bool:
        return bytes(oid.raw) in self.objects

    def write_cb(self, oid: pygit2.Oid, data: bytes, kind: int) -> None:
        self.objects[bytes(oid.raw)] = (kind, data)

    def refresh_cb(self) -> None:
        """Nobody else writes here."""
