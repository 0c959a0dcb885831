"""Reads git's index file as data, without git.

The versions 2, 3 and 4 are read, split and sparse indexes, and those of SHA-256 repositories.
"""

from __future__ import annotations

import hashlib
import os
import struct
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from .disk import regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GITLINK = 0o160000
"""The mode of an entry that stands for the commit of a nested repository."""

SPARSE_DIRECTORY = 0o040000
"""The mode of an entry that stands for a whole directory of a sparse index."""

_ASSUME_VALID = 0x8000
_EXTENDED = 0x4000
_STAGE_SHIFT = 12
_LENGTH = 0x0FFF
_SKIP_WORKTREE = 0x4000 << 16
_INTENT_TO_ADD = 0x2000 << 16

_HEADER = struct.Struct(">4sII")
_EXTENSION = struct.Struct(">4sI")
_HALF = struct.Struct(">H")
_WORD = struct.Struct(">I")
_KNOWN_REQUIRED = (b"link", b"sdir")


class MalformedIndex(ValueError):
    """An index file that does not say what an index file must.

    Attributes:
        path: The file.
        why: What is wrong with it.
    """

    def __init__(self, path: str | bytes, why: str) -> None:
        super().__init__(f"{os.fsdecode(path)}: {why}")
        self.path = path
        self.why = why


class IndexEntry(NamedTuple):
    """One entry of an index.

    The fields of the stat data are what git saw when it last looked, each cut to 32 bits; they are zero where
    git did not look.

    Attributes:
        path: The path relative to the root of the repository; that of a sparse directory ends in '/'.
        ctime_s: Time of the last change of the inode, in whole seconds since the epoch.
        ctime_ns: The nanoseconds that belong to it.
        mtime_s: Time of the last change of the content, in whole seconds since the epoch.
        mtime_ns: The nanoseconds that belong to it.
        dev: Number of the device.
        ino: Number of the inode.
        mode: Type and permissions as git keeps them, e.g. 0o100644.
        uid: Owner.
        gid: Group.
        size: Size of the file in bytes.
        oid: Name of the object, as 20 or 32 raw bytes.
        flags: The flags as stored, the extended ones shifted left by 16 bits.
    """

    path: bytes
    ctime_s: int
    ctime_ns: int
    mtime_s: int
    mtime_ns: int
    dev: int
    ino: int
    mode: int
    uid: int
    gid: int
    size: int
    oid: bytes
    flags: int

    @property
    def stage(self) -> int:
        """0, or in an unresolved merge 1 (base), 2 (ours) or 3 (theirs)."""
        return self.flags >> _STAGE_SHIFT & 3

    @property
    def assume_valid(self) -> bool:
        """Whether the user promised that the file does not change."""
        return bool(self.flags & _ASSUME_VALID)

    @property
    def skip_worktree(self) -> bool:
        """Whether the file need not be in the work tree."""
        return bool(self.flags & _SKIP_WORKTREE)

    @property
    def intent_to_add(self) -> bool:
        """Whether the path is tracked, but no content was added yet."""
        return bool(self.flags & _INTENT_TO_ADD)


@attrs.frozen
class GitIndex:
    """The content of an index.

    Attributes:
        version: The version of the format: 2, 3 or 4.
        entries: All entries, sorted by path and stage, those of a shared index included.
        mtime_ns: Time of the last change of the index file itself, in nanoseconds since the epoch.
        sparse: Whether entries may stand for whole directories.
    """

    version: int
    entries: tuple[IndexEntry, ...]
    mtime_ns: int
    sparse: bool


@attrs.frozen
class _Raw:
    """One index file by itself: the fields of `GitIndex`, and what the file says of a shared index."""

    version: int
    entries: list[IndexEntry]
    mtime_ns: int
    checksum: bytes
    extensions: dict[bytes, bytes]


class _BrokenError(Exception):
    """Why the bytes are no index."""


def read_index(path: str | bytes, *, hash_size: int = 20) -> GitIndex:
    """Read an index file, and the shared index beside it that it may rest on.

    Args:
        path: The index file.
        hash_size: Size of an object name in bytes: 20 for SHA-1, 32 for SHA-256.

    Returns:
        What the index holds.

    Raises:
        MalformedIndex: The file or its shared index is damaged, or of a format not known here.
        OSError: The file cannot be read; FileNotFoundError where nothing was ever added to the repository.
    """
    raw = _read_raw(path, hash_size)
    entries = raw.entries
    try:
        if link := raw.extensions.get(b"link"):
            entries = _joined(path, link, entries, hash_size)
        if any(not entry.path for entry in entries):
            raise _BrokenError("an entry has no path")
    except _BrokenError as error:
        raise MalformedIndex(path, str(error)) from None
    return GitIndex(raw.version, tuple(entries), raw.mtime_ns, b"sdir" in raw.extensions)


def _read_raw(path: str | bytes, hash_size: int) -> _Raw:
    with open(path, "rb", opener=regular) as file:
        mtime_ns = os.fstat(file.fileno()).st_mtime_ns
        data = file.read()
    try:
        return _parse(data, hash_size, mtime_ns)
    except _BrokenError as error:
        raise MalformedIndex(path, str(error)) from None
    except (struct.error, IndexError, ValueError):
        raise MalformedIndex(path, "it ends too early") from None


def _parse(data: bytes, hash_size: int, mtime_ns: int) -> _Raw:
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC":
        raise _BrokenError("it does not begin as an index file")
    if version not in (2, 3, 4):
        raise _BrokenError(f"version {version} is not known")
    content, checksum = data[:-hash_size], data[-hash_size:]
    _verify(content, checksum)
    stat = struct.Struct(f">10I{hash_size}sH")
    # No entry is shorter, so a count that is beyond all reason costs nothing.
    if count * stat.size > len(content):
        raise _BrokenError("it ends too early")
    read = _compressed_entries if version == 4 else _padded_entries
    entries, end = read(content, count, stat)
    return _Raw(version, entries, mtime_ns, checksum, dict(_extensions(content, end)))


def _verify(content: bytes, checksum: bytes) -> None:
    """Compare the checksum, unless git was told to write none (index.skipHash)."""
    if not any(checksum):
        return
    actual = hashlib.sha1(content) if len(checksum) == 20 else hashlib.sha256(content)
    if actual.digest() != checksum:
        raise _BrokenError("its checksum is wrong")


def _padded_entries(data: bytes, count: int, stat: struct.Struct) -> tuple[list[IndexEntry], int]:
    """Read the entries of version 2 or 3; the second answer is where they end."""
    entries = []
    unpack, make, size = stat.unpack_from, IndexEntry._make, stat.size
    at = _HEADER.size
    for _ in range(count):
        fields = unpack(data, at)
        flags = fields[-1]
        start = at + size
        if flags & _EXTENDED:
            fields = _extended(fields, data, start)
            start += 2
        length = flags & _LENGTH
        end = start + length if length < _LENGTH else data.index(0, start + length)
        if data[end] != 0:
            raise _BrokenError("a path is longer or shorter than it should be")
        entries.append(make((data[start:end], *fields)))
        at += (end - at + 8) & ~7
    return entries, at


def _compressed_entries(data: bytes, count: int, stat: struct.Struct) -> tuple[list[IndexEntry], int]:
    """Read the entries of version 4; the second answer is where they end."""
    entries = []
    unpack, make, size = stat.unpack_from, IndexEntry._make, stat.size
    at = _HEADER.size
    path = b""
    for _ in range(count):
        fields = unpack(data, at)
        at += size
        if fields[-1] & _EXTENDED:
            fields = _extended(fields, data, at)
            at += 2
        dropped = data[at]
        at += 1
        if dropped > 0x7F:
            dropped, at = _varint(data, at - 1)
        if dropped > len(path):
            raise _BrokenError("a path takes more from the one before than it has")
        end = data.index(0, at)
        path = path[: len(path) - dropped] + data[at:end]
        entries.append(make((path, *fields)))
        at = end + 1
    return entries, at


def _extended(fields: tuple[Any, ...], data: bytes, at: int) -> tuple[Any, ...]:
    """Join the extended flags with the others."""
    return (*fields[:-1], fields[-1] | _HALF.unpack_from(data, at)[0] << 16)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a number of variable length; the second answer is where it ends."""
    value = -1
    while at < len(data):
        byte = data[at]
        at += 1
        value = (value + 1) << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    raise _BrokenError("it ends too early")


def _extensions(data: bytes, at: int) -> Iterator[tuple[bytes, bytes]]:
    while at < len(data):
        name, size = _EXTENSION.unpack_from(data, at)
        start = at + _EXTENSION.size
        at = start + size
        if at > len(data):
            raise _BrokenError("an extension is longer than the file")
        # Only an extension whose name begins with a capital letter may be passed over.
        if not name[:1].isupper() and name not in _KNOWN_REQUIRED:
            raise _BrokenError(f"extension {name!r} is not known")
        yield name, data[start:at]


def _joined(path: str | bytes, link: bytes, own: list[IndexEntry], hash_size: int) -> list[IndexEntry]:
    """Join the entries of a split index with those of the shared index that it names."""
    name = link[:hash_size]
    if len(name) < hash_size:
        raise _BrokenError("extension 'link' is too short")
    if not any(name):
        return own
    shared = _shared(path, name)
    deleted, replaced = _bitmaps(link[hash_size:], len(shared))
    fresh = iter(own)
    for position in replaced:
        entry = next(fresh, None)
        if entry is None or entry.path:
            raise _BrokenError("extension 'link' replaces other entries than there are")
        shared[position] = entry._replace(path=shared[position].path)
    gone = set(deleted)
    kept = {(entry.path, entry.stage): entry for at, entry in enumerate(shared) if at not in gone}
    for entry in fresh:
        if entry.stage == 0:
            for stage in (1, 2, 3):
                kept.pop((entry.path, stage), None)
        kept[entry.path, entry.stage] = entry
    return [kept[key] for key in sorted(kept)]


def _shared(path: str | bytes, name: bytes) -> list[IndexEntry]:
    folder = os.path.dirname(os.fsencode(path))
    shared_path = os.path.join(folder, b"sharedindex." + name.hex().encode())
    try:
        raw = _read_raw(shared_path, len(name))
    except FileNotFoundError:
        raise _BrokenError(f"the shared index {os.fsdecode(shared_path)} is missing") from None
    if any(raw.checksum) and raw.checksum != name:
        raise MalformedIndex(shared_path, "its content is not what its name says")
    if any(raw.extensions.get(b"link", b"")):
        raise MalformedIndex(shared_path, "it rests on another shared index")
    return raw.entries


def _bitmaps(data: bytes, bound: int) -> tuple[list[int], list[int]]:
    """Read the positions of the deleted and of the replaced entries."""
    if not data:
        return [], []
    try:
        deleted, at = _bitmap(data, 0, bound)
        replaced, _ = _bitmap(data, at, bound)
    except struct.error:
        raise _BrokenError("a bitmap of extension 'link' ends too early") from None
    return deleted, replaced


def _bitmap(data: bytes, at: int, bound: int) -> tuple[list[int], int]:
    """Read one EWAH bitmap.

    Args:
        data: The bytes that hold it.
        at: Where it begins.
        bound: What every position must be less than.

    Returns:
        The positions of the bits that are set, ascending, and where the bitmap ends.

    Raises:
        _BrokenError: A position is too great.
        struct.error: The bytes end too early.
    """
    _, count = struct.unpack_from(">II", data, at)
    at += 8
    words = struct.unpack_from(f">{count}Q", data, at)
    end = at + 8 * count + _WORD.size
    _WORD.unpack_from(data, end - _WORD.size)
    found: list[int] = []
    position = 0
    next_word = 0
    while next_word < count:
        word = words[next_word]
        run = (word >> 1 & 0xFFFFFFFF) * 64
        if word & 1:
            if position + run > bound + 63:
                raise _BrokenError("a bitmap of extension 'link' is too long")
            found.extend(range(position, position + run))
        position += run
        first = next_word + 1
        next_word = first + (word >> 33)
        for literal in words[first:next_word]:
            found.extend(position + bit for bit in range(64) if literal >> bit & 1)
            position += 64
    if found and found[-1] >= bound:
        raise _BrokenError("a bitmap of extension 'link' is too long")
    return found, end


def _path_set(paths: Iterable[bytes]) -> frozenset[bytes]:
    return frozenset(paths)


@attrs.frozen
class TrackedPaths:
    """The paths that an index holds, for quick questions. They may be given in any order.

    A sparse index may stand a directory for everything in it. Whether one file in it is tracked cannot be said
    without the objects of the repository: `holds` then says no and `below` says yes.

    Attributes:
        files: Files and symlinks.
        links: Nested repositories that the index holds as a commit (gitlinks).
        sparse: Directories that stand for everything in them, without a slash at the end.
    """

    files: frozenset[bytes] = attrs.field(converter=_path_set, repr=False)
    links: frozenset[bytes] = attrs.field(converter=_path_set, default=())
    sparse: frozenset[bytes] = attrs.field(converter=_path_set, default=())
    _sorted: list[bytes] = attrs.field(init=False, eq=False, repr=False)

    @_sorted.default
    def _sort(self) -> list[bytes]:
        return sorted(self.files.union(self.links, self.sparse))

    @classmethod
    def from_index(cls, index: GitIndex, *, strip: bytes = b"", add: bytes = b"") -> TrackedPaths:
        """Gather the paths of an index as they are seen from a work space.

        Args:
            index: The index.
            strip: The directory of the repository that is the work space, b"" for its root: entries that are
                not below it do not count, and of the others it is taken off.
            add: The directory of the work space that is the root of the repository, b"" for the root of the
                work space: it is put in front of each path.

        Returns:
            The paths.
        """
        cut = strip + b"/" if strip else b""
        front = add + b"/" if add else b""
        files: list[bytes] = []
        links: list[bytes] = []
        sparse: list[bytes | None] = []
        for entry in index.entries:
            path = entry.path
            if entry.mode == SPARSE_DIRECTORY:
                sparse.append(_sparse_path(path, cut, front))
            elif path.startswith(cut):
                (links if entry.mode == GITLINK else files).append(front + path[len(cut) :])
        return cls(files, links=links, sparse=(path for path in sparse if path is not None))

    def joined(self, *others: TrackedPaths) -> TrackedPaths:
        """Join with the paths of other repositories.

        Args:
            *others: Their paths, as seen from the same work space.

        Returns:
            All the paths together.
        """
        every = (self, *others)
        return TrackedPaths(
            frozenset().union(*(each.files for each in every)),
            links=frozenset().union(*(each.links for each in every)),
            sparse=frozenset().union(*(each.sparse for each in every)),
        )

    def holds(self, path: bytes) -> bool:
        """Tell whether the index holds a path as a file or symlink.

        Args:
            path: The path.

        Returns:
            Whether it is there; False for a gitlink and for a directory.
        """
        return path in self.files

    def below(self, directory: bytes) -> bool:
        """Tell whether the index holds something below a directory.

        Args:
            directory: The directory; b"" is the root.

        Returns:
            Whether a path below it is there, or the directory itself as a gitlink, or it or a directory above
            it as a sparse directory.
        """
        if directory in self.links or (self.sparse and self._in_sparse(directory)):
            return True
        front = directory + b"/" if directory else b""
        at = bisect_left(self._sorted, front)
        return at < len(self._sorted) and self._sorted[at].startswith(front)

    def _in_sparse(self, directory: bytes) -> bool:
        while directory and directory not in self.sparse:
            directory = directory.rpartition(b"/")[0]
        return directory in self.sparse


def _sparse_path(path: bytes, cut: bytes, front: bytes) -> bytes | None:
    """Give a sparse directory as seen from the work space; None if it has no part in it."""
    if cut.startswith(path):
        return front[:-1]
    return front + path[len(cut) : -1] if path.startswith(cut) else None
