"""What is staged: how the user's index differs from the tree of `HEAD`."""

from __future__ import annotations

import mmap
import re
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping

from snapd.model.snapshot import EXECUTABLE, REGULAR, TREE, ObjectId, TreeEntry
from snapd.model.trees import files
from snapd.worktree.git.index import GitIndex

Staged = dict[bytes, list[tuple[int, ObjectId, int]]]
"""Modes, ids and stages of paths. Mode 0 means that the index lacks the path; a mode with `NO_ID`, intent to add."""

NO_ID = bytes(20)

_HEADER_BYTES, _ID_BYTES = 12, 20
_EXTENSION = struct.Struct(">4sI")
_NAME = re.compile(rb"[A-Za-z]{4}")
_ENTRY = struct.Struct(">24xI12x20sH")
_EXTENDED, _INTENT_TO_ADD = 0x4000, 0x2000
_LINE = re.compile(rb"([0-7]+) ([0-9a-f]{40}) ([0-3])\t([^\0]+)\0")


def cache_tree(data: bytes | mmap.mmap) -> bytes:
    """Returns the cache of trees in the bytes of an index, empty if there is none, without reading the entries."""
    at, end = len(data), len(data) - _ID_BYTES
    while (at := data.rfind(b"TREE", _HEADER_BYTES, at)) >= 0:
        start = at
        # only at an extension do extensions follow each other up to the checksum
        while start + _EXTENSION.size <= end:
            name, size = _EXTENSION.unpack_from(data, start)
            if _NAME.fullmatch(name) is None:
                break
            start += _EXTENSION.size + size
        if start == end:
            _, size = _EXTENSION.unpack_from(data, at)
            return data[at + _EXTENSION.size : at + _EXTENSION.size + size]
    return b""


def cached_trees(cache: bytes, most: int | None = None) -> dict[bytes, ObjectId]:
    """Returns the trees that a cache knows, by path, the root first; `most` limits how many nodes are read.

    Raises `ValueError` or `IndexError` if the cache is damaged.
    """
    trees: dict[bytes, ObjectId] = {}
    above: list[tuple[bytes, int]] = [(b"", 1)] if cache else []
    at = nodes = 0
    while above and nodes != most:
        prefix, left = above.pop()
        if left > 1:
            above.append((prefix, left - 1))
        end = cache.index(0, at)
        path, line = prefix + cache[at:end], cache.index(b"\n", end)
        count, inside = map(int, cache[end + 1 : line].split(b" "))
        at, nodes = line + 1, nodes + 1
        if count >= 0:
            trees[path] = cache[at : at + _ID_BYTES]
            at += _ID_BYTES
        if inside:
            above.append((path + b"/" if path else b"", inside))
    return trees


def staged(
    index: GitIndex,
    cached: Mapping[bytes, ObjectId],
    head: ObjectId | None,
    read_tree: Callable[[ObjectId], tuple[TreeEntry, ...]],
) -> Staged:
    """Compares an index with the tree of `HEAD`, None for no commit; skips directories that the index knows unchanged.

    Raises as `read_tree`.
    """
    # a sparse index has an entry for a whole directory
    sparse = {path: head[40:60] for path, head in zip(index.paths, index.heads, strict=True) if path[-1:] == b"/"}
    committed: dict[bytes, tuple[int, ObjectId]] = {}
    same: list[bytes] = []
    pending = [(b"", head)] if head is not None else []
    while pending:
        prefix, tree = pending.pop()
        assert tree is not None
        for entry in read_tree(tree):
            path = prefix + entry.name
            if entry.mode != TREE:
                committed[path] = _mode(entry.mode), entry.oid
            elif entry.oid in (cached.get(path), sparse.get(path + b"/")):
                same.append(path + b"/")
            else:
                pending.append((path + b"/", entry.oid))
    staged: Staged = {}
    for path, mode, oid, stage in _entries(index, sorted(same), read_tree):
        lines = staged.setdefault(path, [])
        if stage or committed.get(path) != (mode, oid):
            lines.append((mode, oid, stage))
    staged |= {path: [(0, NO_ID, 0)] for path in committed if path not in staged}
    return {path: staged[path] for path in sorted(staged) if staged[path]}


def _entries(
    index: GitIndex, without: list[bytes], read_tree: Callable[[ObjectId], tuple[TreeEntry, ...]]
) -> Iterator[tuple[bytes, int, ObjectId, int]]:
    """Yields path, mode, id and stage of the entries that are not in some directories, which are sorted."""
    at = 0
    for prefix in [*without, b""]:
        end = bisect_left(index.paths, prefix) if prefix else len(index.paths)
        for path, head in zip(index.paths[at:end], index.heads[at:end], strict=True):
            mode, oid, flags = _ENTRY.unpack_from(head)
            if path.endswith(b"/"):
                for name, entry in files(read_tree, oid, path[:-1]):
                    yield name, _mode(entry.mode), entry.oid, 0
            elif flags & _EXTENDED and int.from_bytes(head[62:64], "big") & _INTENT_TO_ADD:
                yield path, mode, NO_ID, 0
            else:
                yield path, mode, oid, flags >> 12 & 3
        at = bisect_left(index.paths, prefix[:-1] + b"0", end) if prefix else end


def _mode(mode: int) -> int:
    """Returns the mode that the index has for one in a tree, which an old git may have written otherwise."""
    return mode if mode >> 12 != REGULAR >> 12 else EXECUTABLE if mode & 0o100 else REGULAR


def encode_staged(staged: Staged) -> bytes:
    """Encodes what is staged as input for `git update-index -z --index-info`, apart from intents to add."""
    return b"".join(
        b"%06o %s %d\t%s\0" % (mode, oid.hex().encode(), stage, path)
        for path, lines in staged.items()
        for mode, oid, stage in lines
    )


def decode_staged(data: bytes) -> Staged:
    """Decodes the result of `encode_staged`."""
    staged: Staged = {}
    for mode, oid, stage, path in _LINE.findall(data):
        staged.setdefault(path, []).append((int(mode, 8), bytes.fromhex(oid.decode()), int(stage)))
    return staged
