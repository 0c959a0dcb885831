"""Which files git itself put into the folder: by a checkout, a pull, a merge, a rebase, or from the stash."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property

import attrs

from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import Change, Entry, ObjectId, RelPath, TreeEntry
from snapd.model.trees import file_at
from snapd.store.adopt import PACKED_BYTES, ProjectBlobs
from snapd.store.objects.codec import decode_tree

from .change import GitState
from .plan import commit_of, stash_entries

_LINE = re.compile(rb"^(tree|parent|author|committer) (.+)$", re.MULTILINE)
_TIME = re.compile(rb" (\d+) [+-]\d+$")


def brought_by_git(
    blobs: ProjectBlobs, before: GitState, after: GitState, started: int, changed: Iterable[Change]
) -> tuple[RelPath, ...]:
    """Returns which changes of files are git's, ordered.

    The new content is that of a commit which existed before, and which `HEAD` reached, or of an entry that left the
    stash; and the old content was committed. A commit that is older than the step by its author's date existed before,
    also if it was made anew, as a rebase does.

    Args:
        blobs: reads the objects of the project.
        before: the git state before the files changed.
        after: the git state after that.
        started: when the first step at work began, in milliseconds since 1970.
        changed: what changed meanwhile.
    """
    return tuple(sorted(_Move(blobs, before, after, started).brought(changed)))


@attrs.frozen
class _Commit:
    oid: ObjectId
    tree: ObjectId
    parents: tuple[ObjectId, ...]
    author: bytes  # with the date
    authored: int  # in seconds since 1970
    committed: int


class _Move:
    """A change of the git state by steps of which the first began at `began`, in milliseconds since 1970."""

    def __init__(self, blobs: ProjectBlobs, before: GitState, after: GitState, began: int) -> None:
        self._blobs, self._before, self._after, self._began = blobs, before, after, began
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
        commits += [self._commit(_oid(self._after.ref(name))) for name in self._before.refs_changed(self._after)]
        trees = [commit.tree for commit in commits if commit is not None]
        return trees + [tree for oid in self._stashed(self._after, self._before) for tree in self._stash_trees(oid)]

    # -- commits

    def _existed(self, commit: _Commit) -> bool:
        # clocks differ between machines, and git's dates are in seconds
        if self._is_past(commit.committed) or commit.oid in self._recent:
            return True
        return self._before.has_ref_to(commit.oid)

    def _is_past(self, seconds: int) -> bool:
        return (seconds + 1) * 1000 <= self._began

    @cached_property
    def _recent(self) -> set[ObjectId]:
        """The commits below `HEAD` before, without those that are surely older than the steps."""
        recent: set[ObjectId] = set()
        waiting = [self._head_before]
        while waiting:
            commit = waiting.pop()
            if commit is not None and commit.oid not in recent and not self._is_past(commit.committed):
                recent.add(commit.oid)
                waiting += map(self._commit, commit.parents)
        return recent

    @cached_property
    def _head_before(self) -> _Commit | None:
        return self._head(self._before)

    def _head(self, state: GitState) -> _Commit | None:
        return self._commit(_oid(commit_of(state)))

    def _stashed(self, state: GitState, other: GitState) -> list[ObjectId]:
        """Returns the stash entries that one state has and the other has not."""
        there = {line.split(b" ")[1] for line in stash_entries(other)}
        names = (line.split(b" ")[1] for line in stash_entries(state))
        return [bytes.fromhex(name.decode()) for name in names if name not in there]

    def _stash_trees(self, oid: ObjectId) -> Iterator[ObjectId]:
        commit = self._commit(oid)
        if commit is not None:
            # the third parent has the files that git did not track
            untracked = [each for parent in commit.parents[2:] if (each := self._commit(parent)) is not None]
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
