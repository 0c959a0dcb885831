"""Removes the contents of some files from every snapshot and every event, such as a secret that was captured.

Every version ever at one of the given paths is removed, wherever it is. A snapshot with it is replaced by one without,
with the id that git gives to the new tree, so an id never changes its meaning; its coverage lists the file as skipped,
so that it does not count as deleted. Events are changed accordingly: the effects on such files are dropped, and how to
undo them. The texts of messages are removed in the same way.

All references move at once, with one frame of the journal. Before that, a note says that none of the old objects may
stay, so that the next opening after a crash goes on with the sweep.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import attrs

from snapd.model.call import Call
from snapd.model.git import STAGED, GitStateId
from snapd.model.snapshot import EMPTY_TREE, TREE, ObjectId, RelPath, Skip, SkipReason, TreeEntry
from snapd.model.timeline import (
    Commented,
    CommentId,
    Effect,
    Event,
    Informed,
    Kept,
    MessageSent,
    Operated,
    Recorded,
    Replied,
    SnapshotId,
    StepBegun,
    StepEnded,
    StepId,
)
from snapd.model.trees import files, is_among, lookup
from snapd.store.coverage import encode
from snapd.store.objects.codec import ObjectKind, encode_tree, object_id
from snapd.store.objects.loose import encode_loose, object_path
from snapd.store.objects.pack_index import PackIndex
from snapd.store.repository import ShadowRepository
from snapd.store.timeline.chain import snapshots
from snapd.store.timeline.timeline import Timeline

from .sweep import pack_names

EMPTY_BLOB: ObjectId = object_id("blob", b"")
"""An empty file has nothing to hide, and all empty files share this blob, so it is never purged."""

Located = tuple[tuple["RelPath", ObjectId], ...]


class PurgePlan:
    """The contents to purge, and where they are. Nothing else may use the store meanwhile.

    `paths` are files and directories; `messages` lose their texts, and the descriptions and commands of their steps;
    `comments` lose theirs, and those of their replies.
    """

    def __init__(
        self,
        repository: ShadowRepository,
        timeline: Timeline,
        paths: Collection[RelPath],
        messages: Collection[str],
        call: Call,
        *,
        comments: Collection[CommentId] = (),
    ) -> None:
        self._repository = repository
        self._timeline = timeline
        self._messages, self._comments = frozenset(messages), frozenset(comments)
        self._silenced: set[StepId] = set()
        self._call = call
        self._located: dict[ObjectId, Located] = {}
        self._left: dict[ObjectId, ObjectId] = {}
        self._paths: frozenset[RelPath] = frozenset()
        self._changed: dict[SnapshotId, SnapshotId] = {}
        self._objects: dict[ObjectId, bytes] = {}
        self._roots = {result.tree for event in timeline.all_events() for result in snapshots(event).values()}
        self.contents = frozenset(self._contents_at(paths)) - {EMPTY_BLOB}

    def versions_by_path(self) -> dict[RelPath, frozenset[ObjectId]]:
        """Returns all paths of the contents in any snapshot or event, ordered, with the versions at each path."""
        result: dict[RelPath, set[ObjectId]] = {}
        for tree in self._roots:
            for path, oid in self.located(tree):
                result.setdefault(path, set()).add(oid)
        for path, oid in self._timeline.blobs():
            if oid in self.contents:
                result.setdefault(path, set()).add(oid)
        return {path: frozenset(result[path]) for path in sorted(result)}

    def snapshots(self) -> int:
        """The number of recorded snapshots that have such a blob."""
        return sum(bool(self.located(taken.tree)) for taken in self._timeline.inventory().snapshots)

    def located(self, tree: ObjectId) -> Located:
        """Returns the paths of a tree that have such a blob, each with it."""
        for below in self._bottom_up(tree, self._located):
            matches: list[tuple[RelPath, ObjectId]] = []
            for entry in self._entries(below):
                if entry.mode == TREE:
                    matches += [(entry.name + b"/" + path, oid) for path, oid in self._located[entry.oid]]
                elif entry.oid in self.contents:
                    matches.append((entry.name, entry.oid))
            self._located[below] = tuple(matches)
        return self._located[tree]

    def known_messages(self) -> frozenset[str]:
        """Those of the messages that an event names."""
        events = (event.what for event in self._timeline.all_events())
        named = {what.message_id for what in events if isinstance(what, MessageSent | StepBegun)}
        return frozenset(message for message in self._messages if message in named)

    def known_comments(self) -> frozenset[CommentId]:
        """Those of the comments that an event makes."""
        made = (event.what for event in self._timeline.all_events() if isinstance(event.what, Commented))
        return self._comments & {what.comment_id for what in made}

    def is_in_any(self, path: RelPath) -> bool:
        """Whether any snapshot or event has this file or directory, even an empty one."""
        return any(lookup(self._repository.entry_in, tree, path) is not None for tree in self._roots) or any(
            is_among(file, (path,)) for file, _ in self._timeline.blobs()
        )

    def is_linked(self) -> bool:
        """Whether the user's own git shares a file of the store with such a blob: there it stays."""
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
        """Moves the references to snapshots and events without these blobs, durably, all or none."""
        self._paths = frozenset(self.versions_by_path())
        chains, objects = self._timeline.rewritten(self._event)
        self._repository.journal.add({**self._objects, **objects})
        self._repository.journal.flush(chains)

    # -- what to purge

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
        if paths:
            yield from (oid for path, oid in self._timeline.blobs() if is_among(path, paths))

    def _entries(self, tree: ObjectId) -> tuple[TreeEntry, ...]:
        return () if tree == EMPTY_TREE else self._repository.read_tree(tree)

    # -- what stays

    def _without(self, tree: ObjectId) -> ObjectId:
        """Returns a tree without these blobs; a directory that becomes empty goes too."""
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
        """Yields the trees in a tree, and itself, that are not in `known`; each comes after the trees in it."""
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
            coverage = self._repository.load(snapshot).coverage
            gone = self.located(snapshot.tree)
            # a forced path would capture an ignored file again
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
            git = self._git(seen.git)
            seen = attrs.evolve(seen, before=self._snapshot(seen.before), after=self._snapshot(seen.after), git=git)
        if isinstance(what, Operated):
            turned = tuple(attrs.evolve(turn, effects=self._effects(turn.effects)) for turn in what.turned)
            effects = None if what.effects is None else self._effects(what.effects)
            after = None if what.after is None else self._snapshot(what.after)
            before = self._snapshot(what.before)
            what = attrs.evolve(what, before=before, after=after, turned=turned, effects=effects)
        elif isinstance(what, Recorded):
            what = attrs.evolve(what, snapshot=self._snapshot(what.snapshot))
        elif isinstance(what, Kept):
            kept = (file for file in what.files if file[1] is None or file[1].oid not in self.contents)
            what = attrs.evolve(what, files=tuple(kept))
        elif isinstance(what, Informed):
            seen_files = (file for file in what.files if file[1] is None or file[1].oid not in self.contents)
            what = attrs.evolve(what, files=tuple(seen_files))
        elif isinstance(what, Commented | Replied):
            if what.comment_id in self._comments and what.text is not None:
                what = attrs.evolve(what, text="")
            if isinstance(what, Commented) and what.entry is not None and what.entry.oid in self.contents:
                what = attrs.evolve(what, entry=None)
        elif isinstance(what, MessageSent) and what.message_id in self._messages:
            what = attrs.evolve(what, text=None)
        elif isinstance(what, StepBegun) and what.message_id in self._messages:
            self._silenced.add(what.step_id)
            what = attrs.evolve(what, description=None, command=None)
        elif isinstance(what, StepEnded) and what.step_id in self._silenced:
            # events come in their order
            what = attrs.evolve(what, description=None)
        head = self._snapshot(event.head) if event.head is not None else None
        return attrs.evolve(event, head=head, seen=seen, what=what, git=self._git(event.git))

    def _git(self, state: GitStateId | None) -> GitStateId | None:
        if state is None:
            return None
        entries = {entry.name: entry for entry in self._entries(self._without(state.tree))}
        if (staged := entries.get(STAGED)) is not None:
            # its lines name blobs
            lines = self._repository.read_blob(staged.oid).split(b"\0")
            left = [line for line in lines if not any(oid.hex().encode() in line for oid in self.contents)]
            if len(left) < len(lines):
                entries[STAGED] = attrs.evolve(staged, oid=self._add("blob", b"\0".join(left)))
                return GitStateId(self._add("tree", encode_tree(entries.values())))
        return GitStateId(self._without(state.tree))

    def _effects(self, effects: Iterable[Effect]) -> tuple[Effect, ...]:
        return tuple(
            effect
            for effect in effects
            if not {entry.oid for entry in (effect.old, effect.new) if entry is not None} & self.contents
        )

    def _add(self, kind: ObjectKind, data: bytes) -> ObjectId:
        oid = object_id(kind, data)
        self._objects[oid] = encode_loose(kind, data)
        return oid
