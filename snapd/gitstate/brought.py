"""Which files git itself put into the folder: by a checkout, a pull, a merge, a rebase, or from the stash."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush

import attrs

from snapd.model.snapshot import Change, ObjectId, RelPath
from snapd.store.adopt import PACKED_BYTES, ProjectBlobs

from .change import GitState
from .plan import commit_of, stash_entries

_MOST_COMMITS = 1000
"""How many commits that `HEAD` reached are looked at, the newest first."""
_TIME = re.compile(rb"^(author|committer) .*> (\d+) [-+]\d{4}$", re.MULTILINE)
_PARENT = re.compile(rb"^parent ([0-9a-f]{40})$", re.MULTILINE)


@attrs.frozen
class _Commit:
    oid: ObjectId
    parents: tuple[ObjectId, ...]
    authored: int  # in seconds since 1970, as is `committed`
    committed: int


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
    commits = _Commits(blobs)
    old, new = (commits.read(commit_of(state)) for state in (before, after))
    sources = [(each.oid, False) for each in commits.reached(old, new) if each.authored < started // 1000]
    gone = set(stash_entries(before)) - set(stash_entries(after))
    sources += [(bytes.fromhex(line[41:81].decode()), True) for line in sorted(gone)]
    if not sources:
        return ()
    left = {change.path: change for change in changed}
    committed = {} if old is None else blobs.files_at(old.oid, left, is_stash=False)
    left = {path: change for path, change in left.items() if change.old in (None, committed.get(path))}
    result: set[RelPath] = set()
    for oid, is_stash in sources:
        there = blobs.files_at(oid, left, is_stash=is_stash)
        same = {path for path, change in left.items() if change.new == there.get(path)}
        result |= same
        left = {path: change for path, change in left.items() if path not in same}
    return tuple(sorted(result))


class _Commits:
    def __init__(self, blobs: ProjectBlobs) -> None:
        self._blobs = blobs

    def read(self, oid: str | ObjectId | None) -> _Commit | None:
        """Returns a commit; None if it is missing."""
        if not oid:
            return None
        name = bytes.fromhex(oid) if isinstance(oid, str) else oid
        data = self._blobs.read(name, PACKED_BYTES, "commit")
        if data is None:
            return None
        head = data.partition(b"\n\n")[0]
        times: Mapping[bytes, bytes] = dict(_TIME.findall(head))
        parents = tuple(bytes.fromhex(parent.decode()) for parent in _PARENT.findall(head))
        return _Commit(name, parents, int(times.get(b"author", 0)), int(times.get(b"committer", 0)))

    def reached(self, old: _Commit | None, new: _Commit | None) -> Iterator[_Commit]:
        """Yields the commits that `HEAD` reached on its way from one to another, the newest first."""
        if new is None or new == old:
            return
        # an amended commit keeps the date of its author, but what is new in it is the agent's
        if old is None or (new.parents, new.authored) != (old.parents, old.authored):
            yield new
        queue: list[tuple[int, ObjectId, bool]] = []
        seen: dict[ObjectId, bool] = {}

        def visit(commit: _Commit | None, *, is_old: bool) -> None:
            if commit is not None and seen.get(commit.oid) is not True and seen.get(commit.oid) != is_old:
                seen[commit.oid] = is_old
                heappush(queue, (-commit.committed, commit.oid, is_old))

        visit(old, is_old=True)
        visit(new, is_old=False)
        for _ in range(_MOST_COMMITS):
            if all(is_old for _, _, is_old in queue):
                return
            _, oid, is_old = heappop(queue)
            is_old = is_old or seen[oid]
            commit = self.read(oid)
            if commit is None:
                continue
            if not is_old and oid != new.oid:
                yield commit
            for parent in commit.parents:
                visit(self.read(parent), is_old=is_old)
