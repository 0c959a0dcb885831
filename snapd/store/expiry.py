"""Takes out of a shadow repository what no snapshot holds any more.

Mark and sweep: everything reachable from the snapshots stays; loose objects beyond are removed, and a pack that holds
any is written anew without them before it is removed.
"""

from __future__ import annotations

import os
import shutil
import struct
import zlib
from typing import TYPE_CHECKING

import pygit2

from snapd.core.errors import StoreCorrupt, os_errors
from snapd.core.model import EMPTY_TREE, TREE, ObjectId

from .durable import remove_if_there
from .objects import COMPRESSION, KINDS
from .pack import PackWriter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .repository import ShadowRepository

_FANOUT_END = 8 + 255 * 4
_IDS_START = 8 + 256 * 4


def expire(
    repository: ShadowRepository, roots: Iterable[tuple[ObjectId, ObjectId, ObjectId]], keep: ObjectId | None
) -> None:
    """Removes every object that is not held.

    Args:
        repository: nobody may write to it meanwhile.
        roots: commit, tree and coverage blob of every snapshot that stays.
        keep: a tree that stays besides, recorded or not.

    Raises:
        StoreCorrupt: a snapshot that stays is damaged; nothing was removed.
        IoError, StorageFull: what is held is all still there.
    """
    held = _held(repository, roots, keep)
    _drop_summaries(repository)
    try:
        for name in _packs(repository):
            _sweep_pack(repository, name, held)
        _sweep_loose(repository, held)
    finally:
        repository.swept()


def _held(
    repository: ShadowRepository, roots: Iterable[tuple[ObjectId, ObjectId, ObjectId]], keep: ObjectId | None
) -> set[ObjectId]:
    held: set[ObjectId] = set()
    pending: list[ObjectId] = [keep] if keep is not None else []
    for commit, tree, coverage in roots:
        held.update((commit, coverage))
        pending.append(tree)
    while pending:
        tree = pending.pop()
        if tree in held:
            continue
        held.add(tree)
        if tree == EMPTY_TREE:
            continue
        for entry in repository.read_tree(tree):
            if entry.mode == TREE:
                pending.append(entry.oid)
            else:
                held.add(entry.oid)
    return held


def _drop_summaries(repository: ShadowRepository) -> None:
    """Removes what a git run by hand made of commits and packs: it would speak of some that are about to go."""
    for directory in (os.path.join(repository.objects, "info"), repository.pack_directory):
        with os_errors(directory):
            for entry in os.scandir(directory):
                if entry.name == "commit-graphs":
                    shutil.rmtree(entry.path)
                elif entry.name == "commit-graph" or entry.name.startswith("multi-pack-index"):
                    os.unlink(entry.path)


def _packs(repository: ShadowRepository) -> list[str]:
    with os_errors(repository.pack_directory):
        names = os.listdir(repository.pack_directory)
    return sorted(name[:-4] for name in names if name.startswith("pack-") and name.endswith(".idx"))


def _ids(path: str) -> list[ObjectId]:
    with os_errors(path), open(path, "rb") as file:
        index = file.read()
    if index[:8] != b"\377tOc\0\0\0\2":
        raise StoreCorrupt(f"{path} is no pack index of version 2", object=path)
    (count,) = struct.unpack_from(">I", index, _FANOUT_END)
    return [index[_IDS_START + 20 * at : _IDS_START + 20 * (at + 1)] for at in range(count)]


def _sweep_pack(repository: ShadowRepository, name: str, held: set[ObjectId]) -> None:
    path = os.path.join(repository.pack_directory, name)
    ids = _ids(f"{path}.idx")
    staying = [oid for oid in ids if oid in held]
    if len(staying) == len(ids):
        return
    if staying:
        database = repository.libgit2().odb
        writer = PackWriter(repository.pack_directory)
        try:
            for oid in staying:
                kind, data = database.read(pygit2.Oid(raw=oid))
                writer.add(oid, KINDS[int(kind)], len(data), zlib.compress(data, COMPRESSION))
            writer.finish()
        except (KeyError, pygit2.GitError) as error:
            raise StoreCorrupt(f"pack {name}: {error}", object=name) from error
        finally:
            writer.discard()
    for ending in ("idx", "pack", "rev", "bitmap", "mtimes"):
        remove_if_there(f"{path}.{ending}")


def _sweep_loose(repository: ShadowRepository, held: set[ObjectId]) -> None:
    with os_errors(repository.objects):
        for directory in os.scandir(repository.objects):
            if len(directory.name) != 2 or not directory.is_dir(follow_symlinks=False):
                continue
            for file in os.scandir(directory.path):
                try:
                    oid = bytes.fromhex(directory.name + file.name)
                except ValueError:
                    continue
                if oid not in held:
                    os.unlink(file.path)
