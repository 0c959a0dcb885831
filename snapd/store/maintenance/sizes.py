"""The sizes of objects on disk: compressed, and in packs often as deltas."""

from __future__ import annotations

import os
import stat

import attrs

from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import ObjectId
from snapd.store.files.walking import files_below, status_if_there
from snapd.store.objects.codec import ID_BYTES
from snapd.store.objects.loose import loose_files
from snapd.store.objects.pack_index import PackIndex

from .sweep import pack_names


@attrs.frozen
class Sizes:
    """The sizes of the objects of a repository, in bytes by id; an object that is stored twice counts twice.

    Attributes:
        own: those in files that only the store has.
        linked: those in files that the user's own git has too, so that dropping them frees nothing.
    """

    own: dict[ObjectId, int] = attrs.field(factory=dict)
    linked: dict[ObjectId, int] = attrs.field(factory=dict)


def sizes(objects: str) -> Sizes:
    """Adds up the sizes of all objects of a repository.

    Args:
        objects: its `objects` directory; files that are removed meanwhile do not count.

    Raises:
        StoreCorrupt: a pack is damaged, or its index is not of version 2.
        IoError: it cannot be listed.
    """
    found = Sizes()
    for oid, entry in loose_files(objects):
        status = status_if_there(entry.path)
        if status is not None:
            _add(found, status, oid, status.st_size)
    directory = os.path.join(objects, "pack")
    for name in pack_names(directory):
        _add_pack(found, os.path.join(directory, name))
    return found


def own_bytes(path: str, without: str = "") -> int:
    """The bytes of all files in a directory that have no other hard link; raises `IoError`.

    Args:
        path: the directory.
        without: the name of a directory in it that does not count.
    """
    return sum(
        status.st_size
        for _, status in files_below(path, without)
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    )


def _add_pack(found: Sizes, path: str) -> None:
    try:
        index, status = PackIndex.load_or_raise(path), os.lstat(f"{path}.pack")
    except (StoreCorrupt, FileNotFoundError):
        if os.path.exists(f"{path}.idx") and os.path.exists(f"{path}.pack"):
            raise
        # it is being removed
        return
    entries = sorted(index.entries(), key=lambda entry: entry[1])
    ends = [offset for _, offset in entries[1:]] + [status.st_size - ID_BYTES]
    for (oid, offset), end in zip(entries, ends, strict=False):
        _add(found, status, oid, end - offset)


def _add(found: Sizes, status: os.stat_result, oid: ObjectId, size: int) -> None:
    by_id = found.own if status.st_nlink == 1 else found.linked
    by_id[oid] = by_id.get(oid, 0) + size
