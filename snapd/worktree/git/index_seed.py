"""The blobs of files as git's own index has them, so that snapd need not read the files.

Git stores the `lstat` result of a file that has the content of its blob. While that still matches, and the file did not
change in the clock tick in which git looked (see git's racy-git.txt), it has that content, apart from conversions.
Those of line ends change the size, which is compared; for others, see `Conversions`.

Two cases leave no trace and are ignored: such an attribute, since removed, that kept a file's size; and a file
rewritten in the very tick in which git read it, with its mtime set back.
"""

from __future__ import annotations

import os
import re
import struct
from collections import defaultdict
from functools import cache

from snapd.model.ignore import RULES_BYTES, IgnoreFile
from snapd.model.paths import parents
from snapd.model.snapshot import EXECUTABLE, REGULAR, SYMLINK, ObjectId, RelPath
from snapd.store.adopt import OpenBlobs, ProjectBlobs
from snapd.worktree.fs.listing import SIGNATURE_BYTES, Listing
from snapd.worktree.fs.stable_read import read_small, tree_mode
from snapd.worktree.git.config import GitUser
from snapd.worktree.git.repository import Repository, attribute_settings

from .index import GitIndex, MalformedIndex, read_index
from .repository import object_directories

ATTRIBUTES_BYTES = RULES_BYTES  # no entry below a larger attribute file is trusted; git ignores one over 100 MB
_UNSEEN = (b"filter", b"working-tree-encoding", b"ident")
_MACRO = b"[attr]"
_BLANK = re.compile(rb"[ \t\r]+")


class Conversions:
    """Collects the attribute lines that may set a conversion that keeps the size: filters, encodings, `$Id$`.

    It errs on the side of "may": lines that unset an attribute are ignored. `fold` is `core.ignoreCase`.
    """

    def __init__(self, fold: bool) -> None:
        self._fold = fold
        self._names = set(_UNSEEN)
        self._seen: set[tuple[bytes, bytes]] = set()
        self._waiting: dict[bytes, list[tuple[bytes, bytes]]] = defaultdict(list)
        self._files: dict[bytes, list[IgnoreFile]] = {}
        # everything below one of these counts as converted: the attributes are unreadable
        self._whole: set[bytes] = set()

    def __bool__(self) -> bool:
        return bool(self._files or self._whole)

    def add(self, text: bytes | None, base: bytes) -> None:
        """Adds an attribute file, None if it cannot be read; `base` is its directory, relative to the repository."""
        if text is None or len(text) > ATTRIBUTES_BYTES:
            self._whole.add(base)
        if text is None or (text, base) in self._seen or base in self._whole:
            return
        self._seen.add((text, base))
        in_force: dict[bytes, dict[bytes, None]] = defaultdict(dict)
        for pattern, *words in _lines(text):
            # a macro's name may follow a blank
            first, *rest = words if pattern == _MACRO and words else (pattern, *words)
            name = first if pattern != _MACRO else _MACRO + first
            # a quoted pattern may have blanks, so apparent attributes may be part of it
            for attribute in {word.partition(b"=")[0] for word in rest}:
                if attribute in self._names:
                    self._set(name, base, in_force)
                    break
                self._waiting[attribute].append((name, base))
        for each, patterns in in_force.items():
            self._gather(list(patterns), each)

    def may_convert(self, path: bytes) -> bool:
        """Returns whether the file at a path in the repository may have been converted."""
        above = path
        while above:
            above = above.rpartition(b"/")[0]
            if above in self._whole or any(file.match(path, False) for file in self._files.get(above, ())):
                return True
        return False

    def _set(self, name: bytes, base: bytes, in_force: dict[bytes, dict[bytes, None]]) -> None:
        """Adds a pattern that sets a conversion, or a macro with the lines that use it."""
        pending = [(name, base)]
        while pending:
            name, base = pending.pop()
            if name.startswith(_MACRO):
                macro = name.removeprefix(_MACRO)
                self._names.add(macro)
                pending += self._waiting.pop(macro, ())
            else:
                in_force[base][name] = None

    def _gather(self, patterns: list[bytes], base: bytes) -> None:
        file = IgnoreFile.parse(b"\n".join(patterns), base)
        if self._fold or file.unreadable or any(pattern.startswith((b'"', b"!")) for pattern in patterns):
            self._whole.add(base)
        else:
            self._files.setdefault(base, []).append(file)


def _lines(text: bytes) -> list[list[bytes]]:
    lines = (line.partition(b"\0")[0].strip(b" \t\r") for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"))
    return [_BLANK.split(line) for line in lines if line and not line.startswith(b"#")]


_ATTRIBUTES = b".gitattributes"
_MARK = 0xFFFFFFFF
_SECOND = 1_000_000_000
_U32 = struct.Struct("<I")
_RECORD = struct.Struct("<QqqIIII20s")
"""Size, mtime and ctime (as in a packed signature), low half of the inode, user, group, mode, blob."""
_BLOB = slice(40, 60)
_HEAD = struct.Struct(">10I20sH")
_OID = slice(40, 60)
_PLAIN = 0x0FFF  # greatest flags of an entry of stage 0, not assumed valid, not extended
_MODES = frozenset((REGULAR, EXECUTABLE, SYMLINK))
_FINE = 1_000_000
_COARSE_S = 2  # steps of a file system whose times are whole milliseconds (`_FINE`)


class IndexSeed:
    """The blobs of files that snapd has not read, for one scan, and `object_directories`, the repository's first."""

    def __init__(
        self,
        records: dict[RelPath, bytes],
        device: int,
        conversions: Conversions,
        strip: bytes,
        directories: tuple[bytes, ...],
    ) -> None:
        self._records = records
        self._device = device & _MARK
        self._conversions = conversions
        self._front = strip + b"/" if strip else b""
        self.object_directories = directories

    @classmethod
    def load(
        cls,
        repository: Repository,
        user: GitUser,
        open_blobs: OpenBlobs,
        strip: bytes = b"",
        index: GitIndex | None = None,
    ) -> IndexSeed | None:
        """Reads the index, the attributes and the sizes of the blobs; raises `IoError`.

        Returns None if nothing can be trusted: no readable SHA-1 index, a damaged configuration, or filters that may
        convert without a trace.
        """
        if repository.hash_size != 20:
            return None
        settings = attribute_settings(repository, user)
        if settings is None:
            return None
        try:
            index = index or read_index(repository.index_path)
        except (MalformedIndex, OSError):
            return None
        directories = object_directories(repository.objects)
        blobs = open_blobs(directories)
        conversions = Conversions(settings.fold)
        shared = os.path.join(repository.common_dir, b"info", b"attributes")
        for path in (*map(os.fsencode, settings.files), shared):
            conversions.add(read_small(path, most=ATTRIBUTES_BYTES, cut=True) or b"", b"")
        _add_tracked(conversions, index, repository.root, blobs)
        # from the repository's root down to the workspace
        for above in dict.fromkeys((b"", *reversed(parents(strip)), strip)):
            _add_blobs_on_disk(conversions, repository.root, above)
        return cls(_records(index, strip, blobs), index.device, conversions, strip, directories)

    @property
    def wanted(self) -> frozenset[ObjectId]:
        """The blobs that `oids` may return, judged by the attribute files read so far."""
        front, conversions = self._front, self._conversions
        return frozenset(
            record[_BLOB]
            for path, record in self._records.items()
            if not (conversions and conversions.may_convert(front + path))
        )

    def read_attributes(self, path: RelPath, descriptor: int) -> None:
        """Reads the `.gitattributes` of an open directory, which has one; call it before `oids`. Raises `IoError`."""
        text = read_small(_ATTRIBUTES, descriptor, ATTRIBUTES_BYTES)
        self._conversions.add(text, (self._front + path).rstrip(b"/"))

    def oids(self, path: RelPath, listing: Listing) -> list[ObjectId | None]:
        """Returns the blob of each of `listing.names`, None if uncertain; call `read_attributes` before."""
        names = listing.names.split(b"\0")[:-1]
        if listing.device & _MARK != self._device:
            return [None] * len(names)
        prefix = path + b"/" if path else b""
        get = self._records.get
        front = self._front + prefix
        conversions = self._conversions or None
        signatures, owners = listing.signatures, listing.owners
        oids: list[ObjectId | None] = []
        for at, name in enumerate(names):
            record = get(prefix + name)
            start = at * SIGNATURE_BYTES
            if (
                record is not None
                # the high half of the inode number is not in the index
                and record[:28] == signatures[start + 4 : start + 32]
                and record[28:36] == owners[at * 8 : at * 8 + 8]
                and record[36:40] == _kept_mode(signatures[start : start + 4])
                and (conversions is None or not conversions.may_convert(front + name))
            ):
                oids.append(record[_BLOB])
            else:
                oids.append(None)
        return oids


@cache
def _kept_mode(mode: bytes) -> bytes:
    """Returns the mode that git stores for a mode, both as 4 bytes."""
    return _U32.pack(tree_mode(_U32.unpack(mode)[0]))


def _records(index: GitIndex, strip: bytes, blobs: ProjectBlobs) -> dict[RelPath, bytes]:
    """Returns by path what a file must match to have its blob (`_RECORD`); entries with a zeroed size never match."""
    cut = len(strip) + 1 if strip else 0
    front = strip + b"/" if strip else b""
    written = divmod(index.mtime_ns, _SECOND)
    safe = written[0] - _COARSE_S
    device = index.device & _MARK
    unpack, length, modes, pack = _HEAD.unpack, _HEAD.size, _MODES, _RECORD.pack
    size_of = blobs.sizes({head[_OID] for head in index.heads if len(head) == length}).get
    records = {}
    for path, head in zip(index.paths, index.heads, strict=True):
        if len(head) != length or not path.startswith(front):
            continue
        ctime_s, ctime_ns, mtime_s, mtime_ns, dev, ino, mode, uid, gid, size, oid, flags = unpack(head)
        if (
            flags <= _PLAIN
            and mode in modes
            and ino
            and ctime_s
            # the clocks of two file systems may differ
            and dev == device
            and (ctime_s < safe or _is_older(ctime_s, ctime_ns, *written))
            and (mtime_s < safe or _is_older(mtime_s, mtime_ns, *written))
            and size_of(oid) == size
        ):
            times = mtime_s * _SECOND + mtime_ns, ctime_s * _SECOND + ctime_ns
            records[path[cut:]] = pack(size, *times, ino, uid, gid, mode, oid)
    return records


def _is_older(entry_s: int, entry_ns: int, written_s: int, written_ns: int) -> bool:
    """Returns whether a time in an entry is from an earlier clock tick than that of the index."""
    if entry_ns % _FINE:
        return entry_s < written_s or (entry_s == written_s and entry_ns < written_ns)
    return entry_s <= written_s - _COARSE_S


def _add_tracked(conversions: Conversions, index: GitIndex, root: bytes, blobs: ProjectBlobs) -> None:
    """Adds the attribute files in the index: their blobs, and their files on disk."""
    for at in [at for at, path in enumerate(index.paths) if path.endswith(_ATTRIBUTES)]:
        base, _, name = index.paths[at].rpartition(b"/")
        if name == _ATTRIBUTES:
            conversions.add(blobs.read(index.heads[at][_OID], ATTRIBUTES_BYTES), base)
            _add_blobs_on_disk(conversions, root, base)


def _add_blobs_on_disk(conversions: Conversions, root: bytes, base: bytes) -> None:
    path = os.path.join(root, base, _ATTRIBUTES)
    if os.path.lexists(path):
        conversions.add(None if os.path.islink(path) else read_small(path, most=ATTRIBUTES_BYTES), base)
