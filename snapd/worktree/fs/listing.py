"""A directory's contents, comparable as a whole and fit for a pipe; imports only the standard library."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Container
from typing import NamedTuple

SIGNATURE = struct.Struct("<IQqqQ")
"""Mode, size, mtime and ctime in nanoseconds, inode; git's index has bytes 4 to 32 of it."""
_OWNER = struct.Struct("<II")
_FRAME = struct.Struct("<iQQqq?i8I")
SIGNATURE_BYTES = SIGNATURE.size


class ListedFile(NamedTuple):
    """The part of an `os.stat_result` that snapd uses."""

    st_mode: int
    st_size: int
    st_mtime_ns: int
    st_ctime_ns: int
    st_ino: int
    st_nlink: int


FileStatus = os.stat_result | ListedFile


class Listing(NamedTuple):
    """One directory's listing; each name ends with a zero byte, and the other columns are in the same order."""

    error: int  # the errno if the directory could not be listed, else 0
    device: int
    inode: int
    mtime_ns: int  # of the directory, before it was listed
    ctime_ns: int
    raced: bool  # a name vanished meanwhile
    watch: int = -1  # added by the lister process; -1 for none
    names: bytes = b""  # all but the directories
    signatures: bytes = b""  # of `names`, `SIGNATURE_BYTES` each
    owners: bytes = b""  # user and group of `names`, 8 bytes each
    directories: bytes = b""
    directory_signatures: bytes = b""  # `SIGNATURE_BYTES` each
    denied: bytes = b""  # names whose status may not be read
    several: bytes = b""  # those of `names` whose files have several names
    largest: bytes = b""  # size of the largest file, bytes

    @property
    def directory_identities(self) -> list[tuple[int, int]]:
        """The inodes and permissions of the directories, in their order."""
        signatures = SIGNATURE.iter_unpack(self.directory_signatures)
        return [(fields[-1], stat.S_IMODE(fields[0])) for fields in signatures]

    def statuses(self, without: Container[bytes] = ()) -> dict[bytes, ListedFile]:
        """Returns the status of each name that is not in `without`."""
        several = frozenset(self.several.split(b"\0"))
        result: dict[bytes, ListedFile] = {}
        for at, name in enumerate(self.names.split(b"\0")[:-1]):
            if name not in without:
                fields = SIGNATURE.unpack_from(self.signatures, at * SIGNATURE_BYTES)
                result[name] = ListedFile._make((*fields, 2 if name in several else 1))
        for name, fields in zip(
            self.directories.split(b"\0")[:-1], SIGNATURE.iter_unpack(self.directory_signatures), strict=True
        ):
            result[name] = ListedFile._make((*fields, 2))
        return result


def pack_signature(status: FileStatus) -> bytes:
    """Returns the packed signature of a status."""
    return SIGNATURE.pack(status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def failed(error: OSError) -> Listing:
    """Returns the listing of a directory that cannot be listed."""
    return Listing(error.errno or 1, 0, 0, 0, 0, False)


def list_directory(descriptor: int, watch: int = -1) -> Listing:
    """Lists an open directory; `watch` is as in `Listing`. Raises `OSError`."""
    itself = os.fstat(descriptor)
    names: list[str] = []
    signatures: list[bytes] = []
    owners: list[bytes] = []
    directories: list[str] = []
    directory_signatures: list[bytes] = []
    denied: list[str] = []
    several: list[str] = []
    largest = 0
    raced = False
    pack, pack_owner = SIGNATURE.pack, _OWNER.pack
    with os.scandir(descriptor) as entries:
        # sorted, so that two listings of the same names are the same bytes
        for entry in sorted(entries, key=_name):
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                raced = True
                continue
            except PermissionError:
                denied.append(entry.name)
                continue
            mode = status.st_mode
            packed = pack(mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            if stat.S_ISDIR(mode):
                directories.append(entry.name)
                directory_signatures.append(packed)
                continue
            names.append(entry.name)
            signatures.append(packed)
            owners.append(pack_owner(status.st_uid, status.st_gid))
            if status.st_nlink != 1:
                several.append(entry.name)
            if status.st_size > largest:
                largest = status.st_size
    return Listing(
        error=0,
        device=itself.st_dev,
        inode=itself.st_ino,
        mtime_ns=itself.st_mtime_ns,
        ctime_ns=itself.st_ctime_ns,
        raced=raced,
        watch=watch,
        names=_joined(names),
        signatures=b"".join(signatures),
        owners=b"".join(owners),
        directories=_joined(directories),
        directory_signatures=b"".join(directory_signatures),
        denied=_joined(denied),
        several=_joined(several),
        largest=largest.to_bytes(8, "little"),
    )


def encode(listing: Listing) -> list[bytes]:
    """Returns a listing as bytes, in pieces."""
    blobs = listing[7:]
    return [_FRAME.pack(*listing[:7], *map(len, blobs)), *blobs]


def decode(data: bytes, at: int) -> tuple[Listing, int] | None:
    """Returns the listing at an offset, and its end offset; None while it is incomplete."""
    if len(data) - at < _FRAME.size:
        return None
    fields = _FRAME.unpack_from(data, at)
    lengths = fields[7:15]
    end = at + _FRAME.size + sum(lengths)
    if end > len(data):
        return None
    at += _FRAME.size
    blobs = []
    for length in lengths:
        blobs.append(data[at : at + length])
        at += length
    return Listing(*fields[:7], *blobs), end


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _joined(names: list[str]) -> bytes:
    return os.fsencode("\0".join(names) + "\0") if names else b""
