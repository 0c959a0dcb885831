"""Plans how a change of the git state is taken back, part by part, while what others changed since stays.

This is a three-way merge of states, like that of a file: from `base`, which a step left, to `target`, which was there
before it, onto the state as it is now. The result is a state too, so that an interrupted operation can be finished from
two states alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import attrs

from snapd.model.git import NO_GIT, STAGED, STASH, GitMove, GitStateId, LeftPart, LeftReason
from snapd.model.snapshot import EMPTY_TREE, REGULAR, Entry
from snapd.model.trees import amended, changes
from snapd.store.object_store import ObjectStore

from .change import STASH_LOG, GitState
from .index import Staged, decode_staged, encode_staged

_OPERATION = re.compile(
    rb"(?:MERGE_|CHERRY_PICK_HEAD$|REVERT_HEAD$|BISECT_|AUTO_MERGE$|rebase-merge/|rebase-apply/|sequencer/"
    rb"|refs/bisect/|refs/rewritten/)"
)
_REFS = (b"refs/heads/", b"refs/tags/")
_STASH = STASH.encode()


@attrs.frozen
class GitPlan:
    """What the git state is to become; `left` says which parts of the change stay, and why."""

    now: GitStateId
    wanted: GitStateId
    left: tuple[LeftPart, ...] = ()
    # what an interrupted operation was to do to the index, which may be half done; None to go from `now` to `wanted`
    index: GitMove | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return self.now == self.wanted and self.index is None


@attrs.frozen
class InUse:
    """The branches that must not move: by full name, those that other work trees have checked out or work on."""

    elsewhere: frozenset[bytes] = frozenset()


class _Merge:
    """One merge of states.

    `is_resumed` accepts parts that an interrupted operation has taken back already; `overwrite`, branches and a `HEAD`
    that moved since, whose commits their reflogs keep. The parts in `done` stay as they are, without a reason.
    """

    def __init__(
        self,
        objects: ObjectStore,
        now: GitState,
        base: GitState,
        target: GitState,
        use: InUse,
        *,
        is_resumed: bool,
        overwrite: bool,
        done: Collection[str],
    ) -> None:
        self._objects = objects
        self.now, self.base, self.target = now, base, target
        self._use = use
        self._is_resumed = is_resumed
        self._done = done
        # an operation that began since would go on from another commit
        self._overwrite = overwrite and operation_files(objects, now) == operation_files(objects, base)
        self.left: dict[str, LeftReason] = {}
        self.files: dict[bytes, bytes | None] = {}
        self.head_is_left = False

    def merge(self) -> None:
        """Merges part by part."""
        paths = [
            each.path
            for each in changes(
                self._objects.read_tree, self.base.tree, self.target.tree, differing=self._objects.differing
            )
        ]
        self._merge_head(b"HEAD" in paths)
        self._merge_refs(changed_refs(self._objects, self.base, self.target))
        if (_STASH in paths or STASH_LOG in paths) and STASH not in self._done:
            self._merge_stash()
        if any(map(_OPERATION.match, paths)) and "operation" not in self._done:
            self._merge_operation()
        # without a change of its own, what is staged may differ from another `HEAD`
        if not self._is_resumed and (STAGED in paths or self.head_is_left) and "staged" not in self._done:
            self._merge_staged()

    def _merge_head(self, is_changed: bool) -> None:
        now, base, target = self.now, self.base, self.target
        # also if only its branch moves, since then what is staged and checked out is about another commit
        changed = is_changed or commit_of(base) != commit_of(target)
        if not changed:
            return
        is_as_left = now.head == base.head and commit_of(now) == commit_of(base)
        is_done = self._is_resumed and now.head in (base.head, target.head)
        if not (is_as_left or is_done or self._overwrite):
            self.head_is_left = True
            if is_changed and now.head != target.head and "head" not in self._done:
                self.left["head"] = "moved"
        elif is_changed and "head" not in self._done:
            self.files[b"HEAD"] = target.file(b"HEAD")

    def _merge_refs(self, names: Iterable[bytes]) -> None:
        # an operation that began since goes back to its branch in the end
        under_way = _branches_under_way(self.now) - _branches_under_way(self.base)
        for name in names:
            now, base, target = (state.ref(name) for state in (self.now, self.base, self.target))
            if now == target or _text(name) in self._done:
                continue
            # a ref that goes takes its reflog along
            if now != base and (target is None or not self._overwrite):
                self.left[_text(name)] = "moved"
            elif name in self._use.elsewhere:
                self.left[_text(name)] = "checkedOutElsewhere"
            elif name in under_way or (
                self.now.head == _text(name) and (self.head_is_left or self.base.head != _text(name))
            ):
                self.left[_text(name)] = "checkedOut"
            else:
                self.files[name] = None if target is None else target.encode() + b"\n"
        here = self.base.head
        if here in self.left and not self.head_is_left:
            # the branch that `HEAD` is on stays, and so do `HEAD` and what is staged
            self.head_is_left = True
            if self.files.pop(b"HEAD", None) is not None:
                self.left["head"] = self.left[here]

    def _merge_stash(self) -> None:
        now, base, target = (_entries(state) for state in (self.now, self.base, self.target))
        if now == target:
            return
        begun = self._is_resumed and now in (base[: len(now)], target[: len(now)])
        if now != base and not begun:
            self.left[STASH] = "moved"
            return
        self.files[STASH_LOG] = b"".join(target) or None
        self.files[_STASH] = self.target.file(_STASH)

    def _merge_operation(self) -> None:
        now, base, target = (operation_files(self._objects, state) for state in (self.now, self.base, self.target))
        if now == target:
            return
        begun = self._is_resumed and all(data in (base.get(name), target.get(name)) for name, data in now.items())
        if (now != base and not begun) or self.head_is_left:
            self.left["operation"] = "moved"
        else:
            self.files |= dict.fromkeys(now) | target

    def _merge_staged(self) -> None:
        now, base, target = (staged_in(state) for state in (self.now, self.base, self.target))
        changed = {path for path in base.keys() | target.keys() if base.get(path) != target.get(path)}
        if self.head_is_left:
            if changed:
                self.left["staged"] = "moved"
            return
        result = dict(now)
        for path in changed:
            if now.get(path) == target.get(path):
                continue
            if now.get(path) != base.get(path):
                self.left["staged"] = "moved"
            elif path in target:
                result[path] = target[path]
            else:
                result.pop(path, None)
        if result != now:
            self.files[STAGED] = encode_staged({path: result[path] for path in sorted(result)}) or None


def planned(
    objects: ObjectStore,
    now: GitStateId,
    base: GitStateId,
    target: GitStateId,
    use: InUse,
    *,
    is_resumed: bool = False,
    overwrite: bool = False,
    done: Collection[str] = (),
) -> GitPlan:
    """Plans to take a change back that led to `base` from `target`; `now` is the state to start from.

    With `overwrite`, branches and `HEAD` go back also if they moved since; their reflogs keep what they leave. The
    parts in `done` were taken back already, and whatever became of them since stays.
    Raises as reads of the store. The state that is wanted is stored, but not yet named by anything.
    """
    states = [GitState(objects, state) for state in (now, base, target)]
    if (now == target and not is_resumed) or base == target:
        return GitPlan(now, now)
    if any(state.reason is not None for state in states):
        return GitPlan(now, now, (LeftPart("repository", "unrecorded"),))
    if EMPTY_TREE in (now.tree, base.tree, target.tree):
        if now == target != NO_GIT:
            return GitPlan(now, now)
        # a repository goes or comes as a whole
        if now != base and not (is_resumed and now.tree == EMPTY_TREE):
            return GitPlan(now, now, (LeftPart("repository", "moved"),))
        # a `.git` without `HEAD` may be left of one that was being removed
        return GitPlan(now, target, index=GitMove(base, target) if is_resumed else None)
    here, there, back = states
    merge = _Merge(objects, here, there, back, use, is_resumed=is_resumed, overwrite=overwrite, done=done)
    merge.merge()
    wanted = _with_files(objects, here, merge.files)
    left = tuple(LeftPart(part, reason) for part, reason in sorted(merge.left.items()))
    # once `HEAD` has moved, what is staged no longer shows whether the index has
    index = GitMove(base, target) if is_resumed and not merge.head_is_left else None
    return GitPlan(now, wanted, left, index)


def plan_in_turn(
    objects: ObjectStore,
    now: GitStateId,
    moves: Mapping[str, Sequence[GitMove]],
    use: InUse,
    *,
    overwrite: bool = False,
    done: Mapping[str, Collection[str]] | None = None,
) -> tuple[GitPlan, dict[str, GitMove]]:
    """Plans to take moves back, unit by unit and the last move of each first; also returns what each unit's plan moves.

    `done` has the parts of each unit that were taken back already. Raises as `planned`.
    """
    state, left, turns = now, dict[str, LeftPart](), dict[str, GitMove]()
    for name, every in moves.items():
        start = state
        for move in reversed(every):
            stay = (done or {}).get(name, ())
            plan = planned(objects, state, move.after, move.before, use, overwrite=overwrite, done=stay)
            state = plan.wanted
            left |= {each.part: each for each in plan.left}
        if state != start:
            turns[name] = GitMove(start, state)
    return GitPlan(now, state, tuple(left[part] for part in sorted(left))), turns


def parts_of(objects: ObjectStore, before: GitStateId, after: GitStateId) -> Iterator[str]:
    """Yields the parts in which two states differ, by their names in `LeftPart`."""
    old, new = GitState(objects, before), GitState(objects, after)
    if EMPTY_TREE in (old.tree, new.tree):
        yield "repository"
        return
    if old.head != new.head:
        yield "head"
    yield from map(_text, changed_refs(objects, old, new))
    if stash_entries(old) != stash_entries(new):
        yield STASH
    if old.file(STAGED) != new.file(STAGED):
        yield "staged"
    if operation_files(objects, old) != operation_files(objects, new):
        yield "operation"


def changed_refs(objects: ObjectStore, old: GitState, new: GitState) -> list[bytes]:
    """Returns the branches and tags in which two states differ, ordered."""
    paths = {change.path for change in changes(objects.read_tree, old.tree, new.tree, differing=objects.differing)}
    both = old.packed.items() ^ new.packed.items()
    names = {path for path in (*paths, *(name for name, _ in both)) if path.startswith(_REFS)}
    return sorted(name for name in names if old.ref(name) != new.ref(name))


def operation_files(objects: ObjectStore, state: GitState) -> dict[bytes, bytes]:
    """Returns the files of the operation in progress, by path below the git directory."""
    if state.tree == EMPTY_TREE:
        return {}
    return {
        change.path: objects.read_blob(change.new.oid)
        for change in changes(objects.read_tree, EMPTY_TREE, state.tree, differing=objects.differing)
        if change.new is not None and _OPERATION.match(change.path)
    }


def stash_entries(state: GitState) -> tuple[bytes, ...]:
    """Returns the lines of the stash's reflog, the oldest first."""
    return _entries(state)


def staged_in(state: GitState) -> Staged:
    """Returns what is staged, by path."""
    return decode_staged(state.file(STAGED) or b"")


def _entries(state: GitState) -> tuple[bytes, ...]:
    return tuple((state.file(STASH_LOG) or b"").splitlines(keepends=True))


def commit_of(state: GitState) -> str | None:
    """Returns the commit that `HEAD` is on; None before the first one."""
    head = state.head
    return state.ref(head.encode()) if head.startswith("refs/") else head or None


def _branches_under_way(state: GitState) -> set[bytes]:
    """Returns the branches that a rebase or a bisect in progress began on."""
    names = {(state.file(path) or b"").strip() for path in (b"rebase-merge/head-name", b"rebase-apply/head-name")}
    return names | {b"refs/heads/" + (state.file(b"BISECT_START") or b"").strip()}


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def _with_files(objects: ObjectStore, state: GitState, files: Mapping[bytes, bytes | None]) -> GitStateId:
    """Stores a state with other files; a ref that goes is left out of `packed-refs`, too."""
    if not files:
        return GitStateId(state.tree)
    gone = {name for name, data in files.items() if data is None and name in state.packed}
    every = dict(files)
    if gone:
        every[b"packed-refs"] = b"".join(_lines_without(state.file(b"packed-refs") or b"", gone))
    with objects.batch() as batch:
        entries = {
            path: None if data is None else Entry(REGULAR, batch.blob(data))
            for path, data in every.items()
            if data is not None or state.has(path)
        }
        tree = amended(objects.read_tree, state.tree, entries, batch.encoded_tree)
        batch.commit()
    return GitStateId(tree)


def _lines_without(packed: bytes, gone: set[bytes]) -> Iterator[bytes]:
    is_out = False
    for line in packed.splitlines(keepends=True):
        if not line.startswith(b"^"):
            is_out = line[:1] != b"#" and line[41:].strip() in gone
        if not is_out:
            yield line
