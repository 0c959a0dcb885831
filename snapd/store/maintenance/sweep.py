"""Takes out of a shadow repository what no snapshot holds any more.

Mark and sweep: everything reachable from the snapshots stays; loose objects beyond are removed. A pack of which nothing
stays is removed; one of which some stays is written anew without the rest, where that is worth it (`_is_worth_it`).
"""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from typing import TYPE_CHECKING

from snapd.core.errors import StorageFull, StoreCorrupt, os_errors
from snapd.core.model import EMPTY_TREE, TREE, ObjectId
from snapd.failpoints import failpoint
from snapd.store.files.durable import remove_any, remove_if_there
from snapd.store.objects.loose import loose_files
from snapd.store.objects.pack_index import PackIndex

from .pack_rewrite import PackRewrite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from snapd.core.call import Call
    from snapd.store.repository import ShadowRepository

CHEAP_BYTES = 64 << 20
"""A pack of up to this size is written anew for the sake of any object."""

RESERVE_BYTES = 16 << 20
"""What maintenance leaves free for those who work: it does without what needs more."""

PACK_ENDINGS = ("idx", "pack", "rev", "bitmap", "mtimes")
"""The files of a pack, in the order in which they go."""


def expire(
    repository: ShadowRepository,
    roots: Iterable[tuple[ObjectId, ...]],
    keep: ObjectId | None,
    call: Call,
    *,
    wholly: bool = False,
) -> None:
    """Removes every object that is not held.

    Args:
        repository: nobody may write to it meanwhile.
        roots: of every snapshot and every event that stays, the commit, its tree, and the blobs that it has besides.
        keep: a tree that stays besides, recorded or not.
        call: asked before each step whether it is to go on.
        wholly: whether no pack is to keep anything that is not held, whatever it takes to write it anew.

    Raises:
        StoreCorrupt: a snapshot that stays is damaged; nothing was removed.
        IoError, StorageFull, Cancelled: what is held is all still there.
    """
    held = held_by(repository, roots, keep, call)
    failpoint("expire.mark")
    drop_summaries(repository)
    try:
        for name in pack_names(repository.pack_directory):
            _sweep_pack(repository, name, held, call, wholly=wholly)
        _sweep_loose(repository, held, call)
    finally:
        repository.swept()


def held_by(
    repository: ShadowRepository, roots: Iterable[tuple[ObjectId, ...]], keep: ObjectId | None, call: Call
) -> set[ObjectId]:
    """The objects that are reachable; arguments and errors as of `expire`."""
    held: set[ObjectId] = set()
    pending: list[ObjectId] = [keep] if keep is not None else []
    for commit, tree, *blobs in roots:
        held.update((commit, *blobs))
        pending.append(tree)
    while pending:
        tree = pending.pop()
        if tree in held:
            continue
        held.add(tree)
        call.check()
        if tree == EMPTY_TREE:
            continue
        for entry in repository.read_tree(tree):
            if entry.mode == TREE:
                pending.append(entry.oid)
            else:
                held.add(entry.oid)
    return held


def drop_summaries(repository: ShadowRepository) -> None:
    """Removes what a git run by hand made of commits and packs: it would speak of some that are about to go."""
    for directory in (os.path.join(repository.objects, "info"), repository.pack_directory):
        with os_errors(directory):
            failpoint("expire.summaries")
            for entry in list(os.scandir(directory)):
                if entry.name in ("commit-graph", "commit-graphs") or entry.name.startswith("multi-pack-index"):
                    remove_any(entry.path)


def pack_names(directory: str) -> list[str]:
    """The packs in `objects/pack` that have an index, each by its name without an ending."""
    with os_errors(directory):
        names = os.listdir(directory)
    return sorted(name[:-4] for name in names if name.startswith("pack-") and name.endswith(".idx"))


def _sweep_pack(repository: ShadowRepository, name: str, held: set[ObjectId], call: Call, *, wholly: bool) -> None:
    call.check()
    path = os.path.join(repository.pack_directory, name)
    index = PackIndex.load(f"{path}.idx", f"{path}.pack")
    if index is None:
        raise StoreCorrupt(f"{path} is damaged, or its index is not of version 2", object=name)
    staying = index.among(held)
    if len(staying) == index.count:
        return
    if staying and not wholly and not _is_worth_it(f"{path}.pack", len(staying), index.count):
        return
    if staying:
        with closing(PackRewrite(repository, path, index, staying)) as repack:
            free = room(repository.pack_directory)
            if free < repack.needed + (0 if wholly else RESERVE_BYTES):
                if wholly:
                    raise StorageFull(
                        f"{free} bytes are free and {repack.needed} are needed to rewrite a pack",
                        path=path,
                        errno="ENOSPC",
                    )
                # nothing is lost by keeping it; it goes with a later sweep
                return
            repack.write(call)
    with os_errors(path):
        for ending in PACK_ENDINGS:
            failpoint("expire.pack")
            remove_if_there(f"{path}.{ending}")


def _is_worth_it(pack: str, staying: int, count: int) -> bool:
    """Whether to write a pack anew that holds more than what stays.

    Not while the user's own git has it too: to remove our name of it frees nothing. Where it is large, as one that was
    adopted and is ours alone by now, writing takes long: only to get rid of most of its objects.
    """
    with os_errors(pack):
        status = os.stat(pack)
    return status.st_nlink == 1 and (status.st_size <= CHEAP_BYTES or 2 * staying < count)


def room(directory: str) -> int:
    """Bytes that are free for the user on the file system of a directory; raises `IoError`."""
    with os_errors(directory):
        return shutil.disk_usage(directory).free


def _sweep_loose(repository: ShadowRepository, held: set[ObjectId], call: Call) -> None:
    with os_errors(repository.objects):
        for oid, file in loose_files(repository.objects):
            if oid not in held:
                call.check()
                failpoint("expire.loose")
                os.unlink(file.path)
