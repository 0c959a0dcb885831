"""Which objects the packs hold, read from their indexes (gitformat-pack(5)) without libgit2.

A question costs one `stat` of the pack directory and a bisection in each index.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
import struct
import threading
import time
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import from_os_error, os_errors
from snapd.core.model import ObjectId
from snapd.store.files.disk_errors import EXHAUSTED, Damaged, reading, twice

from .codec import ID_BYTES
from .compression import CHUNK_BYTES
from .pack_reader import PackReader

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from .codec import ObjectKind

_MAGIC = b"\377tOc\0\0\0\2"
_FANOUT = struct.Struct(">256I")
_IDS_AT = len(_MAGIC) + _FANOUT.size
_CHECKSUMS = 2 * ID_BYTES
_PER_OBJECT = ID_BYTES + 4 + 4
_WORD = struct.Struct(">I")
_OLD_LINE = struct.Struct(">4s20s")
_LONG = struct.Struct(">Q")
_LARGE = 0x80000000
_NOWHERE = 1 << 62
"""Where an index says that an object lies that has no place: beyond the end of any pack."""
_PACK_HEADER = struct.Struct(">4sII")

# a directory's time moves by ticks of the kernel's clock, at most 10 ms each: within one, a change leaves no mark
_TICK_NS = 20_000_000
# up to so many objects in the index for each one asked about, one pass over all of them beats bisections
_SCAN_RATIO = 8
# a few ids are searched as bytes: a bisection to the end takes twice as long
_SEARCHED_IDS = 64
# a pack of few is one of many: all of them are asked for each object of the next step
_FEW_IDS = 1024


class PackIndex:
    """The ids in one pack, sorted; made by `load`.

    Attributes:
        count: the objects in the pack.
        checksum: the pack's own, its last 20 bytes.
    """

    def __init__(self, data: mmap.mmap | bytes, fanout: tuple[int, ...], checksum: bytes, pack: str) -> None:
        self._data = data
        self._pack = pack
        self._reader: PackReader | None = None
        self._fanout = fanout
        self._few: frozenset[ObjectId] | None = None
        self.count = fanout[-1]
        self.checksum = checksum

    @classmethod
    def load(cls, index: str, pack: str) -> PackIndex | None:
        """Reads an index and sees whether it and its pack belong together.

        The sizes, the counts and the checksum that both hold are compared; the objects themselves are not read.

        Args:
            index: the `.idx` file.
            pack: the `.pack` file.

        Returns:
            None if either is missing, unreadable, damaged, or no index of version 2 with 20-byte ids.

        Raises:
            IoError: the process, or the system, can open no more files.
        """
        return cls._loaded(_map, index, pack)

    @classmethod
    def load_old(cls, index: str, pack: str) -> PackIndex | None:
        """As `load`, of an index of version 1, which a git command run by hand can have written.

        Raises:
            IoError: as `load`.
        """
        return cls._loaded(_as_version_2, index, pack)

    @classmethod
    def _loaded(cls, open_index: Callable[[str], mmap.mmap | bytes | None], index: str, pack: str) -> PackIndex | None:
        try:
            data = open_index(index)
            if data is None:
                return None
            fanout = _FANOUT.unpack_from(data, len(_MAGIC))
            checksum = data[-_CHECKSUMS:-ID_BYTES]
            if not _is_sized(len(data), fanout) or not _is_pack(pack, fanout[-1], checksum):
                return None
        except OSError as error:
            if error.errno in EXHAUSTED:
                # that says nothing about the pack, and must not be remembered of it
                raise from_os_error(error, index) from error
            return None
        return cls(data, fanout, checksum, pack)

    @classmethod
    def load_alone(cls, index: str, pack: str) -> PackIndex | None:
        """Reads an index that its own checksum vouches for, whatever became of its pack.

        Args:
            index: the `.idx` file.
            pack: the `.pack` file, which may be damaged or missing.

        Returns:
            None if the index is missing, damaged, or not of version 2 with 20-byte ids.

        Raises:
            IoError: it cannot be read now.
        """
        try:
            data = twice(lambda: _map_checked(index))
        except (FileNotFoundError, Damaged):
            return None
        fanout = _FANOUT.unpack_from(data, len(_MAGIC))
        return cls(data, fanout, data[-_CHECKSUMS:-ID_BYTES], pack) if _is_sized(len(data), fanout) else None

    def __contains__(self, oid: ObjectId) -> bool:
        if self.count > _FEW_IDS:
            return self.position(oid) >= 0
        if self._few is None:
            self._few = frozenset(self.ids())
        return oid in self._few

    def offset_of(self, oid: ObjectId) -> int | None:
        """Where in the pack an object begins, bytes; None if it is not there."""
        position = self.position(oid)
        return self._offset(position) if position >= 0 else None

    def checksum_of(self, oid: ObjectId) -> int:
        """The CRC-32 of the bytes of an object that is in the pack."""
        at = _IDS_AT + ID_BYTES * self.count + 4 * self.position(oid)
        return int(_WORD.unpack_from(self._data, at)[0])

    def entries(self) -> Iterator[tuple[ObjectId, int]]:
        """All objects, by their ids, each with the place in the pack where it begins, bytes."""
        return map(self.entry, range(self.count))

    def entry(self, position: int) -> tuple[ObjectId, int]:
        """An object by its place among all, and where in the pack it begins, bytes."""
        at = _IDS_AT + ID_BYTES * position
        return self._data[at : at + ID_BYTES], self._offset(position)

    def read(self, oid: ObjectId, most: int | None = None) -> tuple[ObjectKind, bytes] | None:
        """The type and the bytes of an object in the pack, see `PackReader.read`.

        Returns:
            None if the pack has no such object, or cannot be opened.

        Raises:
            IoError: it cannot be read now, which says nothing about it.
        """
        position = self.position(oid)
        reader = self._opened() if position >= 0 else None
        return None if reader is None else reader.read(oid, self._offset(position), self.offset_of, most)

    def describe(self, oid: ObjectId) -> tuple[ObjectKind, int] | None:
        """The type and the size in bytes of an object in the pack, see `PackReader.describe`; as `read` otherwise."""
        position = self.position(oid)
        reader = self._opened() if position >= 0 else None
        return None if reader is None else next(reader.describe([self._offset(position)], self.offset_of))

    def describe_all(self, wanted: Collection[ObjectId]) -> Iterator[tuple[ObjectId, ObjectKind, int]]:
        """Those of `wanted` that the pack has, each with its type and its size in bytes; as `describe` otherwise."""
        reader = self._opened()
        if reader is None:
            return
        # in the order in which they lie there
        entries = sorted(self._offsets(wanted))
        for (_, oid), found in zip(
            entries, reader.describe((offset for offset, _ in entries), self.offset_of), strict=True
        ):
            if found is not None:
                yield oid, *found

    def _offsets(self, wanted: Collection[ObjectId]) -> list[tuple[int, ObjectId]]:
        """Where those of `wanted` begin that are in the pack."""
        if self.count > _SCAN_RATIO * len(wanted):
            return [(self._offset(self.position(oid)), oid) for oid in wanted if oid in self]
        chosen = wanted if isinstance(wanted, (set, frozenset)) else set(wanted)
        places = zip(struct.iter_unpack(">I", self._short_offsets()), self._listed(), range(self.count), strict=True)
        return [
            (self._offset(position) if short & _LARGE else short, oid)
            for (short,), oid, position in places
            if oid in chosen
        ]

    def _short_offsets(self) -> bytes:
        at = _IDS_AT + (ID_BYTES + 4) * self.count
        return self._data[at : at + 4 * self.count]

    def check_deltas(self) -> bool:
        """Whether every object is one that libgit2 can be given: it would never return from deltas in a circle.

        Raises:
            IoError: the pack cannot be read now, which says nothing about it.
        """
        return sum(1 for _ in self.describe_all(self.ids())) == self.count

    def _opened(self) -> PackReader | None:
        """The pack, None if it cannot be opened; raises `IoError` if that says nothing about it."""
        if self._reader is None:
            try:
                self._reader = PackReader(self._pack)
            except OSError as error:
                if error.errno in EXHAUSTED:
                    raise from_os_error(error, self._pack) from error
                return None
        return self._reader

    def _offset(self, position: int) -> int:
        offsets_at = _IDS_AT + (ID_BYTES + 4) * self.count
        (offset,) = _WORD.unpack_from(self._data, offsets_at + 4 * position)
        if offset & _LARGE:
            at = offsets_at + 4 * self.count + 8 * (offset & ~_LARGE)
            if at + _LONG.size > len(self._data) - _CHECKSUMS:
                return _NOWHERE
            (offset,) = _LONG.unpack_from(self._data, at)
        return min(int(offset), _NOWHERE)

    def position(self, oid: ObjectId) -> int:
        """The place of an id among all of them, sorted; -1 where it is not there."""
        first = oid[0]
        low = self._fanout[first - 1] if first else 0
        high = self._fanout[first]
        data = self._data
        while high - low > _SEARCHED_IDS:
            middle = (low + high) >> 1
            at = _IDS_AT + ID_BYTES * middle
            if data[at : at + ID_BYTES] <= oid:
                low = middle
            else:
                high = middle
        ids = data[_IDS_AT + ID_BYTES * low : _IDS_AT + ID_BYTES * high]
        found = ids.find(oid)
        while found % ID_BYTES and found > 0:
            # the end of one id and the beginning of the next
            found = ids.find(oid, found + 1)
        return -1 if found < 0 else low + found // ID_BYTES

    def among(self, wanted: Collection[ObjectId]) -> set[ObjectId]:
        """Those of `wanted` that are in the pack."""
        if self.count > _SCAN_RATIO * len(wanted):
            return {oid for oid in wanted if oid in self}
        chosen = wanted if isinstance(wanted, (set, frozenset)) else set(wanted)
        return self.ids().intersection(chosen)

    def ids(self) -> set[ObjectId]:
        """All that are in the pack."""
        return set(self._listed())

    def _listed(self) -> Iterator[ObjectId]:
        """All ids, in their order."""
        table = self._data[_IDS_AT : _IDS_AT + ID_BYTES * self.count]
        return map(itemgetter(0), struct.iter_unpack("20s", table))

    def is_copy_of(self, other: PackIndex) -> bool:
        """Whether both are of the same pack, and end in the same checksum of their own."""
        return (self.count, self._data[-_CHECKSUMS:]) == (other.count, other._data[-_CHECKSUMS:])


def _map(path: str) -> mmap.mmap | None:
    """The bytes of an index; None if it is not a regular file, or does not start as one of version 2."""
    # what lies in somebody's git directory may be a pipe
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size < _IDS_AT + _CHECKSUMS:
            return None
        data = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)
    return data if data[: len(_MAGIC)] == _MAGIC else None


def _as_version_2(path: str) -> bytes | None:
    """What an index of version 1 says, in the form of version 2 but for the CRCs; None if it is none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = file.read()
    if len(data) < _FANOUT.size + _CHECKSUMS or data.startswith(_MAGIC[:4]):
        return None
    lines = data[_FANOUT.size : -_CHECKSUMS]
    if len(lines) != _OLD_LINE.size * _FANOUT.unpack_from(data)[-1]:
        return None
    entries = list(_OLD_LINE.iter_unpack(lines))
    return b"".join(
        (
            _MAGIC,
            data[: _FANOUT.size],
            *(oid for _, oid in entries),
            bytes(_WORD.size * len(entries)),
            *(offset for offset, _ in entries),
            data[-_CHECKSUMS:],
        )
    )


def _map_checked(path: str) -> mmap.mmap:
    """As `_map`, of an index that its checksum vouches for; raises as `reading`."""
    with reading(path):
        data = _map(path)
        if data is None:
            raise Damaged("it is no index of version 2")
        digest = hashlib.sha1()
        # not as it is mapped: what the disk has lost would end the process
        with open(path, "rb") as file:
            left = len(data) - ID_BYTES
            while left and (piece := file.read(min(CHUNK_BYTES, left))):
                digest.update(piece)
                left -= len(piece)
            if digest.digest() != file.read(ID_BYTES):
                raise Damaged("its checksum is another's")
    return data


def _is_sized(size: int, fanout: tuple[int, ...]) -> bool:
    """Whether an index of `size` bytes can have this fan-out table."""
    count = fanout[-1]
    # offsets beyond 2 GiB stand in a table of 8 bytes each
    large = size - _IDS_AT - _PER_OBJECT * count - _CHECKSUMS
    return 0 <= large <= 8 * count and large % 8 == 0 and all(a <= b for a, b in pairwise(fanout))


def _is_pack(path: str, count: int, checksum: bytes) -> bool:
    """Whether a file starts and ends as the pack of so many objects with this checksum."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size < _PACK_HEADER.size + ID_BYTES:
            return False
        name, version, objects = _PACK_HEADER.unpack(os.pread(descriptor, _PACK_HEADER.size, 0))
        ending = os.pread(descriptor, ID_BYTES, status.st_size - ID_BYTES)
    finally:
        os.close(descriptor)
    return (name, version, objects, ending) == (b"PACK", 2, count, checksum)


@attrs.frozen
class KnownPacks:
    """What the directory held when it was listed.

    Attributes:
        stamp: its times then, None if a change could have left them as they are.
        indexes: by name.
    """

    stamp: tuple[int, int] | None
    indexes: dict[str, PackIndex]

    def __contains__(self, oid: ObjectId) -> bool:
        return any(oid in index for index in self.indexes.values())


class PackIndexes:
    """All packs of a repository, as they come and go. Safe to use from several threads.

    Args:
        directory: `objects/pack`.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._seen: KnownPacks | None = None

    def now(self) -> KnownPacks:
        """The packs that there are; costs one system call where none came or went."""
        seen = self._seen
        with os_errors(self._directory):
            stamp = directory_stamp(self._directory)
        if seen is not None and seen.stamp is not None and seen.stamp == stamp:
            return seen
        with self._lock, os_errors(self._directory):
            self._seen = seen = self._look(self._seen.indexes if self._seen is not None else {})
        return seen

    def read(self, oid: ObjectId, most: int | None = None) -> tuple[ObjectKind, bytes] | None:
        """The type and the bytes of an object that some pack has.

        The packs that are known are asked before it is looked whether others came: what one of them has is checked
        against its id, so that it is right even where the pack was removed.

        Args:
            oid: what is wanted.
            most: larger objects are not, bytes.

        Returns:
            None if no pack has it so.

        Raises:
            IoError: a pack cannot be read now, which says nothing about it.
        """
        seen = self._seen
        found = None if seen is None else _read_first(seen, oid, most)
        if found is None and (now := self.now()) is not seen:
            found = _read_first(now, oid, most)
        return found

    def describe(self, oid: ObjectId) -> tuple[ObjectKind, int] | None:
        """The type and the size in bytes of an object that some pack has, without reading all of it; as `read`."""
        for index in self.now().indexes.values():
            if (found := index.describe(oid)) is not None:
                return found
        return None

    def among(self, wanted: Collection[ObjectId]) -> set[ObjectId]:
        """Those of `wanted` that some pack holds."""
        found: set[ObjectId] = set()
        for index in self.now().indexes.values():
            found |= index.among(wanted)
        return found

    @property
    def known(self) -> int:
        """How many packs there were when somebody last asked for an object; costs no look."""
        seen = self._seen
        return len(seen.indexes) if seen is not None else 0

    def forget(self) -> None:
        """Has everything read again: packs were removed."""
        with self._lock:
            self._seen = None

    def _time(self, name: str) -> int:
        try:
            return os.stat(os.path.join(self._directory, name)).st_mtime_ns
        except FileNotFoundError:
            return 0

    def _look(self, known: dict[str, PackIndex]) -> KnownPacks:
        stamp = directory_stamp(self._directory)
        if stamp is None:
            return KnownPacks(None, {})
        now = time.time_ns()
        indexes: dict[str, PackIndex] = {}
        names = set(os.listdir(self._directory))
        # what came last is asked first: most questions are about it
        come = sorted((name for name in names - known.keys() if name.endswith(".idx")), key=self._time, reverse=True)
        for name in (*come, *(name for name in known if name in names)):
            pack = f"{name[:-4]}.pack"
            path = os.path.join(self._directory, name)
            # git names a pack after what is in it, so the same name holds the same objects
            index = known.get(name) if pack in names else None
            file = os.path.join(self._directory, pack)
            index = index or PackIndex.load(path, file) or PackIndex.load_old(path, file)
            if index is not None:
                indexes[name] = index
        settled = now - max(stamp) > _TICK_NS
        return KnownPacks(stamp if settled else None, indexes)


def _read_first(seen: KnownPacks, oid: ObjectId, most: int | None) -> tuple[ObjectKind, bytes] | None:
    for index in seen.indexes.values():
        if (found := index.read(oid, most)) is not None:
            return found
    return None


def directory_stamp(directory: str) -> tuple[int, int] | None:
    """What changes when a name in a directory comes or goes; None if the directory is not there."""
    try:
        status = os.stat(directory)
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns
