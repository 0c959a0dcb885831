"""Git objects as bytes: ids, trees, commits (gitformat-pack and git's Documentation/technical)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal

from snapd.core.errors import StoreCorrupt
from snapd.core.model import ObjectId, TreeEntry

if TYPE_CHECKING:
    from collections.abc import Iterable

ObjectKind = Literal["commit", "tree", "blob"]

KINDS: dict[int, ObjectKind] = {1: "commit", 2: "tree", 3: "blob"}
"""The types by the number that git gives them in packs."""

COMPRESSION = 1
"""zlib level: level 6 costs several times the time for a few percent of size."""


def header(kind: ObjectKind, size: int) -> bytes:
    """What git puts before an object's bytes when it hashes them."""
    return b"%s %d\0" % (kind.encode(), size)


def object_id(kind: ObjectKind, data: bytes) -> ObjectId:
    """The id that git gives the object."""
    digest = hashlib.sha1(header(kind, len(data)))
    digest.update(data)
    return digest.digest()


def encode_tree(entries: Iterable[TreeEntry]) -> bytes:
    """The bytes of a tree object; entries may come in any order."""
    return b"".join(
        b"%o %s\0%s" % (entry.mode, entry.name, entry.oid)
        for entry in sorted(entries, key=lambda entry: entry.sort_key)
    )


def decode_tree(data: bytes, oid: ObjectId) -> tuple[TreeEntry, ...]:
    """The entries of a tree object, in git's order.

    Raises:
        StoreCorrupt: the bytes are no tree.
    """
    entries = []
    at = 0
    try:
        while at < len(data):
            space = data.index(b" ", at)
            nul = data.index(b"\0", space)
            entries.append(TreeEntry(data[space + 1 : nul], int(data[at:space], 8), data[nul + 1 : nul + 21]))
            at = nul + 21
    except ValueError as error:
        raise StoreCorrupt(f"tree {oid.hex()} is damaged", object=oid.hex()) from error
    return tuple(entries)


def encode_commit(tree: ObjectId, parent: ObjectId | None, seconds: int, message: str) -> bytes:
    """The bytes of a commit object by snapd.

    Args:
        tree: the snapshot.
        parent: the record before it, if any.
        seconds: since 1970, UTC.
        message: subject, blank line, trailers.
    """
    who = f"snapd <snapd@localhost> {seconds} +0000"
    lines = [f"tree {tree.hex()}"]
    if parent is not None:
        lines.append(f"parent {parent.hex()}")
    lines += [f"author {who}", f"committer {who}", "", message]
    return ("\n".join(lines) + "\n").encode()
