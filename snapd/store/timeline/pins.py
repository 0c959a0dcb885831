"""The tree of an event's commit: it makes all objects of the event reachable, so that git does not drop them.

Snapshots are in it by their role (`head`, `seen.after`, ...), each with its coverage, so that `git show
<commit>:head/some/file` shows a file. The blobs of an operation's effects are in `effects`, by their ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.model import REGULAR, TREE, TreeEntry
from snapd.core.timeline.model import Kept, Operated
from snapd.store.objects.codec import encode_tree, object_id

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from snapd.core.model import ObjectId, RelPath
    from snapd.core.timeline.model import Event, SnapshotId

EFFECTS = b"effects"
"""The directory of the blobs that an operation named."""


@attrs.frozen
class Pins:
    """The trees that keep the objects of an event.

    Attributes:
        tree: the id of the tree of its commit.
        trees: the bytes of that tree and of `effects`, by id.
        named: the objects of the event.
    """

    tree: ObjectId
    trees: Mapping[ObjectId, bytes]
    named: Collection[ObjectId]


def snapshots(event: Event) -> dict[bytes, SnapshotId]:
    """The snapshots of an event, by their role."""
    found = {
        b"head": event.head,
        b"seen.before": event.seen.before if event.seen is not None else None,
        b"seen.after": event.seen.after if event.seen is not None else None,
        b"before": event.what.before if isinstance(event.what, Operated) else None,
    }
    return {role: snapshot for role, snapshot in found.items() if snapshot is not None}


def pins(event: Event) -> Pins:
    """The trees that keep the objects of an event."""
    entries: list[TreeEntry] = []
    for role, snapshot in snapshots(event).items():
        entries += (
            TreeEntry(role, TREE, snapshot.tree),
            TreeEntry(role + b".coverage", REGULAR, snapshot.coverage),
        )
    named = {entry.oid for entry in entries}
    blobs = {oid for _, oid in effect_blobs(event)}
    named |= blobs
    trees = {}
    if blobs:
        data = encode_tree(TreeEntry(oid.hex().encode(), REGULAR, oid) for oid in blobs)
        effects = object_id("tree", data)
        trees[effects] = data
        entries.append(TreeEntry(EFFECTS, TREE, effects))
    data = encode_tree(entries)
    tree = object_id("tree", data)
    trees[tree] = data
    return Pins(tree, trees, named)


def effect_blobs(event: Event) -> Iterator[tuple[RelPath, ObjectId]]:
    """The files in the effects of an operation, with the blobs before and after; and what was kept of files."""
    if isinstance(event.what, Kept):
        for path, entry in event.what.files:
            if entry is not None:
                yield path, entry.oid
    if isinstance(event.what, Operated):
        for effects in (event.what.effects or (), *(turned.effects for turned in event.what.turned)):
            for effect in effects:
                yield from ((effect.path, entry.oid) for entry in (effect.old, effect.new) if entry is not None)
