"""Writes one pack with deltas of loose objects and packs, aside: the part of a consolidation that takes long.

It changes nothing of the repository. Nothing is judged here: what is in a file that goes is in the new pack, wanted by
a snapshot or not. Packs roll up as with `git repack --geometric=2`: each that stays holds at least twice as many
objects as all smaller ones together, so an object is packed again a number of times that grows with the logarithm of
all there are.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import attrs
import pygit2
from pygit2.ffi import C, ffi

from snapd.core.errors import FULL, SnapdError, StoreCorrupt, from_os_error, os_errors
from snapd.core.model import ObjectId
from snapd.failpoints import failpoint
from snapd.store.files.disk_errors import EXHAUSTED
from snapd.store.files.durable import make_directories
from snapd.store.objects.codec import KINDS, decode_commit, decode_tree
from snapd.store.objects.libgit2 import with_packs
from snapd.store.objects.loose import loose_files, read_whole
from snapd.store.objects.pack_encoding import pack_object
from snapd.store.objects.pack_index import PackIndex
from snapd.store.objects.pack_writer import PackWriter

from .sweep import CHEAP_BYTES, pack_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from snapd.store.objects.codec import ObjectKind

LARGE_BYTES = 8 << 20
"""A loose file above this stays loose: libgit2 would hold all of it in memory."""

SOURCES = "sources"
"""The directory beside the new pack that holds what libgit2 is to read: nothing else reaches it."""


@attrs.frozen
class Order:
    """What is to be packed.

    Attributes:
        store: the git directory.
        directory: an empty one for the new pack.
        due_loose: where there are no more loose objects than this, and
        due_packs: no more packs than this, nothing is done; -1 for both has something done in any case.
        roll_up: whether to take, of the packs, only those that weigh little against the rest; else all.
        threads: how many look for deltas; 0 for one on each processor.
        behind: whether it is to give way to other work of the machine.
    """

    store: str
    directory: str
    due_loose: int
    due_packs: int
    roll_up: bool
    threads: int
    behind: bool


@attrs.frozen
class PackResult:
    """What was packed.

    Attributes:
        name: of the new pack, without an ending; empty where there is none.
        count: the objects in it.
        loose: those of them that had files of their own.
        packs: the names of those that it replaces; its own may be among them.
        loose_left: loose objects that could have been packed and were not.
        packs_left: packs that stay, and are no reason to pack again.
    """

    name: str
    count: int
    loose: list[ObjectId]
    packs: list[str]
    loose_left: int
    packs_left: int


@attrs.frozen
class Packable:
    """What could be packed together.

    Attributes:
        loose: the file of each loose object that is ours alone and not large.
        packs: by name, those that are ours alone and not large, ascending by their number of objects.
        others: how many packs there are besides.
    """

    loose: Mapping[ObjectId, str]
    packs: Mapping[str, PackIndex]
    others: int


def pack(order: Order, check: Callable[[], None]) -> PackResult:
    """Packs what is due.

    Args:
        order: what that is.
        check: called now and then; what it raises ends the work.

    Raises:
        StoreCorrupt: an object or a pack is damaged.
        StorageFull, IoError: as the system has it.
    """
    packable = survey(order.store)
    check()
    total = len(packable.packs) + packable.others
    chosen = rolled_up(packable) if order.roll_up else list(packable.packs)
    if len(packable.loose) <= order.due_loose and len(packable.packs) <= order.due_packs:
        return PackResult("", 0, [], [], len(packable.loose), packable.others)
    name, count, loose = _write(order, packable, chosen, check)
    if not count:
        return PackResult("", 0, [], [], 0, total)
    return PackResult(name, count, loose, chosen, 0, total - len(chosen))


def survey(store: str) -> Packable:
    """Lists what could be packed together; what the user's git has too, or would take long, is left alone.

    Args:
        store: the git directory.

    Raises:
        StoreCorrupt: a pack is damaged, or its index is not of version 2.
        IoError: the repository cannot be listed.
    """
    objects = os.path.join(store, "objects")
    with os_errors(objects):
        failpoint("packing.find")
    loose = {
        oid: entry.path
        for oid, entry in loose_files(objects)
        if (status := _status(entry.path)) is not None and status.st_nlink == 1 and status.st_size <= LARGE_BYTES
    }
    packs = {}
    directory = os.path.join(objects, "pack")
    names = pack_names(directory)
    for name in names:
        path = os.path.join(directory, name)
        status = _status(f"{path}.pack")
        if status is None or status.st_nlink > 1 or status.st_size > CHEAP_BYTES or os.path.exists(f"{path}.keep"):
            continue
        index = PackIndex.load(f"{path}.idx", f"{path}.pack")
        if index is None:
            raise StoreCorrupt(f"{path} is damaged, or its index is not of version 2", object=name)
        packs[name] = index
    ascending = dict(sorted(packs.items(), key=lambda item: (item[1].count, item[0])))
    return Packable(loose, ascending, len(names) - len(packs))


def rolled_up(packable: Packable) -> list[str]:
    """The packs to bring together with the loose objects, so that each of the rest outweighs all below it twice."""
    below = len(packable.loose)
    chosen = 0
    for place, index in enumerate(packable.packs.values(), 1):
        if index.count < 2 * below:
            chosen = place
        below += index.count
    return list(packable.packs)[:chosen]


class _PackBuilder(pygit2.PackBuilder):
    """Tells libgit2 the name of a file, by which it finds versions of the same; pygit2 itself has none to tell."""

    def add_named(self, oid: ObjectId, name: bytes) -> None:
        target = ffi.new("git_oid *")
        ffi.buffer(target)[:] = oid
        if C.git_packbuilder_insert(self._packbuilder, target, name):
            raise pygit2.GitError(f"object {oid.hex()} cannot be packed")


def _write(
    order: Order, packable: Packable, chosen: list[str], check: Callable[[], None]
) -> tuple[str, int, list[ObjectId]]:
    """Writes the pack; gives its name without an ending, its number of objects, and which of them were loose."""
    packs = [os.path.join(order.store, "objects", "pack", name) for name in chosen]
    members: set[ObjectId] = set()
    for name in chosen:
        check()
        if not packable.packs[name].check_deltas():
            raise StoreCorrupt(f"pack {name} is damaged: it holds what is no object", object=name)
        members |= packable.packs[name].ids()
    # below the directory of the result, so that whoever clears that away clears this away too
    sources = os.path.join(order.directory, SOURCES)
    loose: list[ObjectId] = []
    if packable.loose:
        path, loose = _pack_loose(packable, sources, check)
        packs.append(path)
        members.update(loose)
    if not members:
        return "", 0, []
    try:
        handle = with_packs(order.store, packs, os.path.join(sources, "chosen"))
        builder = _PackBuilder(handle)
        builder.set_threads(order.threads)
        for oid, called in _in_order(handle, members, check).items():
            check()
            builder.add_named(oid, called)
        builder.write(order.directory)
    except (KeyError, pygit2.GitError, MemoryError) as error:
        check()
        raise _typed_error(order, error) from error
    with os_errors(order.directory):
        failpoint("packing.check")
        names = [entry[:-4] for entry in os.listdir(order.directory) if entry.endswith(".idx")]
    if len(names) != 1:
        raise StoreCorrupt(f"{order.directory} holds {len(names)} packs instead of one", object=order.directory)
    path = os.path.join(order.directory, names[0])
    # libgit2 made the index from the bytes of the pack, not from what it was asked to write
    index = PackIndex.load(f"{path}.idx", f"{path}.pack")
    if index is None or index.among(members) != members:
        raise StoreCorrupt(f"{path}.pack does not hold what was packed", object=names[0])
    return names[0], len(members), loose


def _typed_error(order: Order, error: Exception) -> SnapdError:
    """The typed error of one by libgit2, which says nothing of the system but in words."""
    if isinstance(error, MemoryError):
        return from_os_error(OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), order.store)
    for number in (*FULL, *EXHAUSTED):
        if str(error).endswith(os.strerror(number)):
            return from_os_error(OSError(number, os.strerror(number)), order.directory)
    return StoreCorrupt(f"{order.store} cannot be packed: {error}", object=order.store)


def _pack_loose(packable: Packable, directory: str, check: Callable[[], None]) -> tuple[str, list[ObjectId]]:
    """Checks the loose objects and writes them into one pack without deltas, which libgit2 is given instead of them.

    Returns:
        Its path without an ending, and what is in it.
    """
    with os_errors(directory):
        make_directories(directory)
    writer = PackWriter(directory)
    written = []
    try:
        for oid, path in packable.loose.items():
            check()
            found = read_whole(path, oid)
            # a git that somebody runs on the store may have packed it in this moment
            if found is not None:
                writer.add(oid, pack_object(*found))
                written.append(oid)
        return writer.finish(), written
    finally:
        writer.discard()


def _in_order(handle: pygit2.Repository, members: set[ObjectId], check: Callable[[], None]) -> dict[ObjectId, bytes]:
    """The members, newest first, each with the name that a tree gives it.

    libgit2 looks for deltas among objects of one name and size in the order in which it was told of them.
    """
    below: dict[ObjectId, list[tuple[ObjectId, bytes]]] = {}
    commits: dict[ObjectId, tuple[ObjectId, ObjectId | None]] = {}
    for oid in sorted(members):
        check()
        kind, data = _member(handle, oid)
        if kind == "tree":
            below[oid] = [(entry.oid, entry.name) for entry in decode_tree(data, oid) if entry.oid in members]
        elif kind == "commit":
            commits[oid] = decode_commit(data, oid)
    found: dict[ObjectId, bytes] = {}
    trees = []
    parents = {parent for _, parent in commits.values()}
    for head in commits.keys() - parents:
        commit: ObjectId | None = head
        while commit is not None and commit in commits:
            found[commit] = b""
            tree, commit = commits[commit]
            trees.append(tree)
    for tree in trees:
        pending = [(tree, b"")] if tree in members else []
        while pending:
            oid, name = pending.pop()
            if oid not in found:
                found[oid] = name
                pending += below.get(oid, ())
    # what hangs on no commit among the members
    for entries in below.values():
        for oid, name in entries:
            found.setdefault(oid, name)
    return found | dict.fromkeys(sorted(members - found.keys()), b"")


def _member(handle: pygit2.Repository, oid: ObjectId) -> tuple[ObjectKind, bytes]:
    """Type and bytes of a member; of a blob, which libgit2 checks as it packs it, no bytes."""
    key = pygit2.Oid(raw=oid)
    kind = KINDS[int(handle.odb.read_header(key)[0])]
    return (kind, b"") if kind == "blob" else (kind, bytes(handle.odb.read(key)[1]))


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None
