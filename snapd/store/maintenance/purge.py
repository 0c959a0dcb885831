"""Takes the contents of some files out of every snapshot and every event, for a secret that was captured.

What is named is files, what goes is contents: every version that stood at one of these paths, wherever it stands. A
snapshot that held any becomes another one, with the id that git gives what is left, so that no id ever says something
else than before; its coverage tells the files as skipped, so that nothing takes them for deleted. Events follow. An
effect of an operation on such a file is forgotten, and with it how to take that back; all else is as it was.

The references move all at once, with one frame of the journal. That nothing may stay of what they held is noted before,
so that whoever opens the store after a crash goes on with that.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import attrs

from snapd.core.model import EMPTY_TREE, TREE, ObjectId, Skip, SkipReason, TreeEntry
from snapd.core.timeline.model import Operated, SnapshotId
from snapd.core.trees import files, is_among, lookup
from snapd.store.coverage import encode
from snapd.store.objects.codec import encode_tree, object_id
from snapd.store.objects.loose import object_path, pack_loose
from snapd.store.objects.pack_index import PackIndex

from .sweep import pack_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from snapd.core.call import Call
    from snapd.core.model import RelPath, Snapshot
    from snapd.core.timeline.model import Event
    from snapd.store.log import SnapshotLog
    from snapd.store.objects.codec import ObjectKind
    from snapd.store.repository import ShadowRepository
    from snapd.store.timeline import Timeline

EMPTY_BLOB: ObjectId = object_id("blob", b"")
"""A file without contents has nothing to hide, and every other empty file has the same."""

Located = tuple[tuple["RelPath", ObjectId], ...]


class PurgePlan:
    """The contents that are to go, and where they stand. For one who has the store for themselves.

    Args:
        repository: the store's.
        log: its snapshots.
        timeline: its events.
        load: gives the snapshot that an event names.
        paths: the files and directories that are named.
        call: the request.

    Attributes:
        contents: the blobs.

    Raises:
        StoreCorrupt: the store cannot be read.
        Cancelled: as asked.
    """

    def __init__(
        self,
        repository: ShadowRepository,
        log: SnapshotLog,
        timeline: Timeline,
        load: Callable[[SnapshotId], Snapshot],
        paths: Collection[RelPath],
        call: Call,
    ) -> None:
        self._repository = repository
        self._log = log
        self._timeline = timeline
        self._load = load
        self._call = call
        self._located: dict[ObjectId, Located] = {}
        self._left: dict[ObjectId, ObjectId] = {}
        self._paths: frozenset[RelPath] = frozenset()
        self._changed: dict[SnapshotId, SnapshotId] = {}
        self._objects: dict[ObjectId, bytes] = {}
        self._roots = {tree for _, (_, tree, _) in log.roots_by_seq()} | self._trees_of_events()
        self.contents = frozenset(self._contents_at(paths)) - {EMPTY_BLOB}

    def versions_by_path(self) -> dict[RelPath, frozenset[ObjectId]]:
        """All paths where they stand in any snapshot or event, with the versions there."""
        found: dict[RelPath, set[ObjectId]] = {}
        for tree in self._roots:
            for path, oid in self.located(tree):
                found.setdefault(path, set()).add(oid)
        for path, oid in self._timeline.blobs():
            if oid in self.contents:
                found.setdefault(path, set()).add(oid)
        return {path: frozenset(found[path]) for path in sorted(found)}

    def snapshots(self) -> int:
        """How many recorded snapshots have any of them."""
        return sum(bool(self.located(tree)) for _, (_, tree, _) in self._log.roots_by_seq())

    def located(self, tree: ObjectId) -> Located:
        """Where they stand in a tree."""
        for below in self._bottom_up(tree, self._located):
            found: list[tuple[RelPath, ObjectId]] = []
            for entry in self._entries(below):
                if entry.mode == TREE:
                    found += [(entry.name + b"/" + path, oid) for path, oid in self._located[entry.oid]]
                elif entry.oid in self.contents:
                    found.append((entry.name, entry.oid))
            self._located[below] = tuple(found)
        return self._located[tree]

    def is_in_any(self, path: RelPath) -> bool:
        """Whether a file or directory is in any snapshot, or in what an event is about, with contents or without."""
        return any(lookup(self._repository.entry_in, tree, path) is not None for tree in self._roots) or any(
            is_among(file, (path,)) for file, _ in self._timeline.blobs()
        )

    def is_linked(self) -> bool:
        """Whether a file of the store has any of them that the user's own git has too: there they stay."""
        for name in pack_names(self._repository.pack_directory):
            self._call.check()
            path = os.path.join(self._repository.pack_directory, name)
            index = PackIndex.load(f"{path}.idx", f"{path}.pack")
            if index is not None and index.among(self.contents) and os.stat(f"{path}.pack").st_nlink > 1:
                return True
        for oid in self.contents:
            self._call.check()
            path = object_path(self._repository.objects, oid)
            if os.path.exists(path) and os.stat(path).st_nlink > 1:
                return True
        return False

    def take_out(self) -> None:
        """Has the references of snapshots and events move to where they are without them, durably and all at once.

        Raises:
            StoreCorrupt: the store cannot be read; nothing moved.
            StorageFull, IoError: nothing moved.
        """
        self._paths = frozenset(self.versions_by_path())
        days, commits = self._log.rewritten(self._snapshot)
        chains, objects = self._timeline.rewritten(self._event)
        made = {object_id("commit", data): pack_loose("commit", data) for data in commits}
        journal = self._repository.journal
        for part in (self._objects, made, objects):
            journal.add(part)
        journal.flush({**days, **chains})

    # -- what goes

    def _trees_of_events(self) -> set[ObjectId]:
        _, chains, _ = self._timeline.history()
        return {tree for chain in chains for tree in chain.trees}

    def _contents_at(self, paths: Collection[RelPath]) -> Iterator[ObjectId]:
        seen: set[ObjectId] = set()
        for tree in self._roots:
            self._call.check()
            for path in paths:
                entry = lookup(self._repository.entry_in, tree, path)
                if entry is None or entry.oid in seen:
                    continue
                seen.add(entry.oid)
                if entry.mode != TREE:
                    yield entry.oid
                else:
                    yield from (file.oid for _, file in files(self._repository.read_tree, entry.oid))
        yield from (oid for path, oid in self._timeline.blobs() if is_among(path, paths))

    def _entries(self, tree: ObjectId) -> tuple[TreeEntry, ...]:
        return () if tree == EMPTY_TREE else self._repository.read_tree(tree)

    # -- what is left

    def _without(self, tree: ObjectId) -> ObjectId:
        """The tree without them; a directory goes that had nothing else."""
        for whole in self._bottom_up(tree, self._left):
            if not self.located(whole):
                self._left[whole] = whole
                continue
            left = []
            for entry in self._entries(whole):
                if entry.mode == TREE:
                    below = self._left[entry.oid]
                    if below != EMPTY_TREE:
                        left.append(attrs.evolve(entry, oid=below))
                elif entry.oid not in self.contents:
                    left.append(entry)
            self._left[whole] = self._add("tree", encode_tree(left)) if left else EMPTY_TREE
        return self._left[tree]

    def _bottom_up(self, tree: ObjectId, known: Mapping[ObjectId, Any]) -> Iterator[ObjectId]:
        """The trees below one, and itself, that are not known yet: each after those below it, which are known then."""
        pending = [tree]
        while pending:
            below = pending[-1]
            if below in known:
                pending.pop()
                continue
            unknown = [entry.oid for entry in self._entries(below) if entry.mode == TREE and entry.oid not in known]
            if unknown:
                pending += unknown
                continue
            self._call.check()
            yield pending.pop()

    def _snapshot(self, snapshot: SnapshotId) -> SnapshotId:
        known = self._changed.get(snapshot)
        if known is None:
            known = snapshot
            coverage = self._load(snapshot).coverage
            gone = self.located(snapshot.tree)
            # what had them captured though they are ignored would have them captured again
            forced = tuple(path for path in coverage.forced if not any(is_among(file, (path,)) for file in self._paths))
            if gone or forced != coverage.forced:
                skipped = {skip.path: skip for skip in coverage.skipped}
                skipped |= {path: Skip(path, SkipReason.PURGED) for path, _ in gone}
                coverage = attrs.evolve(
                    coverage, skipped=tuple(skipped[path] for path in sorted(skipped)), forced=forced
                )
                known = SnapshotId(self._without(snapshot.tree), self._add("blob", encode(coverage)))
            self._changed[snapshot] = known
        return known

    def _event(self, event: Event) -> Event:
        seen, what = event.seen, event.what
        if seen is not None:
            seen = attrs.evolve(seen, before=self._snapshot(seen.before), after=self._snapshot(seen.after))
        if isinstance(what, Operated):
            turned = tuple(
                attrs.evolve(
                    turn,
                    effects=tuple(
                        effect
                        for effect in turn.effects
                        if not {entry.oid for entry in (effect.old, effect.new) if entry is not None} & self.contents
                    ),
                )
                for turn in what.turned
            )
            what = attrs.evolve(what, before=self._snapshot(what.before), turned=turned)
        head = self._snapshot(event.head) if event.head is not None else None
        return attrs.evolve(event, head=head, seen=seen, what=what)

    def _add(self, kind: ObjectKind, data: bytes) -> ObjectId:
        oid = object_id(kind, data)
        self._objects[oid] = pack_loose(kind, data)
        return oid
