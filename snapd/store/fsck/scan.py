"""Reads, expands and hashes every object of a store, and checks the checksums of packs."""

from __future__ import annotations

import hashlib
import os
import struct
from array import array
from operator import itemgetter
from typing import TYPE_CHECKING

import attrs

from snapd.store.files.disk_errors import Damaged, reading, twice
from snapd.store.objects.codec import ID_BYTES
from snapd.store.objects.compression import CHUNK_BYTES

from .holdings import WITHOUT_PACK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.call import Call
    from snapd.core.model import ObjectId
    from snapd.store.objects.codec import ObjectKind

    from .holdings import Holdings, Pack

_WINDOW_BYTES = 64 << 20
"""How much of a pack is sorted by offset at once."""
_PACK_HEADER = struct.Struct(">4sII")
_OURS = b"\ncommitter snapd <snapd@localhost> "


@attrs.define
class Scan:
    """The result of a scan.

    Attributes:
        objects: the number of objects; every copy counts.
        size: of all of them, expanded, in bytes.
        commits: the commits that snapd wrote: their bytes, by id.
    """

    objects: int = 0
    size: int = 0
    commits: dict[ObjectId, bytes] = attrs.field(factory=dict)

    def took(self, oid: ObjectId, found: tuple[ObjectKind, int, bytes]) -> None:
        """Adds an object."""
        kind, size, data = found
        self.objects += 1
        self.size += size
        if kind == "commit" and _OURS in data:
            self.commits[oid] = data


def scan(holdings: Holdings, call: Call) -> Scan:
    """Reads all objects; the holdings remember the damaged ones.

    Args:
        holdings: of the store.
        call: the request; gets the number of objects read as its progress.

    Raises:
        IoError: a file cannot be listed or read now.
        Cancelled: the request was cancelled.
    """
    found = Scan()
    total = sum(pack.index.count for pack in holdings.packs.values()) + sum(1 for _ in holdings.loose())
    for oid, path in holdings.loose():
        checked = holdings.check_one(oid, path)
        if checked is not None:
            found.took(oid, checked)
        call.progress("reading objects", found.objects, total)
    for pack in holdings.packs.values():
        _scan_pack(pack, found, call, total)
    return found


def _scan_pack(pack: Pack, found: Scan, call: Call, total: int) -> None:
    if pack.file is None:
        pack.damaged.update(oid for oid, _ in pack.index.entries())
        return
    flaw = flaw_of(f"{pack.path}.pack", call, count=pack.index.count, checksum=pack.index.checksum)
    pack.flaw = flaw or pack.flaw
    for oid, offset in _in_order(pack):
        checked = pack.check(oid, offset)
        if checked is not None:
            found.took(oid, checked)
        call.progress("reading objects", found.objects, total)
    if pack.damaged and pack.flaw is None:
        pack.flaw = "objects in it are damaged"


def _in_order(pack: Pack) -> Iterator[tuple[ObjectId, int]]:
    """The objects of a pack by offset, so that deltas come soon after their bases."""
    # the index is read once, and only the positions of the objects of each window are kept
    windows: dict[int, array[int]] = {}
    for position, (_, offset) in enumerate(pack.index.entries()):
        windows.setdefault(offset // _WINDOW_BYTES, array("L")).append(position)
    for window in sorted(windows):
        yield from sorted(map(pack.index.entry, windows[window]), key=itemgetter(1))


def flaw_of(path: str, call: Call, *, count: int | None = None, checksum: bytes | None = None) -> str | None:
    """What is wrong with a pack as a whole; None if nothing is.

    Args:
        path: the `.pack` file.
        call: the request.
        count: the number of objects in its index, if there is one.
        checksum: of the pack, from its index.

    Raises:
        IoError: it cannot be read now.
        Cancelled: the request was cancelled.
    """
    try:
        twice(lambda: _check_whole(path, call, count, checksum))
    except FileNotFoundError:
        return WITHOUT_PACK
    except Damaged as error:
        return str(error)
    return None


def _check_whole(path: str, call: Call, count: int | None, checksum: bytes | None) -> None:
    digest = hashlib.sha1()
    with reading(path), open(path, "rb") as file:
        left = os.fstat(file.fileno()).st_size - ID_BYTES
        start = file.read(_PACK_HEADER.size)
        if len(start) < _PACK_HEADER.size or left < _PACK_HEADER.size:
            raise Damaged("it is cut short")
        magic, version, stated = _PACK_HEADER.unpack(start)
        if magic != b"PACK" or version != 2 or (count is not None and stated != count):
            raise Damaged("its header does not match its index")
        digest.update(start)
        left -= len(start)
        while left and (data := file.read(min(CHUNK_BYTES, left))):
            digest.update(data)
            left -= len(data)
            call.check()
        end = file.read(ID_BYTES)
    if digest.digest() != end:
        raise Damaged("its checksum does not match")
    if checksum is not None and checksum != end:
        raise Damaged("its index belongs to another pack")
