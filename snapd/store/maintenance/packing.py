"""Writes one pack with deltas of loose objects and packs: the slow part of a repack, which changes nothing else.

Every object of a replaced file is in the new pack, needed or not. Packs are rolled up as by `git repack --geometric=2`:
each pack that stays holds at least twice as many objects as all smaller ones together, so how often an object is packed
grows with the logarithm of their number.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping

import attrs
import pygit2
from pygit2.ffi import C, ffi

from snapd.failpoints import failpoint
from snapd.model.errors import FULL, SnapdError, StoreCorrupt, error_from_os_error, os_errors
from snapd.model.snapshot import ObjectId
from snapd.store.files.durable import EXHAUSTED, make_directories, status_if_there
from snapd.store.objects.codec import KINDS, ObjectKind, decode_commit, decode_tree
from snapd.store.objects.libgit2 import with_packs
from snapd.store.objects.loose import loose_files, read_whole
from snapd.store.objects.pack_entry import pack_object
from snapd.store.objects.pack_index import PackIndex
from snapd.store.objects.pack_writer import PackWriter

from .sweep import CHEAP_BYTES, pack_names

LARGE_BYTES = 8 << 20
"""Larger loose objects stay loose: libgit2 would hold each in memory."""

SOURCES = "sources"
"""The directory beside the new pack with the packs that libgit2 reads: it sees no others."""


@attrs.frozen
class RepackNeed:
    """What makes a repack worthwhile, and how it is done."""

    loose: int = -1  # a repack is due with more loose objects than this, or
    packs: int = -1  # with more packs than this; with -1 for both, always
    everything: bool = False  # whether to put all packs together, not only those that are small compared with the rest
    in_background: bool = True  # whether to yield to other processes, and look for deltas in one thread only


NOW = RepackNeed(everything=True, in_background=False)
"""Everything is packed while a client waits."""


@attrs.frozen
class PackResult:
    """The result of packing."""

    name: str  # of the new pack, without an ending; empty if there is none
    count: int  # the number of objects in it
    loose: list[ObjectId]  # those of them that were loose
    packs: list[str]  # the names of the packs that it replaces; its own may be among them
    loose_left: int  # the number of loose objects that could have been packed and were not
    packs_left: int  # the number of packs afterwards


@attrs.frozen
class Packable:
    """The files that only the store has and that are not large."""

    loose: Mapping[ObjectId, str]  # the file of each object
    packs: Mapping[str, PackIndex]  # by name, the smallest number of objects first
    others: int  # the number of other packs


def pack(store: str, directory: str, due: RepackNeed, check: Callable[[], None]) -> PackResult:
    """Packs what is due from the git directory `store` into an empty directory; `check` may raise to end the work."""
    packable = survey(store)
    check()
    total = len(packable.packs) + packable.others
    chosen = list(packable.packs) if due.everything else rolled_up(packable)
    if len(packable.loose) <= due.loose and len(packable.packs) <= due.packs:
        return PackResult("", 0, [], [], len(packable.loose), packable.others)
    name, count, loose = _write(store, directory, 1 if due.in_background else 0, packable, chosen, check)
    if not count:
        return PackResult("", 0, [], [], 0, total)
    return PackResult(name, count, loose, chosen, 0, total - len(chosen) + 1)


def survey(store: str) -> Packable:
    """Lists what can be packed together, without large files and those that the user's git shares."""
    objects = os.path.join(store, "objects")
    with os_errors(objects):
        failpoint("packing.find")
    loose = {
        oid: file.path
        for oid, file in loose_files(objects)
        if (status := status_if_there(file.path)) is not None and status.st_nlink == 1 and status.st_size <= LARGE_BYTES
    }
    packs = {}
    directory = os.path.join(objects, "pack")
    names = pack_names(directory)
    for name in names:
        path = os.path.join(directory, name)
        status = status_if_there(f"{path}.pack")
        if status is None or status.st_nlink > 1 or status.st_size > CHEAP_BYTES or os.path.exists(f"{path}.keep"):
            continue
        packs[name] = PackIndex.load_checked(path)
    ascending = dict(sorted(packs.items(), key=lambda item: (item[1].count, item[0])))
    return Packable(loose, ascending, len(names) - len(packs))


def rolled_up(packable: Packable) -> list[str]:
    """Returns the packs to join with the loose objects; each other one has twice as many objects as all below it."""
    below = len(packable.loose)
    chosen = 0
    for number, index in enumerate(packable.packs.values(), 1):
        if index.count < 2 * below:
            chosen = number
        below += index.count
    return list(packable.packs)[:chosen]


class PathPackBuilder(pygit2.PackBuilder):
    """Passes libgit2 the names of files, to find versions of the same file; pygit2 itself passes none."""

    def add_named(self, oid: ObjectId, name: bytes) -> None:
        """Adds an object that is the file of a name."""
        target = ffi.new("git_oid *")
        ffi.buffer(target)[:] = oid
        if C.git_packbuilder_insert(self._packbuilder, target, name):
            raise pygit2.GitError(f"object {oid.hex()} cannot be packed")


def _write(
    store: str, directory: str, threads: int, packable: Packable, chosen: list[str], check: Callable[[], None]
) -> tuple[str, int, list[ObjectId]]:
    """Writes the pack; returns its name without an ending, its number of objects, and those that were loose."""
    packs = [os.path.join(store, "objects", "pack", name) for name in chosen]
    members: set[ObjectId] = set()
    for name in chosen:
        check()
        if not packable.packs[name].check_deltas():
            raise StoreCorrupt(f"pack {name} is damaged: an entry is not an object", object=name)
        members |= packable.packs[name].ids()
    # below the directory of the result, so that both are removed together
    sources = os.path.join(directory, SOURCES)
    loose: list[ObjectId] = []
    if packable.loose:
        path, loose = _pack_loose(packable, sources, check)
        packs.append(path)
        members.update(loose)
    if not members:
        return "", 0, []
    try:
        handle = with_packs(store, packs, os.path.join(sources, "chosen"))
        builder = PathPackBuilder(handle)
        builder.set_threads(threads)  # 0: one on each processor
        for oid, called in _in_order(handle, members, check).items():
            check()
            builder.add_named(oid, called)
        builder.write(directory)
    except (KeyError, pygit2.GitError, MemoryError) as error:
        check()
        raise _typed_error(store, directory, error) from error
    with os_errors(directory):
        failpoint("packing.check")
        names = [entry[:-4] for entry in os.listdir(directory) if entry.endswith(".idx")]
    if len(names) != 1:
        raise StoreCorrupt(f"{directory} holds {len(names)} packs instead of one", object=directory)
    path = os.path.join(directory, names[0])
    # libgit2 made the index from the bytes of the pack, not from its list of objects
    index = PackIndex.load(f"{path}.idx", f"{path}.pack")
    if index is None or index.among(members) != members:
        raise StoreCorrupt(f"{path}.pack does not hold what was packed", object=names[0])
    return names[0], len(members), loose


def _typed_error(store: str, directory: str, error: Exception) -> SnapdError:
    """Converts an error of libgit2, which states the error of the system only as text."""
    if isinstance(error, MemoryError):
        return error_from_os_error(OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), store)
    for number in (*FULL, *EXHAUSTED):
        if str(error).endswith(os.strerror(number)):
            return error_from_os_error(OSError(number, os.strerror(number)), directory)
    return StoreCorrupt(f"{store} cannot be packed: {error}", object=store)


def _pack_loose(packable: Packable, directory: str, check: Callable[[], None]) -> tuple[str, list[ObjectId]]:
    """Checks the loose objects and packs them without deltas, for libgit2; returns the path, without an ending."""
    with os_errors(directory):
        make_directories(directory)
    writer = PackWriter(directory)
    written = []
    try:
        for oid, path in packable.loose.items():
            check()
            result = read_whole(path, oid)
            # a git command run on the store may just have packed it
            if result is not None:
                writer.add(oid, pack_object(*result))
                written.append(oid)
        return writer.finish(), written
    finally:
        writer.discard()


def _in_order(handle: pygit2.Repository, members: set[ObjectId], check: Callable[[], None]) -> dict[ObjectId, bytes]:
    """Returns the members, newest first, each with its name in a tree.

    Among objects of one name and size, libgit2 looks for deltas in the order in which they were inserted.
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
    result: dict[ObjectId, bytes] = {}
    trees = []
    parents = {parent for _, parent in commits.values()}
    for head in commits.keys() - parents:
        commit: ObjectId | None = head
        while commit is not None and commit in commits:
            result[commit] = b""
            tree, commit = commits[commit]
            trees.append(tree)
    for tree in trees:
        pending = [(tree, b"")] if tree in members else []
        while pending:
            oid, name = pending.pop()
            if oid not in result:
                result[oid] = name
                pending += below.get(oid, ())
    # members that no member commit reaches
    for entries in below.values():
        for oid, name in entries:
            result.setdefault(oid, name)
    return result | dict.fromkeys(sorted(members - result.keys()), b"")


def _member(handle: pygit2.Repository, oid: ObjectId) -> tuple[ObjectKind, bytes]:
    """Reads a member with its type; no bytes for a blob, which libgit2 checks when it packs it."""
    key = pygit2.Oid(raw=oid)
    kind = KINDS[int(handle.odb.read_header(key)[0])]
    return (kind, b"") if kind == "blob" else (kind, bytes(handle.odb.read(key)[1]))
