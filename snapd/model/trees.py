"""Walks trees of the store: the differences between two trees, the entry at a path, the files of a tree."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter

from snapd.model.paths import parents
from snapd.model.snapshot import EMPTY_TREE, TREE, Change, Entry, ObjectId, RelPath, TreeEntry

ReadTree = Callable[[ObjectId], tuple[TreeEntry, ...]]
Find = Callable[[ObjectId, bytes], TreeEntry | None]
Differing = Callable[[ObjectId, ObjectId], Iterable[tuple[TreeEntry | None, TreeEntry | None]]]


def changes(
    read: ReadTree,
    old: ObjectId,
    new: ObjectId,
    *,
    after: RelPath | None = None,
    only: Collection[RelPath] = (),
    differing: Differing | None = None,
) -> Iterator[Change]:
    """Yields the differences between two trees, ordered by path; reads only directories that differ and match `only`.

    `after` is where an earlier walk ended: what is at this path or before it is skipped. `only` are files or
    directories, empty for all. `differing` is a faster way than `read` to compare two trees, if there is one. Raises as
    these.

    Paths are ordered as bytes, which is git's order of a tree, where the name of a directory ends in a slash.
    """
    if old == new:
        return
    asked = frozenset(only)
    ways = frozenset(way for path in asked for way in parents(path))
    compare = differing or partial(_compare, read)
    frames = [_pairs(read, compare, b"", old, new, after)]
    while frames:
        pair = next(frames[-1], None)
        if pair is None:
            frames.pop()
            continue
        path, before, behind = pair
        among = is_among(path, asked)
        if (before or behind).mode != TREE:  # type: ignore[union-attr]
            if among:
                yield Change(path, _entry(before), _entry(behind))
        elif among or path in ways:
            below = (before.oid if before is not None else None, behind.oid if behind is not None else None)
            frames.append(_pairs(read, compare, path, *below, after))


def drop_out_of_sight(
    matches: Iterable[Change], went: Mapping[RelPath, ObjectId], came: Mapping[RelPath, ObjectId]
) -> Iterator[Change]:
    """Drops changes of files that only became ignored (`went`), or came back unchanged (`came`)."""
    for change in matches:
        if change.new is None:
            if change.path in went or any(went.get(above) == b"" for above in parents(change.path)):
                continue
        elif change.old is None and came.get(change.path) == change.new.oid:
            continue
        yield change


def is_among(path: RelPath, only: Collection[RelPath]) -> bool:
    """Returns whether a path is one of `only` or below one of them; an empty `only` stands for all paths."""
    return not only or path in only or any(above in only for above in parents(path))


def _pairs(
    read: ReadTree,
    compare: Differing,
    path: RelPath,
    old: ObjectId | None,
    new: ObjectId | None,
    after: RelPath | None,
) -> Iterator[tuple[RelPath, TreeEntry | None, TreeEntry | None]]:
    """Yields the differences in one directory after a path, in git's order."""
    matches: Iterable[tuple[TreeEntry | None, TreeEntry | None]]
    if old is not None and new is not None and EMPTY_TREE not in (old, new):
        matches = compare(old, new)
    else:
        matches = [*((entry, None) for entry in _read(read, old)), *((None, entry) for entry in _read(read, new))]
    prefix = path + b"/" if path else b""
    keyed = [((before or behind).sort_key, before, behind) for before, behind in matches]  # type: ignore[union-attr]
    if after is not None:
        keyed = [one for one in keyed if not _is_passed(prefix + one[0], after)]
    for key, before, behind in sorted(keyed, key=itemgetter(0)):
        yield prefix + key.rstrip(b"/"), before, behind


def _compare(read: ReadTree, old: ObjectId, new: ObjectId) -> list[tuple[TreeEntry | None, TreeEntry | None]]:
    before, behind = ({entry.sort_key: entry for entry in read(oid)} for oid in (old, new))
    pairs = [(before.get(key), behind.get(key)) for key in before.keys() | behind.keys()]
    return [(ours, theirs) for ours, theirs in pairs if ours != theirs]


def _is_passed(name: bytes, after: RelPath) -> bool:
    """Returns whether a file, or a whole directory (the name ends in a slash), is at a path or before it."""
    return name <= after and not (name.endswith(b"/") and after.startswith(name))


def _read(read: ReadTree, oid: ObjectId | None) -> tuple[TreeEntry, ...]:
    return () if oid is None or oid == EMPTY_TREE else read(oid)


def _entry(tree_entry: TreeEntry | None) -> Entry | None:
    return None if tree_entry is None else Entry(tree_entry.mode, tree_entry.oid)


def lookup(find: Find, tree: ObjectId, path: RelPath) -> TreeEntry | None:
    """Returns the file or directory at a path of a tree, or None. Raises as `find`."""
    *above, name = path.split(b"/")
    for part in above:
        below = find(tree, part)
        if below is None or below.mode != TREE:
            return None
        tree = below.oid
    return find(tree, name)


def file_at(find: Find, tree: ObjectId, path: RelPath) -> Entry | None:
    """Returns the file or symlink at a path of a tree, as `lookup`."""
    result = lookup(find, tree, path)
    return None if result is None or result.mode == TREE else Entry(result.mode, result.oid)


def files(
    read: ReadTree, tree: ObjectId, below: RelPath = b"", *, after: RelPath | None = None
) -> Iterator[tuple[RelPath, Entry]]:
    """Yields all files and symlinks of a tree, ordered by path; raises as `read`.

    `below` is the path of that tree in its snapshot; `after` is as in `changes`, relative to that tree.
    """
    for change in changes(read, EMPTY_TREE, tree, after=after):
        assert change.new is not None
        yield (below + b"/" + change.path if below else change.path), change.new


def count_files(read: ReadTree, tree: ObjectId) -> int:
    """Counts what `files` yields, without the paths; raises as `read`."""
    count = 0
    pending = [tree]
    while pending:
        entries = _read(read, pending.pop())
        below = [entry.oid for entry in entries if entry.mode == TREE]
        count += len(entries) - len(below)
        pending += below
    return count


def add_reachable(read: ReadTree, tree: ObjectId, object_ids: set[ObjectId], check: Callable[[], None]) -> None:
    """Adds the ids of a tree and of all its contents to `object_ids`; raises as `read`.

    A directory in `object_ids` is not read again. `check` is called before each one; it raises to stop.
    """
    waiting = [tree]
    while waiting:
        oid = waiting.pop()
        if oid in object_ids:
            continue
        object_ids.add(oid)
        check()
        for entry in read(oid) if oid != EMPTY_TREE else ():
            if entry.mode == TREE:
                waiting.append(entry.oid)
            else:
                object_ids.add(entry.oid)


def amended(
    read: ReadTree, tree: ObjectId, entries: Mapping[RelPath, Entry | None], write: Callable[[bytes], ObjectId]
) -> ObjectId:
    """Writes a tree that differs from another by these entries, None for no file; raises as `read`.

    No path leads through another. `write` stores the bytes of a tree object.
    """
    if not entries:
        return tree
    result = {entry.name: entry for entry in (read(tree) if tree != EMPTY_TREE else ())}
    below: dict[bytes, dict[RelPath, Entry | None]] = {}
    for path, entry in entries.items():
        name, slash, rest = path.partition(b"/")
        if slash:
            below.setdefault(name, {})[rest] = entry
        elif entry is None:
            result.pop(name, None)
        else:
            result[name] = TreeEntry(name, entry.mode, entry.oid)
    for name, inside in below.items():
        known = result.get(name)
        was = known.oid if known is not None and known.mode == TREE else EMPTY_TREE
        became = amended(read, was, inside, write)
        if became != EMPTY_TREE:
            result[name] = TreeEntry(name, TREE, became)
        elif known is not None and known.mode == TREE:
            del result[name]
    ordered = sorted(result.values(), key=lambda entry: entry.sort_key)
    return write(b"".join([b"%o %s\0%s" % (entry.mode, entry.name, entry.oid) for entry in ordered]))
