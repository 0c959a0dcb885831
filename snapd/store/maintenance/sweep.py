"""Removes objects that no snapshot and no event needs from a shadow repository, and files of dead processes.

Mark and sweep: everything reachable stays. A pack with no reachable object is removed; one with some is rewritten with
only those, if that is worth it (`_is_worth_it`). Their entries are copied as they are, deltas too. Only a delta whose
base is dropped is written as a whole object, so the size is known before a byte is written.

Temporary files are recognized by name. While this process owns the store and nothing writes to it, they are stale. Only
the state of the work tree may be written at any time: of its files, those older than this process's ownership are
removed. Locks and temporary files of git may belong to a git command run on the store: they are left for an hour.
"""

from __future__ import annotations

import os
import re
import stat
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

import attrs

from snapd.failpoints import failpoint
from snapd.model.call import Call
from snapd.model.errors import StoreCorrupt, os_errors
from snapd.model.snapshot import EMPTY_TREE, TREE, ObjectId
from snapd.store.files.durable import (
    DamagedData,
    files_below,
    names_if_there,
    remove_any,
    remove_if_there,
    status_if_there,
    walked,
)
from snapd.store.files.lock import OWNER
from snapd.store.files.space import ensure_space, free_bytes
from snapd.store.objects.codec import ID_BYTES, ObjectKind
from snapd.store.objects.loose import loose_files
from snapd.store.objects.pack_entry import CRC_BYTES, HEADER_BYTES, EntryHead, offset_delta_head, pack_object, read_head
from snapd.store.objects.pack_index import PackIndex
from snapd.store.objects.pack_writer import PackWriter
from snapd.store.refs.database import LOCK

if TYPE_CHECKING:
    from snapd.store.repository import ShadowRepository

_ENDS = 64
"""The most bytes that a pack has beside its entries, and an index beside its table and lines of `_LINE` bytes."""
_LINE = 20 + 4 + 4 + 8
_INDEX = 8 + 4 * 256 + _ENDS

CHEAP_BYTES = 64 << 20
"""A pack of up to this size is rewritten to remove even one object."""

RESERVE_BYTES = 16 << 20
"""Maintenance leaves this much of the disk free for other work, and skips what would need it."""

PACK_ENDINGS = ("idx", "pack", "rev", "bitmap", "mtimes")
"""The files of a pack, in the order in which they are removed."""

AGE = 3600
"""How long files of git are left, in seconds."""

OWN_TEMPFILE = re.compile(r"tmp_[a-z]+_[0-9a-f]{16}.*|.+\.[0-9a-f]{12}\.tmp")
"""The names of `loose`, `pack_writer` and `adopt`; and those of `durable` and of the state of the work tree."""
_GITS = re.compile(r"\.?tmp[-_].+|.+\.lock")
"""The names of git; `refs.database` uses git's locks."""
_BESIDE = "worktree."


@attrs.frozen
class _Entry:
    """An entry that stays."""

    oid: ObjectId
    offset: int  # in the old pack, in bytes
    length: int  # in bytes
    head: EntryHead
    base: int | None  # the offset of the base of a delta; None if it has no base in the pack
    is_whole: bool  # whether to write it as a whole object, because its base is dropped


class PackSource(Protocol):
    """The objects among which a pack is."""

    pack_directory: str

    def read(self, oid: ObjectId) -> tuple[ObjectKind, bytes]:
        """Reads an object."""

    def describe(self, oid: ObjectId) -> tuple[ObjectKind, int]:
        """Returns the type and the size of an object."""


class PackRewrite:
    """A pack to be rewritten with the `staying` objects; raises `StoreCorrupt` if it is damaged."""

    def __init__(self, repository: PackSource, path: str, index: PackIndex, staying: Collection[ObjectId]) -> None:
        self._repository = repository
        self._path = path
        self._index = index
        with os_errors(path):
            self._descriptor = os.open(f"{path}.pack", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            self._entries = self._find(index, frozenset(staying))
            # the most bytes that the new pack and its index take
            self.needed = _ENDS + _INDEX + sum(_LINE + self._max_length(entry) for entry in self._entries)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the pack."""
        os.close(self._descriptor)

    def write(self, call: Call) -> None:
        """Adds the new pack to the repository, durably; the old one stays. After an error, nothing has changed."""
        writer = PackWriter(self._repository.pack_directory)
        offsets: dict[int, int] = {}
        try:
            for entry in self._entries:
                call.check()
                offsets[entry.offset] = writer.size
                writer.add(entry.oid, self._packed(entry, offsets))
            writer.finish()
        finally:
            writer.discard()

    def _find(self, index: PackIndex, staying: frozenset[ObjectId]) -> list[_Entry]:
        with os_errors(self._path):
            end = os.fstat(self._descriptor).st_size - ID_BYTES
        entries = sorted((offset, oid) for oid, offset in index.entries())
        ends = [offset for offset, _ in entries[1:]] + [end]
        kept = {offset for offset, oid in entries if oid in staying}
        matches = []
        for (offset, oid), following in zip(entries, ends, strict=True):
            if oid not in staying:
                continue
            try:
                head = read_head(self._bytes(min(HEADER_BYTES, max(0, following - offset)), offset))
            except DamagedData as error:
                raise self._damaged(oid) from error
            base = offset - head.distance if head.distance else None
            if head.base is not None:
                base = index.offset_of(head.base)
            is_whole = head.is_delta and base not in kept
            matches.append(_Entry(oid, offset, following - offset, head, base, is_whole))
        return matches

    def _max_length(self, entry: _Entry) -> int:
        if not entry.is_whole:
            # the distance to the base may take more bytes than before
            return entry.length + HEADER_BYTES
        _, size = self._repository.describe(entry.oid)
        # the most that the compressor makes of bytes that cannot be compressed
        return size + (size >> 8) + HEADER_BYTES + _ENDS

    def _packed(self, entry: _Entry, offsets: dict[int, int]) -> bytes:
        if entry.is_whole:
            return pack_object(*self._repository.read(entry.oid))
        data = self._bytes(entry.length, entry.offset)
        if zlib.crc32(data) != self._index.checksum_of(entry.oid):
            raise self._damaged(entry.oid)
        if entry.head.distance:
            assert entry.base is not None
            distance = offsets[entry.offset] - offsets[entry.base]
            data = offset_delta_head(entry.head.size, distance) + data[entry.head.length :]
        return zlib.crc32(data).to_bytes(CRC_BYTES, "big") + data

    def _bytes(self, size: int, at: int) -> bytes:
        with os_errors(self._path):
            return os.pread(self._descriptor, size, at)

    def _damaged(self, oid: ObjectId) -> StoreCorrupt:
        name = os.path.basename(self._path)
        return StoreCorrupt(f"pack {name}: object {oid.hex()} is damaged", object=name)


def expire(
    repository: ShadowRepository,
    roots: Iterable[tuple[ObjectId, ...]],
    keep: ObjectId | None,
    call: Call,
    *,
    wholly: bool = False,
) -> None:
    """Removes every object that is not reachable. Nothing else may write to the repository meanwhile.

    `roots` are the commit, the tree and the other blobs of every snapshot and event; the tree `keep` stays too.
    `wholly` rewrites every pack that has an unreachable object, whatever that costs. Raises `StoreCorrupt`, having
    removed nothing, if a snapshot that stays is damaged; after other errors, some unreachable objects may be left.
    """
    held: set[ObjectId] = set()
    for _ in reach(repository, roots, keep, held, call):
        pass
    failpoint("sweep.mark")
    drop_summaries(repository)
    try:
        for name in pack_names(repository.pack_directory):
            _sweep_pack(repository, name, held, call, wholly=wholly)
        _sweep_loose(repository, held, call)
    finally:
        repository.forget_packs()


def reach(
    repository: ShadowRepository,
    roots: Iterable[tuple[ObjectId, ...]],
    keep: ObjectId | None,
    held: set[ObjectId],
    call: Call,
) -> Iterator[ObjectId]:
    """Yields the reachable objects that are not in `held`, and adds them to it; raises as `expire`."""
    pending: list[ObjectId] = [keep] if keep is not None else []
    for commit, tree, *blobs in roots:
        pending.append(tree)
        for oid in (commit, *blobs):
            if oid not in held:
                held.add(oid)
                yield oid
    while pending:
        tree = pending.pop()
        if tree in held:
            continue
        held.add(tree)
        yield tree
        call.check()
        for entry in repository.read_tree(tree) if tree != EMPTY_TREE else ():
            if entry.mode == TREE:
                pending.append(entry.oid)
            elif entry.oid not in held:
                held.add(entry.oid)
                yield entry.oid


def drop_summaries(repository: ShadowRepository) -> None:
    """Removes commit graphs and multi-pack indexes of a git run by hand: they list objects that will be removed."""
    for directory in (os.path.join(repository.objects, "info"), repository.pack_directory):
        with os_errors(directory):
            failpoint("sweep.summaries")
            for entry in list(os.scandir(directory)):
                if entry.name in ("commit-graph", "commit-graphs") or entry.name.startswith("multi-pack-index"):
                    remove_any(entry.path)


def pack_names(directory: str) -> list[str]:
    """Returns the names, without an ending, of the packs in `objects/pack` that have an index."""
    with os_errors(directory):
        names = os.listdir(directory)
    return sorted(name[:-4] for name in names if name.startswith("pack-") and name.endswith(".idx"))


def _sweep_pack(repository: ShadowRepository, name: str, held: set[ObjectId], call: Call, *, wholly: bool) -> None:
    call.check()
    path = os.path.join(repository.pack_directory, name)
    index = PackIndex.load_checked(path)
    staying = index.among(held)
    if len(staying) == index.count:
        return
    if staying and not wholly and not _is_worth_it(f"{path}.pack", len(staying), index.count):
        return
    if staying:
        with closing(PackRewrite(repository, path, index, staying)) as repack:
            if wholly:
                ensure_space(repository.pack_directory, repack.needed, "rewrite a pack")
            elif free_bytes(repository.pack_directory) < repack.needed + RESERVE_BYTES:
                # a later sweep rewrites it
                return
            repack.write(call)
    with os_errors(path):
        for ending in PACK_ENDINGS:
            failpoint("sweep.pack")
            remove_if_there(f"{path}.{ending}")


def _is_worth_it(pack: str, staying: int, count: int) -> bool:
    """Whether to rewrite a pack that has unreachable objects.

    Not while the user's own git has it too, because removing our link frees nothing. A large pack takes long to write:
    only if most of its objects are unreachable.
    """
    with os_errors(pack):
        status = os.stat(pack)
    return status.st_nlink == 1 and (status.st_size <= CHEAP_BYTES or 2 * staying < count)


def _sweep_loose(repository: ShadowRepository, held: set[ObjectId], call: Call) -> None:
    with os_errors(repository.objects):
        for oid, file in loose_files(repository.objects):
            if oid not in held:
                call.check()
                failpoint("sweep.loose")
                os.unlink(file.path)


def remove_tempfiles(path: str, *, at_once: bool = False) -> int:
    """Removes temporary files of a store that this process owns, or of a mirror in it; returns their number.

    Nothing else may write there meanwhile. `at_once` also removes young files of a git command run on the store, which
    then fails: they may hold contents that must not stay. Its locks are never removed.
    """
    count = 0
    with os_errors(path):
        owner = status_if_there(os.path.join(path, OWNER))
        owned = 0 if owner is None else owner.st_ctime_ns
        for file, name in _files(path):
            is_own = OWN_TEMPFILE.fullmatch(name)
            status = status_if_there(file) if is_own or _GITS.fullmatch(name) else None
            if status is None or not stat.S_ISREG(status.st_mode):
                continue
            made = status.st_ctime_ns
            if is_own:
                is_left = made < owned or not name.startswith(_BESIDE)
            else:
                is_old = made < time.time_ns() - AGE * 10**9
                is_left = is_old or (at_once and not name.endswith(LOCK))
            if is_left:
                remove_if_there(file)
                count += 1
    return count


def _files(path: str) -> list[tuple[str, str]]:
    """Returns the paths and names of the files among which temporary ones can be."""
    above = [path, *(os.path.join(path, name) for name in ("info", "objects", os.path.join("objects", "pack")))]
    above += [directory for directory, _, _ in walked(os.path.join(path, "refs"))]
    return [(os.path.join(directory, name), name) for directory in above for name in names_if_there(directory)]


@attrs.frozen
class Sizes:
    """The sizes of the objects of a repository, in bytes by id; an object that is stored twice counts twice."""

    own: dict[ObjectId, int] = attrs.field(factory=dict)  # in files that only the store has
    # in files that the user's own git has too, so that dropping them frees nothing
    linked: dict[ObjectId, int] = attrs.field(factory=dict)


def sizes(objects: str, status_of: Callable[[str], os.stat_result | None] = status_if_there) -> Sizes:
    """Adds up the sizes of all objects in an `objects` directory; raises `StoreCorrupt` if a pack is damaged.

    `status_of` returns the status of a file by its path, None if it does not exist.
    """
    result = Sizes()
    for oid, entry in loose_files(objects):
        status = status_of(entry.path)
        if status is not None:
            _add(result, status, oid, status.st_size)
    directory = os.path.join(objects, "pack")
    for name in pack_names(directory):
        _add_pack(result, os.path.join(directory, name))
    return result


def unlinked_bytes(path: str, without: str = "") -> int:
    """Returns the bytes of all files in a directory without another hard link, except `without`; raises `IoError`."""
    return sum(
        status.st_size
        for _, status in files_below(path, without)
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    )


def _add_pack(result: Sizes, path: str) -> None:
    try:
        index, status = PackIndex.load_checked(path), os.lstat(f"{path}.pack")
    except (StoreCorrupt, FileNotFoundError):
        if os.path.exists(f"{path}.idx") and os.path.exists(f"{path}.pack"):
            raise
        # it is being removed
        return
    entries = sorted(index.entries(), key=lambda entry: entry[1])
    ends = [offset for _, offset in entries[1:]] + [status.st_size - ID_BYTES]
    for (oid, offset), end in zip(entries, ends, strict=False):
        _add(result, status, oid, end - offset)


def _add(result: Sizes, status: os.stat_result, oid: ObjectId, size: int) -> None:
    by_id = result.own if status.st_nlink == 1 else result.linked
    by_id[oid] = by_id.get(oid, 0) + size
