"""Git objects as bytes: ids, trees, commits (gitformat-pack and git's Documentation/technical)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Literal

from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import ObjectId, TreeEntry

ObjectKind = Literal["commit", "tree", "blob", "tag"]

KINDS: dict[int, ObjectKind] = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
"""The types of objects by their numbers in packs. snapd writes no tags, but packs of the user's git have some."""

ID_BYTES = 20
"""The length of an object's id."""

NUMBERS: dict[ObjectKind, int] = {kind: number for number, kind in KINDS.items()}


def batch_objects(out: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yields name, type and bytes of each object in the output of `git cat-file --batch`.

    A missing one has the type `missing` and no bytes.
    """
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        name, kind, *size = out[at:end].split(b" ")
        at = end + 1
        data = out[at : at + int(size[0])] if size else b""
        # a line feed follows
        at += len(data) + 1 if size else 0
        yield name, kind, data


def header(kind: ObjectKind, size: int) -> bytes:
    """Returns the header that git puts before the bytes of an object to hash them."""
    return b"%s %d\0" % (kind.encode(), size)


def object_id(kind: ObjectKind, data: bytes) -> ObjectId:
    """Computes the id of an object, as git does."""
    digest = hashlib.sha1(header(kind, len(data)))
    digest.update(data)
    return digest.digest()


def decode_tree(data: bytes, oid: ObjectId) -> tuple[TreeEntry, ...]:
    """Decodes a tree object, in git's order; raises `StoreCorrupt` if the bytes are not a tree."""
    if _ENTRIES.fullmatch(data) is None:
        raise StoreCorrupt(f"tree {oid.hex()} is damaged", object=oid.hex())
    return tuple([TreeEntry(name, int(mode, 8), entry) for mode, name, entry in _ENTRY.findall(data)])


def tree_entries(data: bytes, oid: ObjectId) -> tuple[list[ObjectId], list[ObjectId]]:
    """Returns the ids of the trees in a tree object, and those of its other entries; raises as `decode_tree`."""
    trees: list[ObjectId] = []
    others: list[ObjectId] = []
    for line in _lines(oid, data):
        (trees if line.startswith(_TREES) else others).append(line[-ID_BYTES:])
    return trees, others


def encode_tree(entries: Iterable[TreeEntry]) -> bytes:
    """Encodes a tree object; the inverse of `decode_tree`."""
    ordered = sorted(entries, key=lambda entry: entry.sort_key)
    return b"".join([b"%o %s\0%s" % (entry.mode, entry.name, entry.oid) for entry in ordered])


def differing_entries(
    old: tuple[ObjectId, bytes], new: tuple[ObjectId, bytes]
) -> list[tuple[TreeEntry | None, TreeEntry | None]]:
    """Returns the entries in which two trees, each an id with its bytes, differ: each as (old, new), in no order.

    Entries are compared as stored, and decoded only if they differ: most are the same.
    """
    before, after = _lines(*old), _lines(*new)
    if len(before) == len(after):
        differing = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
        removed, added = {line for line, _ in differing}, {line for _, line in differing}
    else:
        removed, added = set(before), set(after)
    olds, news = (
        {entry.sort_key: entry for entry in map(_decode_line, some)} for some in (removed - added, added - removed)
    )
    return [(olds.get(key), news.get(key)) for key in olds.keys() | news.keys()]


def _lines(oid: ObjectId, data: bytes) -> list[bytes]:
    lines: list[bytes] = _LINE.findall(data)
    if sum(map(len, lines)) != len(data):
        raise StoreCorrupt(f"tree {oid.hex()} is damaged", object=oid.hex())
    return lines


def _decode_line(line: bytes) -> TreeEntry:
    mode, _, rest = line.partition(b" ")
    return TreeEntry(rest[:-21], int(mode, 8), rest[-20:])


_LINE = re.compile(rb"[0-7]+ [^\0/]+\0.{20}", re.DOTALL)
_TREES = (b"40000 ", b"040000 ")
"""How lines of trees begin in a tree; old programs wrote the zero."""
_ENTRY = re.compile(rb"([0-7]+) ([^\0/]+)\0(.{20})", re.DOTALL)
_COMMIT = re.compile(rb"tree ([0-9a-f]{40})\n(?:parent ([0-9a-f]{40})\n)?")
_ENTRIES = re.compile(rb"(?:[0-7]+ [^\0/]+\0.{20})*", re.DOTALL)


def encode_commit(
    tree: ObjectId, parent: ObjectId | None, seconds: int, message: str, host: str = "localhost"
) -> bytes:
    """Encodes a commit by snapd; `message` is subject, blank line, trailers, `host` the machine if it is sent."""
    who = f"snapd <snapd@{host}> {seconds} +0000"
    lines = [f"tree {tree.hex()}"]
    if parent is not None:
        lines.append(f"parent {parent.hex()}")
    lines += [f"author {who}", f"committer {who}", "", message]
    return ("\n".join(lines) + "\n").encode()


def decode_commit(data: bytes, oid: ObjectId) -> tuple[ObjectId, ObjectId | None]:
    """Returns the tree and the first parent of a commit by any program; raises `StoreCorrupt` if it is not a commit."""
    result = _COMMIT.match(data)
    if result is None:
        raise StoreCorrupt(f"commit {oid.hex()} is damaged", object=oid.hex())
    parent = result[2]
    return bytes.fromhex(result[1].decode()), bytes.fromhex(parent.decode()) if parent else None
