"""Reads git's index file: versions 2, 3 and 4, split and sparse, with SHA-1 and SHA-256."""

from __future__ import annotations

import hashlib
import os
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator

import attrs

from snapd.model.paths import parents
from snapd.worktree.fs.stable_read import read_bounded

_WORD = struct.Struct(">I")


def read_bitmap(data: bytes, at: int, bound: int) -> tuple[list[int], int]:
    """Reads an EWAH bitmap; returns the set bits, below `bound`, and the end offset.

    Raises `OverflowError` if a position is not below `bound`, and `struct.error` if the data ends early.
    """
    _, count = struct.unpack_from(">II", data, at)
    at += 8
    words = struct.unpack_from(f">{count}Q", data, at)
    end = at + 8 * count + _WORD.size
    _WORD.unpack_from(data, end - _WORD.size)
    positions: list[int] = []
    position = 0
    next_word = 0
    while next_word < count:
        word = words[next_word]
        run = (word >> 1 & 0xFFFFFFFF) * 64
        if word & 1:
            if position + run > bound + 63:
                raise OverflowError("a position is too great")
            positions.extend(range(position, position + run))
        position += run
        first = next_word + 1
        next_word = first + (word >> 33)
        for literal in words[first:next_word]:
            positions.extend(position + bit for bit in range(64) if literal >> bit & 1)
            position += 64
    if positions and positions[-1] >= bound:
        raise OverflowError("a position is too great")
    return positions, end


_EXTENDED = 0x4000
_STAGE = 0x30  # bits in the first byte of the flags
_STAGE_STEP = 0x10
_LENGTH = 0x0FFF
_LONG_OR_EXTENDED = (_LENGTH | _EXTENDED) >> 8

_GITLINK = 0o160000 >> 8  # kind of an entry for the commit of a nested repository
_SPARSE_DIRECTORY = 0o040000 >> 8  # kind of an entry for a whole directory of a sparse index

_HEADER = struct.Struct(">4sII")
_EXTENSION = struct.Struct(">4sI")
_STAT = struct.Struct(">10I")
_KIND_AT = 26  # offset in the stat data of the mode's byte with the kind of file
_HALF = struct.Struct(">H")
_MOST_BYTES = 256 << 20  # two million files need less
_MOST_EXPANSION = 16  # for compressed paths: they are shorter than 1,000 bytes on average
_KNOWN_REQUIRED = (b"link", b"sdir")
_BLOCK = 64
"""Entries whose bytes are compared together."""


class MalformedIndex(ValueError):
    """The index file at `path` is damaged, or has an unknown format; `why` explains it."""

    def __init__(self, path: str | bytes, why: str) -> None:
        super().__init__(f"{os.fsdecode(path)}: {why}")
        self.path = path
        self.why = why


@attrs.frozen
class GitIndex:
    """The entries of an index, as stored, with those of a shared index.

    `heads` has the bytes before each path: 40 of stat data and mode, the object id, two of flags, and two of extended
    flags if present.
    """

    paths: list[bytes] = attrs.field(repr=False)  # sorted by path and stage
    heads: list[bytes] = attrs.field(repr=False)
    mtime_ns: int  # of the index file
    device: int
    sparse: bool  # entries may stand for whole directories
    places: EntryPlaces | None = attrs.field(default=None, repr=False, eq=False)


@attrs.frozen
class EntryPlaces:
    """Where the entries of one index file lie, by which a later version shows that it has the same paths.

    A block has its offset, the hash of its bytes, and that of the paths and kinds of its entries.
    """

    start: bytes
    blocks: list[tuple[int, int, int]]
    end: int
    sparse: bool


@attrs.frozen
class _Raw:
    """One index file alone: fields of `GitIndex`, and those that identify its shared index."""

    paths: list[bytes]
    heads: list[bytes]
    mtime_ns: int
    device: int
    checksum: bytes
    extensions: dict[bytes, bytes]
    places: EntryPlaces | None


class _BrokenError(Exception):
    """The reason why the bytes are not an index."""


def read_index(path: str | bytes, *, hash_size: int = 20, with_places: bool = False) -> GitIndex:
    """Reads an index file and its shared index, if any; raises `MalformedIndex`, or `OSError`.

    The result has `places`, if they are asked for, but not of a split index or of version 4.
    """
    raw = _read_raw(path, hash_size, with_places=with_places)
    paths, heads, places = raw.paths, raw.heads, raw.places
    try:
        if link := raw.extensions.get(b"link"):
            paths, heads = _joined(path, link, raw, hash_size)
            places = None
        if not all(paths):
            raise _BrokenError("an entry has no path")
    except _BrokenError as error:
        raise MalformedIndex(path, str(error)) from None
    return GitIndex(paths, heads, raw.mtime_ns, raw.device, b"sdir" in raw.extensions, places)


def same_paths(path: str | bytes, places: EntryPlaces, *, hash_size: int = 20) -> EntryPlaces | None:
    """Returns the places of the entries as they are now, if the file still has the same paths; reads what changed.

    git writes the whole file whenever the time of one file in it changed. Raises `OSError`.
    """
    data = read_bounded(path, _MOST_BYTES)
    size = _STAT.size + hash_size + _HALF.size
    if not data.startswith(places.start):
        return None
    blocks: list[tuple[int, int, int]] = []
    ends = [start for start, _, _ in places.blocks[1:]] + [places.end]
    try:
        names = {name for name, _ in _extensions(data[places.end : -hash_size], 0)}
        if b"link" in names or (b"sdir" in names) != places.sparse:
            return None
        left = _HEADER.unpack(places.start)[2]
        for (start, known, of_paths), end in zip(places.blocks, ends, strict=True):
            block = data[start:end]
            now = hash(block)
            if now != known:
                paths, heads, at = _padded_entries(places.start + block, min(_BLOCK, left), size)
                if at != len(places.start) + len(block) or _hash_of_paths(paths, heads) != of_paths:
                    return None
            blocks.append((start, now, of_paths))
            left -= _BLOCK
    except (_BrokenError, struct.error, IndexError, ValueError):
        return None
    return attrs.evolve(places, blocks=blocks)


def _places(data: bytes, raw: tuple[list[bytes], list[bytes], int], *, sparse: bool) -> EntryPlaces:
    paths, heads, end = raw
    blocks = []
    at = _HEADER.size
    for first in range(0, len(paths), _BLOCK):
        names, before = paths[first : first + _BLOCK], heads[first : first + _BLOCK]
        start = at
        at += sum((len(name) + len(head) + 8) & ~7 for name, head in zip(names, before, strict=True))
        blocks.append((start, hash(data[start:at]), _hash_of_paths(names, before)))
    return EntryPlaces(data[: _HEADER.size], blocks, end, sparse)


def _hash_of_paths(paths: list[bytes], heads: list[bytes]) -> int:
    return hash((b"\0".join(paths), bytes([head[_KIND_AT] for head in heads])))


def _read_raw(path: str | bytes, hash_size: int, *, with_places: bool = False) -> _Raw:
    # before the read: a time that is too old only makes entries count as racy
    status = os.stat(path)
    if status.st_size > _MOST_BYTES:
        raise MalformedIndex(path, f"it has more than {_MOST_BYTES >> 20} MiB")
    data = read_bounded(path, _MOST_BYTES)
    try:
        return _parse(data, hash_size, status, with_places=with_places)
    except _BrokenError as error:
        raise MalformedIndex(path, str(error)) from None
    except (struct.error, IndexError, ValueError):
        raise MalformedIndex(path, "it ends too early") from None


def _parse(data: bytes, hash_size: int, status: os.stat_result, *, with_places: bool) -> _Raw:
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC":
        raise _BrokenError("it does not begin as an index file")
    if version not in (2, 3, 4):
        raise _BrokenError(f"version {version} is not known")
    content, checksum = data[:-hash_size], data[-hash_size:]
    # git may be configured to write no checksum (`index.skipHash`)
    if any(checksum) and (hashlib.sha1 if hash_size == 20 else hashlib.sha256)(content).digest() != checksum:
        raise _BrokenError("its checksum is wrong")
    size = _STAT.size + hash_size + _HALF.size
    # no entry is shorter, so an absurd count costs nothing
    if count * size > len(content):
        raise _BrokenError("it ends too early")
    read = _compressed_entries if version == 4 else _padded_entries
    paths, heads, end = read(content, count, size)
    extensions = dict(_extensions(content, end))
    # a compressed path depends on the one before
    has_places = with_places and version != 4
    places = _places(content, (paths, heads, end), sparse=b"sdir" in extensions) if has_places else None
    return _Raw(paths, heads, status.st_mtime_ns, status.st_dev, checksum, extensions, places)


def _padded_entries(data: bytes, count: int, size: int) -> tuple[list[bytes], list[bytes], int]:
    """Returns the paths and heads of version 2 or 3, and their end offset."""
    paths, heads = [], []
    flags_at = size - _HALF.size
    at = _HEADER.size
    for _ in range(count):
        start = at + size
        flags = data[at + flags_at]
        if flags & _LONG_OR_EXTENDED:
            # most entries have neither extended flags nor a path of 256 bytes
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
    """Returns the paths and heads of version 4, and their end offset."""
    paths, heads = [], []
    extended = _EXTENDED >> 8
    flags_at = size - _HALF.size
    at = _HEADER.size
    path = b""
    # each may be a byte longer than the one before: 5 MiB of such entries would make 3 GiB of paths
    room = _MOST_EXPANSION * len(data)
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
        room -= len(path)
        if room < 0:
            raise _BrokenError("its paths are too long")
        paths.append(path)
        at = end + 1
    return paths, heads, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns a number of variable length, and its end offset."""
    value = -1
    while at < len(data):
        byte = data[at]
        at += 1
        value = (value + 1) << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
        if value > _MOST_BYTES:
            # a mebibyte of digits would take half a minute
            raise _BrokenError("a number is larger than any file")
    raise _BrokenError("it ends too early")


def _extensions(data: bytes, at: int) -> Iterator[tuple[bytes, bytes]]:
    while at < len(data):
        name, size = _EXTENSION.unpack_from(data, at)
        start = at + _EXTENSION.size
        at = start + size
        if at > len(data):
            raise _BrokenError("an extension is longer than the file")
        # only extensions whose names begin with a capital letter are optional
        if not name[:1].isupper() and name not in _KNOWN_REQUIRED:
            raise _BrokenError(f"extension {name!r} is not known")
        yield name, data[start:at]


def _joined(path: str | bytes, link: bytes, own: _Raw, hash_size: int) -> tuple[list[bytes], list[bytes]]:
    """Joins the entries of a split index with those of its shared index."""
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
    """Returns the positions of the deleted and of the replaced entries."""
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
    """The paths in an index, in one sorted tuple that is compact and fast to search."""

    paths: tuple[bytes, ...] = attrs.field(repr=False)  # files, symlinks, `links` and `sparse`, ascending
    links: frozenset[bytes]  # nested repositories that the index holds as a commit (gitlinks)
    sparse: frozenset[bytes]  # directories that stand for all their files, without trailing slash

    def __init__(self, files: Iterable[bytes], *, links: Iterable[bytes] = (), sparse: Iterable[bytes] = ()) -> None:
        links, sparse = frozenset(links), frozenset(sparse)
        # the files are mostly in order, which a dict keeps and a set does not
        self.__attrs_init__(tuple(sorted(dict.fromkeys((*files, *links, *sparse)))), links, sparse)

    @classmethod
    def from_index(cls, index: GitIndex, *, strip: bytes = b"", add: bytes = b"") -> TrackedPaths:
        """Returns the paths relative to a workspace, whose path in the repository is `strip`; `add` is the reverse."""
        cut = strip + b"/" if strip else b""
        front = add + b"/" if add else b""
        links: list[bytes] = []
        sparse: list[bytes | None] = []
        for at in [at for at, head in enumerate(index.heads) if head[_KIND_AT] in (_GITLINK, _SPARSE_DIRECTORY)]:
            path = index.paths[at]
            if index.heads[at][_KIND_AT] == _SPARSE_DIRECTORY:
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

    def holds(self, path: bytes) -> bool:
        """Returns whether the index holds a path as a file or symlink; False for what is in a sparse directory."""
        at = bisect_left(self.paths, path)
        is_there = at < len(self.paths) and self.paths[at] == path
        return is_there and path not in self.links and path not in self.sparse

    def below(self, directory: bytes) -> bool:
        """Returns whether the index holds something below a directory; True for gitlinks and in sparse ones."""
        if directory in self.links or (
            self.sparse and not self.sparse.isdisjoint((directory, *parents(directory), b""))
        ):
            return True
        front = directory + b"/" if directory else b""
        at = bisect_left(self.paths, front)
        return at < len(self.paths) and self.paths[at].startswith(front)


def _sparse_path(path: bytes, cut: bytes, front: bytes) -> bytes | None:
    """Returns a sparse directory relative to the workspace; None if they do not overlap."""
    if cut.startswith(path):
        return front[:-1]
    return front + path[len(cut) : -1] if path.startswith(cut) else None
