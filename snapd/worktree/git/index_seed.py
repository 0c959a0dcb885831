"""What the project's own git index knows for certain about the contents of its files.

Git wrote the result of `lstat` into its index when the blob and the file had the same content, apart from conversions.
While all of that result still holds, and the file did not change in the clock tick in which git looked, its content is
that of the blob; see git's racy-git.txt. A conversion of line ends shows in the size, which is always compared: it only
ever takes bytes away on the way into the repository. For filters, encodings and `$Id$` keywords, which may keep the
size, see `attributes.py`.

Two assumptions remain, since they leave no trace: an attribute of those three kinds that was in force when the entry
was written, and was removed since from work tree, index and configuration, changed the size of its files; and nobody
rewrote a file in the very tick in which git read it, then set its mtime back.
"""

from __future__ import annotations

import os
import struct
from functools import cache
from typing import TYPE_CHECKING

from snapd.core.model import EXECUTABLE, REGULAR, SYMLINK
from snapd.worktree.fs.listing import SIGNATURE_BYTES
from snapd.worktree.fs.stable_read import read_small, tree_mode

from .attributes import ATTRIBUTES_BYTES, Conversions
from .index import MalformedIndex, read_index
from .objects import object_directories
from .repository import attribute_settings

if TYPE_CHECKING:
    from collections.abc import Collection

    from snapd.core.model import ObjectId, RelPath
    from snapd.core.ports.project import OpenBlobs, ProjectBlobs
    from snapd.worktree.fs.listing import Listing

    from .index import GitIndex
    from .repository import GitUser, Repository

_ATTRIBUTES = b".gitattributes"
_MARK = 0xFFFFFFFF
_SECOND = 1_000_000_000
_U32 = struct.Struct("<I")
_RECORD = struct.Struct("<QqqIIII20s")
"""Size, mtime and ctime (as in a packed signature), low half of the inode, user, group, mode, blob."""
_BLOB = slice(40, 60)
_HEAD = struct.Struct(">10I20sH")
_OID = slice(40, 60)
_PLAIN = 0x0FFF
"""The greatest flags of an entry of stage 0, not assumed valid, without extended flags."""
_MODES = frozenset((REGULAR, EXECUTABLE, SYMLINK))
_FINE = 1_000_000
_COARSE_S = 2
"""A file system whose times are whole milliseconds (`_FINE`, in nanoseconds) may count in steps of two seconds."""


class IndexSeed:
    """Knows the blobs of files that snapd has not read. For one look: nothing updates it.

    Attributes:
        object_directories: where the blobs lie, the repository's own directory first.
    """

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
        """Reads the index and the attributes of a repository, and the sizes of its blobs.

        Args:
            repository: with SHA-1 objects; any other gives None.
            user: whose git configuration counts.
            open_blobs: reads blobs of the repository.
            strip: the workspace relative to the repository, b"" for its root.
            index: the repository's index, if it was read already.

        Returns:
            None if nothing can be trusted: the index cannot be read, a configuration is damaged, or filters are
            configured that may convert a file without a trace.

        Raises:
            IoError: the disk is in trouble.
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
        directories = object_directories(os.path.join(repository.common_dir, b"objects"))
        blobs = open_blobs(directories)
        conversions = Conversions(settings.fold)
        shared = os.path.join(repository.common_dir, b"info", b"attributes")
        for path in (*map(os.fsencode, settings.files), shared):
            conversions.add(read_small(path, most=ATTRIBUTES_BYTES, cut=True) or b"", b"")
        _add_tracked(conversions, index, repository.root, blobs)
        _add_above(conversions, repository.root, strip)
        return cls(_records(index, strip, blobs), index.device, conversions, strip, directories)

    @property
    def wanted(self) -> frozenset[ObjectId]:
        """The blobs that `oids` may return, judged by the attribute files known so far."""
        front, conversions = self._front, self._conversions
        return frozenset(
            record[_BLOB]
            for path, record in self._records.items()
            if not (conversions and conversions.may_convert(front + path))
        )

    def entering(self, path: RelPath, names: Collection[bytes], descriptor: int) -> None:
        """Takes in the attributes of a directory; call it before `oids`.

        Args:
            path: of the directory.
            names: what it holds.
            descriptor: the directory, open.

        Raises:
            IoError: the disk is in trouble.
        """
        if _ATTRIBUTES in names:
            text = read_small(_ATTRIBUTES, descriptor, ATTRIBUTES_BYTES)
            _add_file(self._conversions, (self._front + path).rstrip(b"/"), text)

    def oids(self, path: RelPath, listing: Listing) -> list[ObjectId | None]:
        """The blobs that have the bytes of a directory's files, and the targets of its symlinks.

        Args:
            path: of the directory; `entering` was called for it and those above it.
            listing: of the directory.

        Returns:
            One for each of `listing.names`, in their order; None where it is not certain.
        """
        names = listing.names.split(b"\0")[:-1]
        if listing.device & _MARK != self._device:
            return [None] * len(names)
        prefix = path + b"/" if path else b""
        get = self._records.get
        front = self._front + prefix
        conversions = self._conversions or None
        signatures, owners = listing.signatures, listing.owners
        found: list[ObjectId | None] = []
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
                found.append(record[_BLOB])
            else:
                found.append(None)
        return found


@cache
def _kept_mode(mode: bytes) -> bytes:
    """The mode that git stores for a mode, both as 4 bytes."""
    return _U32.pack(tree_mode(_U32.unpack(mode)[0]))


def _records(index: GitIndex, strip: bytes, blobs: ProjectBlobs) -> dict[RelPath, bytes]:
    """For each trustworthy entry, by path: what a file must be to have its blob (`_RECORD`).

    An entry whose size git has zeroed, to say that it must look again, differs from the size of the blob.
    """
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
            # the clocks of two file systems need not agree
            and dev == device
            and (ctime_s < safe or _is_older(ctime_s, ctime_ns, *written))
            and (mtime_s < safe or _is_older(mtime_s, mtime_ns, *written))
            and size_of(oid) == size
        ):
            mtime, ctime = mtime_s * _SECOND + mtime_ns, ctime_s * _SECOND + ctime_ns
            records[path[cut:]] = pack(size, mtime, ctime, ino, uid, gid, mode, oid)
    return records


def _is_older(entry_s: int, entry_ns: int, written_s: int, written_ns: int) -> bool:
    """Whether a time in an entry is from an earlier clock tick than that of the index."""
    if entry_ns % _FINE:
        return entry_s < written_s or (entry_s == written_s and entry_ns < written_ns)
    return entry_s <= written_s - _COARSE_S


def _add_file(conversions: Conversions, base: bytes, text: bytes | None) -> None:
    if text is None:
        conversions.add_all(base)
    else:
        conversions.add(text, base)


def _add_tracked(conversions: Conversions, index: GitIndex, root: bytes, blobs: ProjectBlobs) -> None:
    """Takes in the attribute files that the index holds: their blobs, and their files on disk."""
    for at in [at for at, path in enumerate(index.paths) if path.endswith(_ATTRIBUTES)]:
        base, _, name = index.paths[at].rpartition(b"/")
        if name == _ATTRIBUTES:
            _add_file(conversions, base, blobs.read(index.heads[at][_OID], ATTRIBUTES_BYTES))
            _add_on_disk(conversions, root, base)


def _add_above(conversions: Conversions, root: bytes, strip: bytes) -> None:
    """Takes in the attribute files from the repository's root down to the workspace."""
    parts = strip.split(b"/") if strip else []
    for depth in range(len(parts) + 1):
        _add_on_disk(conversions, root, b"/".join(parts[:depth]))


def _add_on_disk(conversions: Conversions, root: bytes, base: bytes) -> None:
    path = os.path.join(root, base, _ATTRIBUTES)
    if os.path.lexists(path):
        _add_file(conversions, base, None if os.path.islink(path) else read_small(path, most=ATTRIBUTES_BYTES))
