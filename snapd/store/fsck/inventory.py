"""The objects in an `objects` directory. Damaged copies are remembered, and skipped when an object is read.

If the index of a pack is missing or damaged, it is computed from the pack itself.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from snapd.model.call import Call
from snapd.model.errors import os_errors
from snapd.model.snapshot import ObjectId
from snapd.store.files.durable import DamagedData, ignoring_unreadable, is_there, read_with_retry, reading
from snapd.store.objects.codec import ID_BYTES, ObjectKind, object_id
from snapd.store.objects.compression import CHUNK_BYTES
from snapd.store.objects.loose import check_loose, expand_loose, object_path, read_loose
from snapd.store.objects.pack_index import PackIndex
from snapd.store.objects.pack_reader import PackReader, object_cache
from snapd.store.objects.pack_writer import encode_index

T = TypeVar("T")

UNINDEXED = "its index is missing or damaged"
"""The flaw of a pack that may be sound itself."""

WITHOUT_PACK = "it is missing, and its index exists"
"""The flaw of a pack whose file is missing."""

CACHED_BYTES = 32 << 20
"""The most bytes of one pack's objects that fsck caches: the next deltas need them as bases."""

_FIRST = 12


class Pack:
    """A pack, given by its path without an ending, with its own or a rebuilt index."""

    def __init__(self, path: str, index: PackIndex) -> None:
        self.path = path
        self.name = os.path.basename(path)
        self.index = index
        self.damaged: set[ObjectId] = set()  # the objects with a damaged entry
        self.flaw: str | None = None  # of the pack as a whole
        self.file: PackReader | None = None  # None if it cannot be opened
        try:
            with reading(f"{path}.pack"):
                self.file = PackReader(f"{path}.pack", object_cache(CACHED_BYTES, CACHED_BYTES))
        except FileNotFoundError:
            self.flaw = WITHOUT_PACK
        except DamagedData as error:
            self.flaw = str(error)

    def has(self, oid: ObjectId) -> bool:
        """Whether the pack has a copy that is not known to be damaged."""
        return self.file is not None and oid not in self.damaged and oid in self.index

    def read(self, oid: ObjectId) -> tuple[ObjectKind, bytes] | None:
        """Reads an object and compares it with its id; None without a sound copy. Raises `IoError`."""
        file = self.file
        offset = None if file is None or oid in self.damaged else self.index.offset_of(oid)
        if file is None or offset is None:
            return None

        def read() -> tuple[ObjectKind, bytes]:
            kind, data = file.object_at(offset, self.index.offset_of)
            if object_id(kind, data) != oid:
                raise DamagedData("its bytes are those of another object")
            return kind, data

        return self._remembering_damage(file, oid, read)

    def check(self, oid: ObjectId, offset: int) -> tuple[ObjectKind, int, bytes] | None:
        """As `PackReader.check`, for an open pack. Returns None if the object is damaged, and remembers that."""
        assert self.file is not None
        file = self.file
        return self._remembering_damage(file, oid, lambda: file.check(oid, offset, self.index.offset_of))

    def _remembering_damage(self, file: PackReader, oid: ObjectId, read: Callable[[], T]) -> T | None:
        def read_again() -> T:
            try:
                with reading(f"{self.path}.pack"):
                    return read()
            except DamagedData:
                file.forget()
                raise

        try:
            return read_with_retry(read_again)
        except DamagedData:
            self.damaged.add(oid)
            return None


class ObjectInventory:
    """The objects in one `objects` directory; a context manager that closes their files.

    All methods that read raise `IoError` if a directory or file cannot be read now. Outside a store (not `is_ours`),
    unreadable files count as missing, unless file descriptors or memory are lacking.
    """

    def __init__(self, directory: str, *, is_ours: bool = True) -> None:
        self.directory = directory
        self._is_ours = is_ours
        self.packs: dict[str, Pack] = {}  # by name; those without a sound index only after `rebuild_indexes`
        self.unindexed: dict[str, tuple[str, bool]] = {}  # path without an ending, and whether a damaged index exists
        self.journal: dict[ObjectId, bytes] = {}  # loose files, which the next opening writes
        self.damaged_loose: dict[ObjectId, str] = {}  # with the defect
        try:
            self._open_packs(os.path.join(directory, "pack"))
        except BaseException:
            self.__exit__()
            raise

    def _open_packs(self, above: str) -> None:
        names: set[str] = set()
        with self._ignoring_unreadable(), os_errors(above), contextlib.suppress(FileNotFoundError):
            names = set(os.listdir(above))
        for name in sorted({name.rpartition(".")[0] for name in names if name.endswith((".pack", ".idx"))}):
            if not name.startswith("pack-"):
                continue
            path = os.path.join(above, name)
            with self._ignoring_unreadable():
                index = PackIndex.load_alone(f"{path}.idx", f"{path}.pack")
                if index is not None:
                    self.packs[name] = Pack(path, index)
                else:
                    self.unindexed[name] = (path, f"{name}.idx" in names)

    @contextlib.contextmanager
    def _ignoring_unreadable(self) -> Iterator[None]:
        """Ignores files outside the store that cannot be read."""
        with contextlib.nullcontext() if self._is_ours else ignoring_unreadable():
            yield

    def __enter__(self) -> ObjectInventory:
        return self

    def __exit__(self, *_: object) -> None:
        for pack in self.packs.values():
            if pack.file is not None:
                pack.file.close()

    def rebuild_indexes(self, call: Call) -> None:
        """Rebuilds the indexes of packs without a sound one, and adds these packs; raises `IoError`, `Cancelled`."""
        for name, (path, _) in self.unindexed.items():
            # there may be only a damaged index, and no pack
            with contextlib.suppress(FileNotFoundError):
                pack = Pack(path, RebuiltIndex(f"{path}.pack", call))
                pack.flaw = pack.flaw or UNINDEXED
                self.packs[name] = pack

    def has(self, oid: ObjectId) -> bool:
        """Whether an object has a copy that is not known to be damaged."""
        if any(pack.has(oid) for pack in self.packs.values()):
            return True
        if oid in self.journal:
            return self.read(oid) is not None
        return oid not in self.damaged_loose and is_there(object_path(self.directory, oid))

    def is_there(self, oid: ObjectId) -> bool:
        """Whether an object has any copy, sound or damaged."""
        if any(oid in pack.index for pack in self.packs.values()):
            return True
        return is_there(object_path(self.directory, oid))

    def read(self, oid: ObjectId) -> tuple[ObjectKind, bytes] | None:
        """Reads an object from its first sound copy, which matches its id; None without one."""
        object_kinds = None
        for read in (*(pack.read for pack in self.packs.values()), self.loose_copy):
            with self._ignoring_unreadable():
                object_kinds = read(oid)
            if object_kinds is not None:
                break
        return object_kinds

    def commit(self, oid: ObjectId) -> bytes:
        """Reads a commit; returns empty bytes if it is no commit, or has no sound copy."""
        kind, data = self.read(oid) or ("", b"")
        return data if kind == "commit" else b""

    def loose_copy(self, oid: ObjectId) -> tuple[ObjectKind, bytes] | None:
        """As `read`, but only from its loose file or the journal."""
        if oid not in self.damaged_loose:
            try:
                object_kinds = read_with_retry(lambda: read_loose(object_path(self.directory, oid), oid))
            except DamagedData as error:
                self.damaged_loose[oid] = str(error)
            else:
                if object_kinds is not None:
                    return object_kinds
        return expand_loose(self.journal.get(oid, b""), oid)

    def check_loose(self, oid: ObjectId, path: str) -> tuple[ObjectKind, int, bytes] | None:
        """As `loose.check_loose`. Returns None if the file is missing, or damaged, which is remembered."""
        try:
            return read_with_retry(lambda: check_loose(path, oid))
        except DamagedData as error:
            self.damaged_loose[oid] = str(error)
            return None


class RebuiltIndex(PackIndex):
    """The index of a pack, computed from the `.pack` file itself; it has no CRC-32.

    Raises `FileNotFoundError` if there is no file, `DamagedData` if it is not a file or its bytes are lost.
    """

    def __init__(self, path: str, call: Call) -> None:
        self._path = path
        self._at: dict[ObjectId, int] = {}
        self._lengths: dict[int, int] = {}
        with reading(path):
            file = PackReader(path, object_cache(CACHED_BYTES, CACHED_BYTES))
        try:
            self.is_whole = self._list(file, call) & self._resolve(file, call)
        finally:
            file.close()
        with reading(path), open(path, "rb") as pack:
            pack.seek(max(0, os.fstat(pack.fileno()).st_size - ID_BYTES))
            checksum = pack.read()
        super().__init__(encode_index(((oid, 0, offset) for oid, offset in self._at.items()), checksum), path)

    def lines(self) -> list[tuple[ObjectId, int, int]]:
        """Returns the lines of an index, see `encode_index`, with CRC-32; raises `DamagedData`, `IoError`."""
        matches = []
        with reading(self._path), open(self._path, "rb") as pack:
            for oid, offset in self._at.items():
                pack.seek(offset)
                checksum, left = 0, self._lengths[offset]
                while left and (data := pack.read(min(CHUNK_BYTES, left))):
                    checksum = zlib.crc32(data, checksum)
                    left -= len(data)
                matches.append((oid, checksum, offset))
        return matches

    def _list(self, file: PackReader, call: Call) -> bool:
        """Finds the offsets of the entries, one after the other, until one cannot be read."""
        at = _FIRST
        while at < file.end:
            try:
                with reading(self._path):
                    self._lengths[at] = file.length_at(at)
            except DamagedData:
                return False
            at += self._lengths[at]
            call.progress("listing a pack", at, file.end)
        return at == file.end

    def _resolve(self, file: PackReader, call: Call) -> bool:
        """Finds the ids of the objects; the base of a delta may come later in the pack."""
        pending = list(self._lengths)
        while pending:
            left = []
            for offset in pending:
                call.check()
                try:
                    with reading(self._path):
                        kind, data = file.object_at(offset, self._at.get)
                except DamagedData:
                    left.append(offset)
                    continue
                self._at[object_id(kind, data)] = offset
            if len(left) == len(pending):
                return False
            pending = left
        return True
