"""Decides which files git brought: a checkout, a pull or a rebase in a step writes what others wrote before."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache

import attrs

from snapd.model.errors import StoreCorrupt
from snapd.model.git import STASH, GitStateId
from snapd.model.snapshot import EMPTY_TREE, Change, Entry, ObjectId, RelPath, TreeEntry
from snapd.model.timeline import Event, Operated, SnapshotId, Span, StepId
from snapd.model.trees import changes, file_at
from snapd.store.adopt import PACKED_BYTES, ProjectBlobs
from snapd.store.object_store import ObjectStore
from snapd.store.objects.codec import decode_tree
from snapd.worktree.git.repository import own_object_directories

from .change import GitState
from .plan import stash_entries

_LINE = re.compile(rb"^(tree|parent|author|committer) (.+)$", re.MULTILINE)
_TIME = re.compile(rb" (\d+) [+-]\d+$")
_REMEMBERED = 64
"""For how many spans the files are remembered."""


@attrs.frozen
class _Commit:
    oid: ObjectId
    tree: ObjectId
    parents: tuple[ObjectId, ...]
    author: bytes  # with the date
    authored: int  # in seconds since 1970
    committed: int


class BroughtFiles:
    """Finds the files that git brought in a step; `began` returns when the first of some steps began."""

    def __init__(
        self, root: bytes, objects: ObjectStore, kept: str, began: Callable[[Collection[StepId]], int]
    ) -> None:
        self._root, self._objects, self._kept, self._began = root, objects, os.fsencode(kept), began
        self._cached = lru_cache(_REMEMBERED)(self._brought)

    def before(self, event: Event) -> frozenset[RelPath]:
        """Returns the files that git brought between the event before and this one; see `within`."""
        # what an operation did itself is not what was seen before it
        turned = event.what.git if isinstance(event.what, Operated) else None
        return self.within(event.seen, event.git if turned is None else turned.before)

    def within(self, span: Span | None, after: GitStateId | None) -> frozenset[RelPath]:
        """Returns the files that git brought in a span; none if no step was at work. `after` is the git state then.

        A file counts if its new content is that of a commit which existed before the steps began and which `HEAD`
        reached, or of a stash entry that was popped; and if its old content was committed. Raises `IoError`.
        """
        if span is None or span.git is None or after is None or not span.steps:
            return frozenset()
        return self._cached(span.before, span.after, span.git, after, self._began(span.steps))

    def _brought(
        self, old: SnapshotId, new: SnapshotId, before: GitStateId, after: GitStateId, began: int
    ) -> frozenset[RelPath]:
        blobs = ProjectBlobs([self._kept, *own_object_directories(self._root)])
        return _Move(self._objects, blobs, before, after, began).brought(self._objects.changes(old, new))


class _Move:
    """A change of the git state by steps of which the first began at `began`, in milliseconds since 1970."""

    def __init__(
        self, objects: ObjectStore, blobs: ProjectBlobs, before: GitStateId, after: GitStateId, began: int
    ) -> None:
        self._objects, self._blobs, self._began = objects, blobs, began
        self._before, self._after = GitState(objects, before), GitState(objects, after)
        self._trees: dict[ObjectId, dict[bytes, TreeEntry]] = {}

    def brought(self, changed: Iterable[Change]) -> frozenset[RelPath]:
        """Returns those of some changed files that git brought."""
        reached = [commit.tree for commit in self._reached()]
        popped = [tree for oid in self._stashed(self._before, self._after) for tree in self._stash_trees(oid)]
        if not reached and not popped:
            return frozenset()
        return frozenset(
            change.path
            for change in changed
            if self._are_any(reached + (popped if change.new is not None else popped[:1]), change.path, change.new)
            and self._are_any(self._committed, change.path, change.old)
        )

    def _reached(self) -> Iterator[_Commit]:
        """Yields the commits that `HEAD` reached: from its own back to the first that existed before the steps."""
        start = self._head_before
        waiting = [self._head(self._after)]
        passed = {None if start is None else start.oid}
        while waiting:
            commit = waiting.pop()
            if commit is None or commit.oid in passed:
                continue
            passed.add(commit.oid)
            if self._existed(commit):
                yield commit
                continue
            # a rebased commit is older than the steps; so is one with more in it by `commit --amend`, which is theirs
            if self._is_past(commit.authored) and not (
                start is not None and (commit.author, commit.parents) == (start.author, start.parents)
            ):
                yield commit
            waiting += map(self._commit, commit.parents)

    @cached_property
    def _committed(self) -> list[ObjectId]:
        """The trees of the commits and stash entries that may have the files as they were before."""
        commits = [self._head_before]
        commits += [self._commit(oid) for name, oid in self._refs(self._after) if self._before_refs.get(name) != oid]
        trees = [commit.tree for commit in commits if commit is not None]
        return trees + [tree for oid in self._stashed(self._after, self._before) for tree in self._stash_trees(oid)]

    # -- commits

    def _existed(self, commit: _Commit) -> bool:
        return self._is_past(commit.committed) or commit.oid in self._recent

    def _is_past(self, seconds: int) -> bool:
        return (seconds + 1) * 1000 <= self._began

    @cached_property
    def _recent(self) -> set[ObjectId]:
        """The commits that the state before has, without those that are surely older than the steps."""
        recent: set[ObjectId] = set()
        waiting = [self._head_before, *map(self._commit, self._before_refs.values())]
        while waiting:
            commit = waiting.pop()
            if commit is not None and commit.oid not in recent and not self._is_past(commit.committed):
                recent.add(commit.oid)
                waiting += map(self._commit, commit.parents)
        return recent

    @cached_property
    def _head_before(self) -> _Commit | None:
        return self._head(self._before)

    @cached_property
    def _before_refs(self) -> dict[bytes, ObjectId]:
        return dict(self._refs(self._before))

    def _head(self, state: GitState) -> _Commit | None:
        value: str | None = state.head
        if value is not None and value.startswith("refs/"):
            value = state.ref(value.encode())
        return self._commit(_oid(value))

    def _refs(self, state: GitState) -> Iterator[tuple[bytes, ObjectId]]:
        loose = (each.path for each in changes(self._objects.read_tree, EMPTY_TREE, state.tree))
        names = {name for name in loose if name.startswith(b"refs/") and name != STASH.encode()} | state.packed.keys()
        for name in sorted(names):
            oid = _oid(state.ref(name))
            if oid is not None:
                yield name, oid

    def _stashed(self, state: GitState, other: GitState) -> list[ObjectId]:
        """Returns the stash entries that one state has and the other has not."""
        there = {line.split(b" ")[1] for line in stash_entries(other)}
        names = (line.split(b" ")[1] for line in stash_entries(state))
        return [bytes.fromhex(name.decode()) for name in names if name not in there]

    def _stash_trees(self, oid: ObjectId) -> Iterator[ObjectId]:
        commit = self._commit(oid)
        if commit is not None:
            # the third parent has the files that git did not track
            untracked = [found for parent in commit.parents[2:] if (found := self._commit(parent)) is not None]
            yield from (each.tree for each in (commit, *untracked))

    def _commit(self, oid: ObjectId | None) -> _Commit | None:
        data = None if oid is None else self._blobs.read(oid, PACKED_BYTES, "commit")
        if oid is None or data is None:
            return None
        lines = _LINE.findall(data.partition(b"\n\n")[0])
        values = dict(reversed(lines))
        times = [_TIME.search(values.get(name, b"")) for name in (b"author", b"committer")]
        if b"tree" not in values or None in times:
            return None
        authored, committed = (int(time[1]) for time in times if time is not None)
        parents = tuple(bytes.fromhex(value.decode()) for name, value in lines if name == b"parent")
        return _Commit(oid, bytes.fromhex(values[b"tree"].decode()), parents, values[b"author"], authored, committed)

    # -- files

    def _are_any(self, trees: Iterable[ObjectId], path: RelPath, file: Entry | None) -> bool:
        """Whether one of some trees has a file, or has none, at a path; not if the tree cannot be read."""
        for tree in trees:
            with suppress(StoreCorrupt):
                if file_at(self._entry, tree, path) == file:
                    return True
        return False

    def _entry(self, tree: ObjectId, name: bytes) -> TreeEntry | None:
        if tree not in self._trees:
            data = self._blobs.read(tree, PACKED_BYTES, "tree")
            if data is None:
                raise StoreCorrupt(f"tree {tree.hex()} of the project is missing", object=tree.hex())
            self._trees[tree] = {entry.name: entry for entry in decode_tree(data, tree)}
        return self._trees[tree].get(name)


def _oid(value: str | None) -> ObjectId | None:
    return bytes.fromhex(value) if value is not None and re.fullmatch("[0-9a-f]{40}", value) else None
