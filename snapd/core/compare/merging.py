"""Three-way merges of a file, by libgit2, in memory; changes that only touch are joined here.

In the repository itself, libgit2 would touch the time of an object that exists already, even if that is a link to one
of the user's own git, and it would write objects that the journal does not know.
"""

from __future__ import annotations

from collections.abc import Callable

import pygit2
from pygit2.enums import FileMode, MergeFavor, MergeFlag

from snapd.core.compare.edits import Edit, join, split_lines
from snapd.core.compare.text import is_binary
from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import SYMLINK, Entry, ObjectId
from snapd.store.object_store import ObjectStore
from snapd.store.objects.codec import NUMBERS
from snapd.store.objects.libgit2 import Supplied, supplied


def merge(objects: ObjectStore, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
    """Merges two changes of a file, mode and text, and stores the result.

    Args:
        objects: where the blobs are.
        base: the common ancestor; None if both added the file.
        ours: the file as it is now.
        theirs: the file as the other side has it.

    Returns:
        The merged file; None if the changes overlap, or the file is not text.

    Raises:
        StoreCorrupt: an object is missing or damaged.
        StorageFull, IoError: the journal was full and could not be written.
    """
    found = merged(objects.read_blob, base, ours, theirs)
    return None if found is None else Entry(found[0], objects.store_blob(found[1]))


def merged(
    read: Callable[[ObjectId], bytes],
    base: Entry | None,
    ours: Entry,
    theirs: Entry,
    favor: MergeFavor = MergeFavor.NORMAL,
    *,
    touching: bool = True,
) -> tuple[int, bytes] | None:
    """Merges two changes of a file, mode and text, in memory.

    As git does, but for changes that only touch: for git these are a conflict.

    Args:
        read: gives the bytes of a blob.
        base: the common ancestor; None if both added the file.
        ours: the file as it is now.
        theirs: the file as the other side has it.
        favor: whose lines to take where the changes overlap; normally nobody's.
        touching: whether to make both changes where they only touch.

    Returns:
        The mode and the bytes; None if the changes overlap, or the file is not text.

    Raises:
        StoreCorrupt: libgit2 cannot merge them; or from `read`.
    """
    memory = Supplied()
    for entry in (base, ours, theirs):
        if entry is not None:
            memory.objects[entry.oid] = (NUMBERS["blob"], read(entry.oid))
    handle = supplied(memory)

    def tree_of(entry: Entry | None) -> pygit2.Oid:
        builder = handle.TreeBuilder()
        if entry is not None:
            builder.insert("file", pygit2.Oid(raw=entry.oid), FileMode(entry.mode))
        return builder.write()

    try:
        index = handle.merge_trees(tree_of(base), tree_of(ours), tree_of(theirs), favor=favor, flags=MergeFlag(0))
    except pygit2.GitError as error:
        raise StoreCorrupt(f"object {ours.oid.hex()} cannot be merged: {error}", object=ours.oid.hex()) from error
    if index.conflicts is None:
        found = index["file"]
        return int(found.mode), memory.objects[bytes(found.id.raw)][1]
    if not touching or base is None or SYMLINK in (base.mode, ours.mode, theirs.mode):
        return None
    text = _joined(*(memory.objects[entry.oid][1] for entry in (base, ours, theirs)))
    mode = ours.mode if theirs.mode == base.mode else theirs.mode
    return None if text is None else (mode, text)


def _joined(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    if any(is_binary(data) for data in (base, ours, theirs)):
        return None
    return join(split_lines(base), _edits(base, ours), _edits(base, theirs))


def _edits(old: bytes, new: bytes) -> list[Edit]:
    lines = split_lines(new)
    patch = pygit2.Patch.create_from(old, new, context_lines=0)
    found = []
    for hunk in patch.hunks:
        # a hunk without lines on one side names the line before it
        start = hunk.old_start - (1 if hunk.old_lines else 0)
        begin = hunk.new_start - (1 if hunk.new_lines else 0)
        found.append(Edit(start, start + hunk.old_lines, tuple(lines[begin : begin + hunk.new_lines])))
    return found
