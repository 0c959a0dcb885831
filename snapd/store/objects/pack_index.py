"""The objects of packs, by their indexes (gitformat-pack(5)), without libgit2.

A lookup costs one `stat` of the pack directory and a bisection in each index.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
import struct
import threading
from collections.abc import Collection, Iterator
from itertools import pairwise
from operator import itemgetter

import attrs

from snapd.model.errors import StoreCorrupt, os_errors
from snapd.model.snapshot import ObjectId, file_clock_ns
from snapd.store.files.durable import DamagedData, ignoring_unreadable, read_with_retry, reading

from .codec import ID_BYTES, ObjectKind
from .compression import CHUNK_BYTES
from .pack_reader import PackReader

_MAGIC = b"\377tOc\0\0\0\2"
_FANOUT = struct.Struct(">256I")
_IDS_AT = len(_MAGIC) + _FANOUT.size
_CHECKSUMS = 2 * ID_BYTES
_PER_OBJECT = ID_BYTES + 4 + 4
_WORD = struct.Struct(">I")
_OLD_LINE = struct.Struct(">4s20s")
_OLD_BYTES = 256 << 20
"""An index of version 1 is read as a whole; one of 10 million objects has fewer bytes."""
_LONG = struct.Struct(">Q")
_LARGE = 0x80000000
_NOWHERE = 1 << 62
"""The offset of an object for which an index has none: beyond the end of any pack."""
_PACK_HEADER = struct.Struct(">4sII")

# the time of a directory advances by ticks of at most 10 ms: two changes within a tick look like one
TICK_NS = 20_000_000
# up to this many objects in the index for each wanted one, one pass over all of them is faster than bisections
_SCAN_RATIO = 8
# the last few ids are searched as bytes: a bisection to the end takes twice as long
_SEARCHED_IDS = 64
# small packs are many, and each is asked for every object of the next step
_FEW_IDS = 1024


class PackIndex:
    """The index of one pack, from its bytes of version 2; `checksum` has the last 20 bytes of the pack."""

    def __init__(self, data: mmap.mmap | bytes, pack: str) -> None:
        self._data = data
        self._pack = pack
        self._reader: PackReader | None = None
        self._fanout: tuple[int, ...] = _FANOUT.unpack_from(data, len(_MAGIC))
        self._few: frozenset[ObjectId] | None = None
        self.count = self._fanout[-1]
        self.checksum = data[-_CHECKSUMS:-ID_BYTES]

    @classmethod
    def load(cls, index: str, pack: str, *, is_old: bool = False) -> PackIndex | None:
        """Reads an `.idx` file, and checks that it belongs to its `.pack` file; None if either is missing or unsound.

        The sizes, counts and checksums are compared; the objects are not read. The index must be of version 2 (or 1 if
        `is_old`, which a git command run by hand may have written) with 20-byte ids.
        """
        with ignoring_unreadable(), os_errors(index):
            data = _as_version_2(index) if is_old else _map(index)
            pack_index = cls(data, pack) if data is not None else None
            if (
                pack_index is not None
                and pack_index._is_sized()
                and _is_pack(pack, pack_index.count, pack_index.checksum)
            ):
                return pack_index
        return None

    @classmethod
    def load_checked(cls, path: str) -> PackIndex:
        """As `load`, for a pack given by its path without an ending; raises `StoreCorrupt` if it is not sound."""
        pack_index = cls.load(f"{path}.idx", f"{path}.pack")
        if pack_index is None:
            message = f"{path} is damaged, or its index is not of version 2"
            raise StoreCorrupt(message, object=os.path.basename(path))
        return pack_index

    @classmethod
    def load_alone(cls, index: str, pack: str) -> PackIndex | None:
        """Reads a sound index of version 2 with 20-byte ids, whose pack may be damaged or missing; else None."""
        try:
            result = cls(read_with_retry(lambda: _map_checked(index)), pack)
        except (FileNotFoundError, DamagedData):
            return None
        return result if result._is_sized() else None

    def _is_sized(self) -> bool:
        """Whether an index of this size can have this fan-out table."""
        # offsets beyond 2 GiB are in a table of 8 bytes each
        large = len(self._data) - _IDS_AT - _PER_OBJECT * self.count - _CHECKSUMS
        is_ascending = all(a <= b for a, b in pairwise(self._fanout))
        return 0 <= large <= 8 * self.count and large % 8 == 0 and is_ascending

    def __contains__(self, oid: ObjectId) -> bool:
        if self.count > _FEW_IDS:
            return self.position(oid) >= 0
        if self._few is None:
            self._few = frozenset(self.ids())
        return oid in self._few

    def offset_of(self, oid: ObjectId) -> int | None:
        """Returns the offset of an object in the pack, in bytes; None if it is not there."""
        position = self.position(oid)
        return self._offset(position) if position >= 0 else None

    def checksum_of(self, oid: ObjectId) -> int:
        """Returns the CRC-32 of the entry of an object that is in the pack."""
        at = _IDS_AT + ID_BYTES * self.count + 4 * self.position(oid)
        return int(_WORD.unpack_from(self._data, at)[0])

    def entries(self) -> Iterator[tuple[ObjectId, int]]:
        """Yields all objects, sorted by id, with their offsets in bytes."""
        return map(self.entry, range(self.count))

    def entry(self, position: int) -> tuple[ObjectId, int]:
        """Returns the object at a position, and its offset in bytes."""
        at = _IDS_AT + ID_BYTES * position
        return self._data[at : at + ID_BYTES], self._offset(position)

    def read(self, oid: ObjectId, most: int | None = None) -> tuple[ObjectKind, bytes] | None:
        """Reads an object, see `PackReader.read`; None if the pack has no such object, or cannot be opened."""
        position = self.position(oid)
        reader = self._opened() if position >= 0 else None
        return None if reader is None else reader.read(oid, self._offset(position), self.offset_of, most)

    def describe(self, oid: ObjectId) -> tuple[ObjectKind, int] | None:
        """Returns an object's type and size in bytes, see `PackReader.describe`; None and errors as of `read`."""
        position = self.position(oid)
        reader = self._opened() if position >= 0 else None
        return None if reader is None else next(reader.describe([self._offset(position)], self.offset_of))

    def describe_all(self, wanted: Collection[ObjectId]) -> Iterator[tuple[ObjectId, ObjectKind, int]]:
        """Yields the wanted objects in the pack, each with its type and its size in bytes; raises as `read`."""
        reader = self._opened()
        if reader is None:
            return
        # ascending offsets are fastest
        entries = sorted(self._offsets(wanted))
        for (_, oid), result in zip(
            entries, reader.describe((offset for offset, _ in entries), self.offset_of), strict=True
        ):
            if result is not None:
                yield oid, *result

    def _offsets(self, wanted: Collection[ObjectId]) -> list[tuple[int, ObjectId]]:
        if self.count > _SCAN_RATIO * len(wanted):
            return [(self._offset(self.position(oid)), oid) for oid in wanted if oid in self]
        chosen = wanted if isinstance(wanted, (set, frozenset)) else set(wanted)
        at = _IDS_AT + (ID_BYTES + 4) * self.count
        offsets = struct.iter_unpack(">I", self._data[at : at + 4 * self.count])
        lines = zip(offsets, self._listed(), range(self.count), strict=True)
        return [
            (self._offset(position) if short & _LARGE else short, oid)
            for (short,), oid, position in lines
            if oid in chosen
        ]

    def check_deltas(self) -> bool:
        """Whether libgit2 can read the pack: it would never return from circular deltas. Raises as `read`."""
        return sum(1 for _ in self.describe_all(self.ids())) == self.count

    def _opened(self) -> PackReader | None:
        """Returns the open pack; None if it cannot be opened. Raises `IoError` as `read`."""
        if self._reader is None:
            with ignoring_unreadable(), os_errors(self._pack):
                self._reader = PackReader(self._pack)
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
        """Returns the position of an id among all, sorted; -1 if it is not there."""
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
        number = ids.find(oid)
        while number % ID_BYTES and number > 0:
            # the end of one id and the beginning of the next
            number = ids.find(oid, number + 1)
        return -1 if number < 0 else low + number // ID_BYTES

    def among(self, wanted: Collection[ObjectId]) -> set[ObjectId]:
        """Returns the wanted objects that are in the pack."""
        if self.count > _SCAN_RATIO * len(wanted):
            return {oid for oid in wanted if oid in self}
        chosen = wanted if isinstance(wanted, (set, frozenset)) else set(wanted)
        return self.ids().intersection(chosen)

    def ids(self) -> set[ObjectId]:
        """Returns the ids of all objects."""
        return set(self._listed())

    def ids_in(self, first: int) -> set[ObjectId]:
        """Returns the ids that begin with a byte."""
        low = self._fanout[first - 1] if first else 0
        table = self._data[_IDS_AT + ID_BYTES * low : _IDS_AT + ID_BYTES * self._fanout[first]]
        return {oid for (oid,) in struct.iter_unpack("20s", table)}

    def _listed(self) -> Iterator[ObjectId]:
        table = self._data[_IDS_AT : _IDS_AT + ID_BYTES * self.count]
        return map(itemgetter(0), struct.iter_unpack("20s", table))

    def is_copy_of(self, other: PackIndex) -> bool:
        """Whether both indexes are of the same pack, with the same checksums."""
        return (self.count, self._data[-_CHECKSUMS:]) == (other.count, other._data[-_CHECKSUMS:])


def _map(path: str) -> mmap.mmap | None:
    """Maps an index; None if it is not a regular file, or not of version 2."""
    # a file in the user's git directory may be a pipe
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
    """Converts an index of version 1 to version 2, without CRCs; None if it is not of version 1."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _OLD_BYTES:
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
    """As `_map`, for an index that matches its checksum; raises as `reading`."""
    with reading(path):
        data = _map(path)
        if data is None:
            raise DamagedData("it is not an index of version 2")
        digest = hashlib.sha1()
        # read and not mapped: a lost block of the disk would end the process
        with open(path, "rb") as file:
            left = len(data) - ID_BYTES
            while left and (piece := file.read(min(CHUNK_BYTES, left))):
                digest.update(piece)
                left -= len(piece)
            if digest.digest() != file.read(ID_BYTES):
                raise DamagedData("its checksum does not match")
    return data


def _is_pack(path: str, count: int, checksum: bytes) -> bool:
    """Whether a file starts and ends as a pack with this number of objects and this checksum."""
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
    """The packs of a directory when it was listed."""

    stamp: tuple[int, int] | None  # the times of the directory; None if a later change could have the same
    indexes: dict[str, PackIndex]  # by file name

    def __contains__(self, oid: ObjectId) -> bool:
        return any(oid in index for index in self.indexes.values())


class PackIndexes:
    """All packs in `objects/pack`, listed again when they change. Safe to use from several threads."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._seen: KnownPacks | None = None

    def now(self) -> KnownPacks:
        """Returns the packs that exist now; costs one system call if none changed."""
        seen = self._seen
        with os_errors(self._directory):
            stamp = directory_stamp(self._directory)
        if seen is not None and seen.stamp is not None and seen.stamp == stamp:
            return seen
        with self._lock, os_errors(self._directory):
            self._seen = seen = self._look(self._seen.indexes if self._seen is not None else {})
        return seen

    def read(self, oid: ObjectId, most: int | None = None) -> tuple[ObjectKind, bytes] | None:
        """Reads an object of at most `most` bytes from any pack; None without a sound copy. Raises as `PackIndex.read`.

        Known packs are tried before the directory is checked for new ones: an object that matches its id is right even
        if the pack was removed.
        """
        seen = self._seen
        object_kinds = None if seen is None else _read_first(seen, oid, most)
        if object_kinds is None and (now := self.now()) is not seen:
            object_kinds = _read_first(now, oid, most)
        return object_kinds

    def describe(self, oid: ObjectId) -> tuple[ObjectKind, int] | None:
        """Returns the type and the size in bytes that a pack states for an object; None and errors as of `read`."""
        return next(filter(None, (index.describe(oid) for index in self.now().indexes.values())), None)

    def among(self, wanted: Collection[ObjectId]) -> set[ObjectId]:
        """Returns the wanted objects that any pack has."""
        object_ids: set[ObjectId] = set()
        for index in self.now().indexes.values():
            object_ids |= index.among(wanted)
        return object_ids

    @property
    def known(self) -> int:
        """The number of packs at the last lookup; costs no system call."""
        seen = self._seen
        return len(seen.indexes) if seen is not None else 0

    def forget(self) -> None:
        """Lists the packs again at the next lookup: some were removed."""
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
        now = file_clock_ns()
        indexes: dict[str, PackIndex] = {}
        names = set(os.listdir(self._directory))
        # newest first: most lookups are for new objects
        come = sorted((name for name in names - known.keys() if name.endswith(".idx")), key=self._time, reverse=True)
        for name in (*come, *(name for name in known if name in names)):
            pack = f"{name[:-4]}.pack"
            path = os.path.join(self._directory, name)
            # git names a pack after its contents, so a pack of the same name has the same objects
            index = known.get(name) if pack in names else None
            file = os.path.join(self._directory, pack)
            index = index or PackIndex.load(path, file) or PackIndex.load(path, file, is_old=True)
            if index is not None:
                indexes[name] = index
        settled = now - max(stamp) > TICK_NS
        return KnownPacks(stamp if settled else None, indexes)


def _read_first(seen: KnownPacks, oid: ObjectId, most: int | None) -> tuple[ObjectKind, bytes] | None:
    return next(filter(None, (index.read(oid, most) for index in seen.indexes.values())), None)


def directory_stamp(directory: str) -> tuple[int, int] | None:
    """Returns the times of a directory, which change with its names; None if it does not exist."""
    try:
        status = os.stat(directory)
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns
