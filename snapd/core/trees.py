"""Walking trees of the store: what differs between two, what lies at a path, what is in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .model import EMPTY_TREE, TREE, Change, Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .model import ObjectId, RelPath, TreeEntry

    ReadTree = Callable[[ObjectId], tuple[TreeEntry, ...]]


def changes(read: ReadTree, old: ObjectId, new: ObjectId) -> Iterator[Change]:
    """What differs between two trees, ordered by path; looks only into directories that differ.

    Args:
        read: gives a tree's entries.
        old: tree id.
        new: tree id.

    Raises:
        StoreCorrupt: from `read`.
    """
    if old == new:
        return
    frames = [_pairs(read, b"", old, new)]
    while frames:
        pair = next(frames[-1], None)
        if pair is None:
            frames.pop()
            continue
        path, before, after = pair
        if (before or after).mode == TREE:  # type: ignore[union-attr]
            frames.append(_pairs(read, path, before.oid if before else None, after.oid if after else None))
        else:
            yield Change(path, _entry(before), _entry(after))


def _pairs(
    read: ReadTree, path: RelPath, old: ObjectId | None, new: ObjectId | None
) -> Iterator[tuple[RelPath, TreeEntry | None, TreeEntry | None]]:
    before, after = ({entry.sort_key: entry for entry in _read(read, oid)} for oid in (old, new))
    prefix = path + b"/" if path else b""
    for key in sorted(before.keys() | after.keys()):
        ours, theirs = before.get(key), after.get(key)
        if ours != theirs:
            yield prefix + key.rstrip(b"/"), ours, theirs


def _read(read: ReadTree, oid: ObjectId | None) -> tuple[TreeEntry, ...]:
    return () if oid is None or oid == EMPTY_TREE else read(oid)


def _entry(found: TreeEntry | None) -> Entry | None:
    return None if found is None else Entry(found.mode, found.oid)


def lookup(read: ReadTree, tree: ObjectId, path: RelPath) -> TreeEntry | None:
    """What a tree has at a path, file or directory; None where it has nothing.

    Raises:
        StoreCorrupt: from `read`.
    """
    *above, name = path.split(b"/")
    for part in above:
        below = next((entry for entry in _read(read, tree) if entry.name == part and entry.mode == TREE), None)
        if below is None:
            return None
        tree = below.oid
    return next((entry for entry in _read(read, tree) if entry.name == name), None)


def file_at(read: ReadTree, tree: ObjectId, path: RelPath) -> Entry | None:
    """The file or symlink that a tree has at a path.

    Raises:
        StoreCorrupt: from `read`.
    """
    found = lookup(read, tree, path)
    return None if found is None or found.mode == TREE else Entry(found.mode, found.oid)


def files(read: ReadTree, tree: ObjectId, below: RelPath = b"") -> Iterator[tuple[RelPath, Entry]]:
    """All files and symlinks of a tree, ordered by path.

    Args:
        read: gives a tree's entries.
        tree: where to start.
        below: the path of that tree in its snapshot.

    Raises:
        StoreCorrupt: from `read`.
    """
    for change in changes(read, EMPTY_TREE, tree):
        assert change.new is not None
        yield (below + b"/" + change.path if below else change.path), change.new
