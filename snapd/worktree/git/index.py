"""Reads git's index file as data, without git.

The versions 2, 3 and 4 are read, split and sparse indexes, and those of SHA-256 repositories.
"""

from __future__ import annotations

import hashlib
import os
import struct
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import attrs

from snapd.worktree.fs.stable_read import regular

from .ewah import read_bitmap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GITLINK = 0o160000
"""The mode of an entry that stands for the commit of a nested repository."""

SPARSE_DIRECTORY = 0o040000
"""The mode of an entry that stands for a whole directory of a sparse index."""

_ASSUME_VALID = 0x8000
_EXTENDED = 0x4000
_STAGE_SHIFT = 12
_STAGE = 0x30
"""The bits of the stage in the first byte of the flags."""
_STAGE_STEP = 0x10
_LENGTH = 0x0FFF
_LONG_OR_EXTENDED = (_LENGTH | _EXTENDED) >> 8
_SKIP_WORKTREE = 0x4000 << 16
_INTENT_TO_ADD = 0x2000 << 16

_NO_FILE = (GITLINK >> 8, SPARSE_DIRECTORY >> 8)

_HEADER = struct.Struct(">4sII")
_EXTENSION = struct.Struct(">4sI")
_STAT = struct.Struct(">10I")
_KIND_AT = 26
"""Where in the stat data the byte of the mode lies that says what kind of file it is."""
_HALF = struct.Struct(">H")
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
    """The content of an index. Its entries are kept as they are stored, and taken apart when they are asked for.

    Attributes:
        version: The version of the format: 2, 3 or 4.
        paths: The path of each entry, sorted by path and stage, those of a shared index included.
        heads: What stands before the path of each entry: 40 bytes of stat data and mode, the name of the object,
            two bytes of flags, and the two of the extended flags where the entry has them.
        hash_size: Size of an object name in bytes.
        mtime_ns: Time of the last change of the index file itself, in nanoseconds since the epoch.
        device: Number of the device that the index file lies on.
        sparse: Whether entries may stand for whole directories.
    """

    version: int
    paths: list[bytes] = attrs.field(repr=False)
    heads: list[bytes] = attrs.field(repr=False)
    hash_size: int
    mtime_ns: int
    device: int
    sparse: bool

    @property
    def entries(self) -> tuple[IndexEntry, ...]:
        """All entries, taken apart."""
        return tuple(map(_entry, self.paths, self.heads))


def _entry(path: bytes, head: bytes) -> IndexEntry:
    hash_size = 32 if len(head) >= _STAT.size + 32 else 20
    flags = _HALF.unpack_from(head, _STAT.size + hash_size)[0]
    if flags & _EXTENDED:
        flags |= _HALF.unpack_from(head, len(head) - _HALF.size)[0] << 16
    oid = head[_STAT.size : _STAT.size + hash_size]
    return IndexEntry._make((path, *_STAT.unpack_from(head), oid, flags))


@attrs.frozen
class _Raw:
    """One index file by itself: the fields of `GitIndex`, and what the file says of a shared index."""

    version: int
    paths: list[bytes]
    heads: list[bytes]
    mtime_ns: int
    device: int
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
    paths, heads = raw.paths, raw.heads
    try:
        if link := raw.extensions.get(b"link"):
            paths, heads = _joined(path, link, raw, hash_size)
        if not all(paths):
            raise _BrokenError("an entry has no path")
    except _BrokenError as error:
        raise MalformedIndex(path, str(error)) from None
    return GitIndex(raw.version, paths, heads, hash_size, raw.mtime_ns, raw.device, b"sdir" in raw.extensions)


def _read_raw(path: str | bytes, hash_size: int) -> _Raw:
    with open(path, "rb", opener=regular) as file:
        status = os.fstat(file.fileno())
        data = file.read()
    try:
        return _parse(data, hash_size, status)
    except _BrokenError as error:
        raise MalformedIndex(path, str(error)) from None
    except (struct.error, IndexError, ValueError):
        raise MalformedIndex(path, "it ends too early") from None


def _parse(data: bytes, hash_size: int, status: os.stat_result) -> _Raw:
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC":
        raise _BrokenError("it does not begin as an index file")
    if version not in (2, 3, 4):
        raise _BrokenError(f"version {version} is not known")
    content, checksum = data[:-hash_size], data[-hash_size:]
    _verify(content, checksum)
    size = _STAT.size + hash_size + _HALF.size
    # No entry is shorter, so a count that is beyond all reason costs nothing.
    if count * size > len(content):
        raise _BrokenError("it ends too early")
    read = _compressed_entries if version == 4 else _padded_entries
    paths, heads, end = read(content, count, size)
    extensions = dict(_extensions(content, end))
    return _Raw(version, paths, heads, status.st_mtime_ns, status.st_dev, checksum, extensions)


def _verify(content: bytes, checksum: bytes) -> None:
    """Compare the checksum, unless git was told to write none (index.skipHash)."""
    if not any(checksum):
        return
    actual = hashlib.sha1(content) if len(checksum) == 20 else hashlib.sha256(content)
    if actual.digest() != checksum:
        raise _BrokenError("its checksum is wrong")


def _padded_entries(data: bytes, count: int, size: int) -> tuple[list[bytes], list[bytes], int]:
    """Read the paths and heads of version 2 or 3; the last answer is where they end."""
    paths, heads = [], []
    flags_at = size - _HALF.size
    at = _HEADER.size
    for _ in range(count):
        start = at + size
        flags = data[at + flags_at]
        if flags & _LONG_OR_EXTENDED:
            # Most entries have neither extended flags nor a path of 256 bytes.
            if flags & _EXTENDED >> 8:
                start += _HALF.size
            length = (flags << 8 | data[at + flags_at + 1]) & _LENGTH
            end = start + length if length < _LENGTH else data.index(0, start + length)
        else:
            end = start + data[at + flags_at + 1]
        if data[end]:
            raise _BrokenError("a path is longer or shorter than it should be")
        heads.append(data[at:start])
        paths.append(data[start:end])
        at += (end - at + 8) & ~7
    return paths, heads, at


def _compressed_entries(data: bytes, count: int, size: int) -> tuple[list[bytes], list[bytes], int]:
    """Read the paths and heads of version 4; the last answer is where they end."""
    paths, heads = [], []
    extended = _EXTENDED >> 8
    flags_at = size - _HALF.size
    at = _HEADER.size
    path = b""
    for _ in range(count):
        start = at + size
        if data[at + flags_at] & extended:
            start += _HALF.size
        heads.append(data[at:start])
        dropped = data[start]
        at = start + 1
        if dropped > 0x7F:
            dropped, at = _varint(data, start)
        if dropped > len(path):
            raise _BrokenError("a path takes more from the one before than it has")
        end = data.index(0, at)
        path = path[: len(path) - dropped] + data[at:end]
        paths.append(path)
        at = end + 1
    return paths, heads, at


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


def _joined(path: str | bytes, link: bytes, own: _Raw, hash_size: int) -> tuple[list[bytes], list[bytes]]:
    """Join the entries of a split index with those of the shared index that it names."""
    name = link[:hash_size]
    if len(name) < hash_size:
        raise _BrokenError("extension 'link' is too short")
    if not any(name):
        return own.paths, own.heads
    shared = _shared(path, name)
    heads = shared.heads
    deleted, replaced = _bitmaps(link[hash_size:], len(heads))
    fresh = iter(zip(own.paths, own.heads, strict=True))
    for position in replaced:
        own_path, head = next(fresh, (b"?", b""))
        if own_path:
            raise _BrokenError("extension 'link' replaces other entries than there are")
        heads[position] = head
    gone = set(deleted)
    stage_at = _STAT.size + hash_size
    kept: dict[tuple[bytes, int], bytes] = {}
    for at, (shared_path, head) in enumerate(zip(shared.paths, heads, strict=True)):
        if at not in gone:
            kept[shared_path, head[stage_at] & _STAGE] = head
    for own_path, head in fresh:
        if not head[stage_at] & _STAGE:
            for stage in range(_STAGE_STEP, _STAGE + 1, _STAGE_STEP):
                kept.pop((own_path, stage), None)
        kept[own_path, head[stage_at] & _STAGE] = head
    keys = sorted(kept)
    return [key[0] for key in keys], [kept[key] for key in keys]


def _shared(path: str | bytes, name: bytes) -> _Raw:
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
    return raw


def _bitmaps(data: bytes, bound: int) -> tuple[list[int], list[int]]:
    """Read the positions of the deleted and of the replaced entries."""
    if not data:
        return [], []
    try:
        deleted, at = read_bitmap(data, 0, bound)
        replaced, _ = read_bitmap(data, at, bound)
    except OverflowError:
        raise _BrokenError("a bitmap of extension 'link' is too long") from None
    except struct.error:
        raise _BrokenError("a bitmap of extension 'link' ends too early") from None
    return deleted, replaced


@attrs.frozen(init=False)
class TrackedPaths:
    """The paths that an index holds, for quick questions. One sorted tuple answers them all and is compact.

    A sparse index may stand a directory for everything in it. Whether one file in it is tracked cannot be said
    without the objects of the repository: `holds` then says no and `below` says yes.

    Attributes:
        paths: Every path once, ascending: those of files and symlinks, `links` and `sparse`.
        links: Nested repositories that the index holds as a commit (gitlinks).
        sparse: Directories that stand for everything in them, without a slash at the end.
    """

    paths: tuple[bytes, ...] = attrs.field(repr=False)
    links: frozenset[bytes]
    sparse: frozenset[bytes]

    def __init__(self, files: Iterable[bytes], *, links: Iterable[bytes] = (), sparse: Iterable[bytes] = ()) -> None:
        """Gather paths, which may be given in any order.

        Args:
            files: Files and symlinks.
            links: As the attribute.
            sparse: As the attribute.
        """
        links, sparse = frozenset(links), frozenset(sparse)
        # most often the files are in order, which a dict keeps and a set does not
        self.__attrs_init__(tuple(sorted(dict.fromkeys((*files, *links, *sparse)))), links, sparse)

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
        links: list[bytes] = []
        sparse: list[bytes | None] = []
        for at in [at for at, head in enumerate(index.heads) if head[_KIND_AT] in _NO_FILE]:
            path = index.paths[at]
            if index.heads[at][_KIND_AT] == SPARSE_DIRECTORY >> 8:
                sparse.append(_sparse_path(path, cut, front))
            elif path.startswith(cut):
                links.append(front + path[len(cut) :])
        paths = index.paths
        if cut:
            first = bisect_left(paths, cut)
            paths = paths[first : bisect_left(paths, cut[:-1] + b"0", first)]
        if cut or front:
            paths = [front + path[len(cut) :] for path in paths]
        files = (path for path in paths if not path.endswith(b"/")) if index.sparse else paths
        return cls(files, links=links, sparse=(path for path in sparse if path is not None))

    @property
    def files(self) -> frozenset[bytes]:
        """The paths of files and symlinks."""
        return frozenset(self.paths).difference(self.links, self.sparse)

    def holds(self, path: bytes) -> bool:
        """Tell whether the index holds a path as a file or symlink.

        Args:
            path: The path.

        Returns:
            Whether it is there; False for a gitlink and for a directory.
        """
        at = bisect_left(self.paths, path)
        found = at < len(self.paths) and self.paths[at] == path
        return found and path not in self.links and path not in self.sparse

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
        at = bisect_left(self.paths, front)
        return at < len(self.paths) and self.paths[at].startswith(front)

    def _in_sparse(self, directory: bytes) -> bool:
        while directory and directory not in self.sparse:
            directory = directory.rpartition(b"/")[0]
        return directory in self.sparse


def _sparse_path(path: bytes, cut: bytes, front: bytes) -> bytes | None:
    """Give a sparse directory as seen from the work space; None if it has no part in it."""
    if cut.startswith(path):
        return front[:-1]
    return front + path[len(cut) : -1] if path.startswith(cut) else None
