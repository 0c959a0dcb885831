"""The tree of an event's commit: it makes everything reachable that the event names, so that no git drops any of it.

Snapshots stand in it by what they are to the event (`head`, `seen.after`, ...), each with its coverage besides, so that
`git show <commit>:head/some/file` shows a file. The blobs of an operation's effects stand by their ids in `effects`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.model import REGULAR, TREE, TreeEntry
from snapd.core.timeline.model import Operated
from snapd.store.objects.codec import encode_tree, object_id

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from snapd.core.model import ObjectId
    from snapd.core.timeline.model import Event, SnapshotId

_EFFECTS = b"effects"


@attrs.frozen
class Pins:
    """What keeps the objects of an event.

    Attributes:
        tree: the id of the tree of its commit.
        trees: that one, and one in it: by id, their bytes.
        named: the objects that the event names.
    """

    tree: ObjectId
    trees: Mapping[ObjectId, bytes]
    named: Collection[ObjectId]


def snapshots(event: Event) -> dict[bytes, SnapshotId]:
    """The snapshots that an event names, by what they are to it."""
    found = {
        b"head": event.head,
        b"seen.before": event.seen.before if event.seen is not None else None,
        b"seen.after": event.seen.after if event.seen is not None else None,
        b"before": event.what.before if isinstance(event.what, Operated) else None,
    }
    return {role: snapshot for role, snapshot in found.items() if snapshot is not None}


def pins(event: Event) -> Pins:
    """What keeps the objects of an event."""
    entries: list[TreeEntry] = []
    for role, snapshot in snapshots(event).items():
        entries += (
            TreeEntry(role, TREE, snapshot.tree),
            TreeEntry(role + b".coverage", REGULAR, snapshot.coverage),
        )
    named = {entry.oid for entry in entries}
    blobs = _effects(event)
    named |= blobs
    trees = {}
    if blobs:
        data = encode_tree(TreeEntry(oid.hex().encode(), REGULAR, oid) for oid in blobs)
        effects = object_id("tree", data)
        trees[effects] = data
        entries.append(TreeEntry(_EFFECTS, TREE, effects))
    data = encode_tree(entries)
    tree = object_id("tree", data)
    trees[tree] = data
    return Pins(tree, trees, named)


def _effects(event: Event) -> set[ObjectId]:
    if not isinstance(event.what, Operated):
        return set()
    return {
        entry.oid
        for turned in event.what.turned
        for effect in turned.effects
        for entry in (effect.old, effect.new)
        if entry is not None
    }
