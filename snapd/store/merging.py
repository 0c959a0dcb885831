"""Three-way merges of a file, by libgit2, in memory.

In the repository itself, libgit2 would touch the time of an object that exists already, even if that is a link to one
of the user's own git, and it would write objects that the journal does not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pygit2
from pygit2.enums import FileMode, MergeFlag

from snapd.core.errors import StoreCorrupt
from snapd.core.model import Entry
from snapd.store.batch import ObjectBatch
from snapd.store.objects.codec import NUMBERS
from snapd.store.objects.libgit2 import Supplied, supplied

if TYPE_CHECKING:
    from snapd.core.model import ObjectId

    from .repository import ShadowRepository


def merge(repository: ShadowRepository, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
    """Merges two changes of a file, mode and text, as git does, and stores the result through the journal.

    Args:
        repository: where the blobs are.
        base: the common ancestor; None if both added the file.
        ours: the file as it is now.
        theirs: the file as the other side has it.

    Returns:
        The merged file; None if the changes overlap, or the file is not text.

    Raises:
        StoreCorrupt: an object is missing or damaged.
        StorageFull, IoError: the journal was full and could not be written.
    """
    memory = Supplied()
    for entry in (base, ours, theirs):
        if entry is not None:
            memory.objects[entry.oid] = (NUMBERS["blob"], repository.read_blob(entry.oid))
    handle = supplied(memory)

    def tree_of(entry: Entry | None) -> pygit2.Oid:
        builder = handle.TreeBuilder()
        if entry is not None:
            builder.insert("file", pygit2.Oid(raw=entry.oid), FileMode(entry.mode))
        return builder.write()

    try:
        index = handle.merge_trees(tree_of(base), tree_of(ours), tree_of(theirs), flags=MergeFlag(0))
    except pygit2.GitError as error:
        raise StoreCorrupt(f"object {ours.oid.hex()} cannot be merged: {error}", object=ours.oid.hex()) from error
    if index.conflicts is not None:
        return None
    merged = index["file"]
    oid: ObjectId = bytes(merged.id.raw)
    with ObjectBatch(repository) as batch:
        batch.blob(memory.objects[oid][1])
        batch.commit()
    return Entry(int(merged.mode), oid)
