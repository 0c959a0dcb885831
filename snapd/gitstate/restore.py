"""Brings the user's `.git` from one git state to another: git writes, without hooks, filters or fsmonitor.

Each part is written only where it is still as the first state has it, or as the second one already has it, so that an
interrupted restoration is finished by the same call.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping

import attrs

from snapd.failpoints import failpoint
from snapd.model.errors import os_errors
from snapd.model.git import STAGED, STASH, GitChange, LeftPart, LeftReason, RefChange
from snapd.model.snapshot import EMPTY_TREE
from snapd.model.trees import files
from snapd.store.adopt import COPY_BYTES, own_file
from snapd.store.files.durable import (
    make_directories,
    read_if_there,
    remove_any,
    remove_if_there,
    status_if_there,
    sync_directory,
    sync_if_there,
    walked,
    write_file,
)
from snapd.store.maintenance.sweep import OWN_TEMPFILE, remove_tempfiles
from snapd.store.object_store import ObjectStore
from snapd.store.objects.loose import loose_files
from snapd.worktree.fs.system import booted_at, can_sync_together, sync_together
from snapd.worktree.git.index import GitIndex, MalformedIndex, read_index
from snapd.worktree.git.repository import Repository, nested_repository

from .change import STASH_LOG, GitState, git_change
from .index import NO_ID, Staged
from .objects import ProjectObjects
from .plan import GitPlan, InUse, changed_refs, operation_files, parts_of, staged_in, stash_entries
from .program import GitProgramFailed, ProjectGit
from .read import PROGRESS

_REFS = (b"refs/heads/", b"refs/tags/")
_ID = re.compile(rb"\b[0-9a-f]{40}\b")
_NONE = "0" * 40
_EMPTY = EMPTY_TREE.hex()
_LOG_LINE = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) (.*) <(.*)> (\d+) ([-+]\d{4})\t(.*)\n?")
_RAW = re.compile(rb":(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) \w\d*\0([^\0]+)\0")
_LISTED = re.compile(rb"(\d+) \w+ ([0-9a-f]+)\t([^\0]+)\0")
_ENTRY_STAGE, _ASSUME_VALID, _EXTENDED, _SKIP_WORKTREE = 0x3000, 0x8000, 0x4000, 0x4000
_GITLINK = 0o160000
_INTENT_TO_ADD = 0x2000


class GitRestorer:
    """Changes the git of one work tree; `project` has the objects that git may have dropped."""

    def __init__(
        self,
        root: bytes,
        objects: ObjectStore,
        project: ProjectObjects,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._root = root
        self._objects = objects
        self._project = project
        self._environment = environment

    def in_use(self) -> InUse:
        """Returns the branches that must not move, as they are now."""
        repository = nested_repository(self._root)
        return InUse() if repository is None else InUse(frozenset(_branches_elsewhere(repository)))

    def clear(self, plan: GitPlan) -> None:
        """Removes what a restoration left that was killed: files that were to be renamed, and locks of its git.

        A lock from before the machine started is nobody's. Raises `IoError`.
        """
        repository = nested_repository(self._root)
        if repository is None:
            return
        with os_errors(repository.git_dir):
            for lock in self._locks(repository, plan):
                status = status_if_there(os.fsdecode(lock))
                if status is not None and status.st_mtime_ns // 1_000_000 < booted_at():
                    remove_if_there(os.fsdecode(lock))
            for name in (b"", *PROGRESS, b"logs/refs", b"info"):
                directory = os.path.join(repository.git_dir, name)
                for file in filter(OWN_TEMPFILE.fullmatch, map(os.fsdecode, _names(directory))):
                    remove_if_there(os.path.join(os.fsdecode(directory), file))

    def possible(self, plan: GitPlan) -> GitPlan:
        """Returns what of a plan can be done: nothing beside a lock of git's, or without all objects."""
        if plan.is_empty:
            return plan
        repository = nested_repository(self._root)
        reason: LeftReason | None = None
        if repository is not None and any(map(os.path.lexists, self._locks(repository, plan))):
            reason = "locked"
        elif plan.wanted.tree != EMPTY_TREE and not self._are_complete(repository, plan):
            reason = "missing"
        if reason is None:
            return plan
        parts = {*(each.part for each in plan.left), *parts_of(self._objects, plan.now, plan.wanted)}
        kept = {each.part: each for each in plan.left}
        left = tuple(kept.get(part, LeftPart(part, reason)) for part in sorted(parts))
        return GitPlan(plan.now, plan.now, left)

    def compare(self, plan: GitPlan) -> GitChange:
        """Returns what a plan changes, with the upstreams that branches are behind afterwards."""
        change = git_change(self._objects, plan.now, plan.wanted)
        repository = nested_repository(self._root)
        branches = [each.ref for each in change.refs if each.after and each.ref.startswith("refs/heads/")]
        if repository is None or not branches:
            return change
        git = ProjectGit(self._root, repository.git_dir, self._environment)
        listed = git.run("for-each-ref", "--format=%(refname) %(upstream)", *branches).decode("utf-8", "replace")
        upstreams = dict(line.split(" ") for line in listed.splitlines())

        def compared(each: RefChange) -> RefChange:
            upstream = upstreams.get(each.ref)
            if not upstream or each.after is None:
                return each
            words = ("rev-list", "--max-count=1", upstream, f"^{each.after}", "--")
            ahead = git.attempt(*words, objects=self._project.objects).stdout
            return attrs.evolve(each, behind=upstream) if ahead else each

        return attrs.evolve(change, refs=tuple(map(compared, change.refs)))

    def restore(self, plan: GitPlan) -> None:
        """Makes the git state the one that is wanted; raises `GitProgramFailed`, `IoError` or as reads of the store.

        After an error, some parts may be done; the same call goes on.
        """
        if plan.is_empty:
            return
        if plan.wanted.tree == EMPTY_TREE:
            self._remove()
        elif plan.now.tree == EMPTY_TREE:
            self._rebuild(GitState(self._objects, plan.wanted))
        else:
            repository = nested_repository(self._root)
            if repository is None:
                # it went since, which the caller's plan did not see
                raise GitProgramFailed("the project's .git is gone")
            git = ProjectGit(self._root, repository.git_dir, self._environment)
            restoration = _Restoration(self._objects, self._project, repository, git, plan)
            restoration.run()
        repository = nested_repository(self._root)
        # git does not sync refs, and the caller ends the intent
        _sync(self._root if repository is None else repository.common_dir, is_tree=repository is not None)

    def _locks(self, repository: Repository, plan: GitPlan) -> Iterator[bytes]:
        now, wanted = (GitState(self._objects, state) for state in (plan.now, plan.wanted))
        for name in (b"index.lock", b"HEAD.lock"):
            yield os.path.join(repository.git_dir, name)
        for name in (b"packed-refs", STASH.encode(), *changed_refs(self._objects, now, wanted)):
            yield os.path.join(repository.common_dir, name + b".lock")

    def _are_complete(self, repository: Repository | None, plan: GitPlan) -> bool:
        """Whether everything that the wanted state names is here."""
        tips = _tips(self._objects, plan)
        if not tips:
            return True
        if repository is not None:
            git = ProjectGit(self._root, repository.git_dir, self._environment)
            return git.attempt(*_NEW, data=_listed_tips(tips), objects=self._project.objects).returncode == 0
        with tempfile.TemporaryDirectory(prefix="snapd-git-") as folder:
            _skeleton(folder)
            git = ProjectGit(self._root, os.fsencode(folder), self._environment)
            wanted = GitState(self._objects, plan.wanted)
            shallow, borrowed = wanted.file(b"shallow"), wanted.file(b"objects/info/alternates") or b""
            if shallow is not None:
                write_file(os.path.join(folder, "shallow"), shallow)
            write_file(os.path.join(folder, "HEAD"), b"ref: refs/heads/main\n")
            base = os.path.join(self._root, b".git/objects")
            lines = [os.path.join(base, line) for line in borrowed.splitlines() if line and line[:1] != b"#"]
            lines.append(os.fsencode(self._project.objects))
            write_file(os.path.join(folder, "objects/info/alternates"), b"\n".join(lines) + b"\n")
            return git.attempt(*_REACHED, data=_listed_tips(tips)).returncode == 0

    # -- the repository as a whole

    def _remove(self) -> None:
        dot_git = os.path.join(os.fsdecode(self._root), ".git")
        with os_errors(dot_git):
            # git finds no repository any more from here on
            remove_if_there(os.path.join(dot_git, "HEAD"))
            failpoint("gitstate.remove")
            remove_any(dot_git)

    def _rebuild(self, wanted: GitState) -> None:
        dot_git = os.path.join(os.fsdecode(self._root), ".git")
        with os_errors(dot_git):
            _skeleton(dot_git)
            # git would take files that a kill left aside for refs
            remove_tempfiles(dot_git)
            self._link_objects(os.path.join(dot_git, "objects"))
            failpoint("gitstate.rebuild")
            head = b""
            for path, entry in files(self._objects.read_tree, wanted.tree):
                data = self._objects.read_blob(entry.oid)
                if path == b"HEAD":
                    head = data
                elif path != STAGED and (path != b"objects/info/alternates" or _lead_somewhere(data, dot_git)):
                    target = os.path.join(dot_git, os.fsdecode(path))
                    make_directories(os.path.dirname(target))
                    write_file(target, data)
            self._write_index(dot_git, wanted)
            # last: git takes it for a repository once it has a `HEAD`
            write_file(os.path.join(dot_git, "HEAD"), head)

    def _write_index(self, dot_git: str, wanted: GitState) -> None:
        """Writes the index of a repository that has no `HEAD` yet, with a git directory of its own."""
        staged = staged_in(wanted)
        # no git can be at work there
        remove_if_there(os.path.join(dot_git, "index.lock"))
        with tempfile.TemporaryDirectory(prefix="snapd-git-") as folder:
            _skeleton(folder)
            write_file(os.path.join(folder, "HEAD"), b"ref: refs/heads/main\n")
            git = ProjectGit(self._root, os.fsencode(folder), self._environment)
            variables = {
                "GIT_OBJECT_DIRECTORY": os.path.join(dot_git, "objects"),
                "GIT_INDEX_FILE": os.path.join(dot_git, "index"),
            }
            empty = os.path.join(os.fsencode(folder), b"info")
            tree = _tree_of(git, wanted, variables=variables)
            git.run("read-tree", tree or _EMPTY, work_tree=empty, variables=variables)
            lines = [line for path in staged for line in (_removal(path), *_lines(path, staged[path]))]
            data = b"".join(lines)
            git.run("update-index", "-z", "--index-info", data=data, work_tree=empty, variables=variables)
            _intend(git, self._root, staged, variables)

    def _link_objects(self, target: str) -> None:
        ours = self._project.objects
        for _, entry in loose_files(ours):
            name = os.path.relpath(entry.path, ours)
            os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
            _own(entry.path, os.path.join(target, name))
        packs = os.path.join(ours, "pack")
        # a pack counts once it has its index
        names = sorted(os.listdir(packs), key=lambda name: name.endswith(".idx")) if os.path.isdir(packs) else []
        for name in names:
            if name.startswith("pack-") and name.endswith((".pack", ".idx", ".rev", ".mtimes", ".promisor")):
                _own(os.path.join(packs, name), os.path.join(target, "pack", name))
        for directory, _, _ in walked(target):
            sync_directory(directory)


_REACHED = ("rev-list", "--objects", "--no-object-names", "--stdin")
_NEW = (*_REACHED[:-1], "--not", "--all", "--not", "--stdin")
"""Without what git reaches now, which is most of a long history; what it does not reach, it may prune at any time."""


@attrs.frozen
class _Restoration:
    """One change of a repository that stays."""

    _objects: ObjectStore
    _project: ProjectObjects
    _repository: Repository
    _git: ProjectGit
    _plan: GitPlan

    def run(self) -> None:
        now, wanted = (GitState(self._objects, state) for state in (self._plan.now, self._plan.wanted))
        self._bring_objects()
        failpoint("gitstate.refs")
        self._move_refs(now, wanted)
        failpoint("gitstate.head")
        self._move_head(now, wanted)
        failpoint("gitstate.stash")
        self._move_stash(stash_entries(wanted))
        failpoint("gitstate.operation")
        self._move_operation(now, wanted)
        failpoint("gitstate.index")
        move = self._plan.index
        old, new = (
            (now, wanted) if move is None else (GitState(self._objects, each) for each in (move.before, move.after))
        )
        trees = [_tree_of(self._git, state, self._project.objects) for state in (old, new)]
        self._move_index(trees[0], trees[1], staged_in(old), staged_in(new))

    def _bring_objects(self) -> None:
        """Puts what only the store has into git's own objects."""
        tips = _tips(self._objects, self._plan)
        if not tips:
            return
        listed = self._git.run(*_NEW, data=_listed_tips(tips), objects=self._project.objects)
        if listed:
            target = os.path.join(self._repository.objects, b"pack", b"pack")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            self._git.run("pack-objects", "-q", target, data=listed, objects=self._project.objects)

    def _move_refs(self, now: GitState, wanted: GitState) -> None:
        updates, deletes, symbolic = [], [], []
        for name in changed_refs(self._objects, now, wanted):
            old, new = now.ref(name), wanted.ref(name)
            is_symbolic = any(value is not None and value.startswith("ref:") for value in (old, new))
            if is_symbolic:
                symbolic.append((name, new))
            elif new is None:
                deletes.append((name, old))
            else:
                updates.append((name, new, old or _NONE))
        gone = {name for name, _ in deletes}
        clash = any(
            name.startswith(other + b"/") or other.startswith(name + b"/") for name, *_ in updates for other in gone
        )
        for name, new in symbolic:
            words = ("symbolic-ref", name, new.removeprefix("ref:").strip()) if new else ("symbolic-ref", "-d", name)
            self._git.run(*words)
        delete_lines = [b"delete %s\0%s\0" % (name, (old or "").encode()) for name, old in deletes]
        update_lines = [b"update %s\0%s\0%s\0" % (name, new.encode(), old.encode()) for name, new, old in updates]
        # git makes no reference in the place of a directory of references in one transaction
        for lines in [delete_lines, update_lines] if clash else [delete_lines + update_lines]:
            self._transaction(lines)

    def _transaction(self, lines: Iterable[bytes]) -> None:
        data = b"".join(line for line in lines if not self._is_done(line))
        if data:
            words = ("update-ref", "-m", "snapd: take back", "--no-deref", "--create-reflog", "-z", "--stdin")
            self._git.run(*words, data=data)

    def _is_done(self, line: bytes) -> bool:
        """Whether an interrupted restoration has done this already."""
        verb, _, rest = line.partition(b" ")
        name, new, *_ = rest.split(b"\0")
        value = self._git.attempt("rev-parse", "-q", "--verify", name).stdout.strip()
        return not value if verb == b"delete" else value == new

    def _move_head(self, now: GitState, wanted: GitState) -> None:
        if now.file(b"HEAD") == wanted.file(b"HEAD"):
            return
        if wanted.head.startswith("refs/"):
            self._git.run("symbolic-ref", "-m", "snapd: take back", "HEAD", wanted.head)
        else:
            self._git.run("update-ref", "-m", "snapd: take back", "--no-deref", "HEAD", wanted.head)

    def _move_stash(self, wanted: tuple[bytes, ...]) -> None:
        """Drops entries from the top down to those that stay, and adds the rest again as they were."""
        now = self._stash_now()
        same = next(
            (at for at, pair in enumerate(zip(now, wanted, strict=False)) if _LOG_LINE.match(pair[0]) is None or
             _content(pair[0]) != _content(pair[1])),
            min(len(now), len(wanted)),
        )  # fmt: skip
        for _ in range(len(now) - same):
            self._git.run("reflog", "delete", "--updateref", "--rewrite", f"{STASH}@{{0}}")
        if not same:
            # the reference may be there without a reflog, and would then not be written again
            self._git.attempt("update-ref", "-d", STASH)
        for line in wanted[same:]:
            match = _LOG_LINE.fullmatch(line)
            if match is None:
                raise GitProgramFailed("an entry of the stash's reflog cannot be read")
            _, new, name, mail, seconds, zone, message = match.groups()
            variables = {
                "GIT_COMMITTER_NAME": os.fsdecode(name),
                "GIT_COMMITTER_EMAIL": os.fsdecode(mail),
                "GIT_COMMITTER_DATE": f"{seconds.decode()} {zone.decode()}",
            }
            self._git.run("update-ref", "--create-reflog", "-m", message, STASH, new, variables=variables)

    def _stash_now(self) -> list[bytes]:
        path = os.path.join(os.fsdecode(self._repository.common_dir), os.fsdecode(STASH_LOG))
        return (read_if_there(path) or b"").splitlines(keepends=True)

    def _move_operation(self, now: GitState, wanted: GitState) -> None:
        old, new = (operation_files(self._objects, state) for state in (now, wanted))
        git_dir = os.fsdecode(self._repository.git_dir)
        for path in sorted(old.keys() - new.keys()):
            remove_if_there(os.path.join(git_dir, os.fsdecode(path)))
        for directory in ("rebase-merge", "rebase-apply", "sequencer"):
            if not any(path.startswith(directory.encode()) for path in new):
                shutil.rmtree(os.path.join(git_dir, directory), ignore_errors=True)
        for path, data in new.items():
            if old.get(path) != data:
                target = os.path.join(git_dir, os.fsdecode(path))
                make_directories(os.path.dirname(target))
                write_file(target, data)

    def _move_index(self, before: str | None, after: str | None, old: Staged, new: Staged) -> None:
        committed: dict[bytes, tuple[list[bytes], list[bytes]]] = {}
        if before != after:
            listed = self._git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", before or _EMPTY, after or _EMPTY)
            for mode, mode_after, oid, oid_after, path in _RAW.findall(listed):
                committed[path] = _line(mode, oid, path), _line(mode_after, oid_after, path)
        alone = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)} - committed.keys()
        if alone and after is not None:
            for mode, oid, path in _LISTED.findall(self._git.run("ls-tree", "-r", "-z", "--full-tree", after)):
                if path in alone:
                    line = _line(mode, oid, path)
                    committed[path] = line, line
        try:
            index = read_index(self._repository.index_path)
        except FileNotFoundError:
            index = None
        except MalformedIndex as error:
            raise GitProgramFailed(f"the index cannot be read: {error.why}") from error
        present = _present(index, {*committed, *alone})
        data: list[bytes] = []
        for path in sorted({*committed, *alone}):
            was, becomes = committed.get(path, ([], []))
            was = list(_lines(path, old[path])) if path in old else was
            becomes = list(_lines(path, new[path])) if path in new else becomes
            # an entry that is another one by now was staged since
            if was != becomes and present.get(path, was) == was:
                data += [_removal(path), *filter(None, becomes)]
        if not data:
            return
        with tempfile.TemporaryDirectory(prefix="snapd-git-") as folder:
            # without the files, git cannot filter those whose entries may be racy
            empty = os.fsencode(folder)
            flagged = {} if index is None else _flags(index)
            if index is not None:
                data = [*_racy(index, flagged.keys()), *data]
            self._git.run("update-index", "-z", "--index-info", data=b"".join(data), work_tree=empty)
            for flag, word in ((_SKIP_WORKTREE, "--skip-worktree"), (_ASSUME_VALID, "--assume-unchanged")):
                names = [path for path, flags in flagged.items() if flags & flag and path in {*committed, *alone}]
                if names:
                    listed = b"".join(path + b"\0" for path in names)
                    self._git.attempt("update-index", "-z", word, "--stdin", data=listed, work_tree=empty)
        _intend(self._git, self._git.root, {path: lines for path, lines in new.items() if lines != old.get(path)})


def _present(index: GitIndex | None, wanted: Collection[bytes]) -> dict[bytes, list[bytes]]:
    """Returns the lines of entries at some paths; nothing for a sparse index, whose entries may be directories."""
    if index is not None and index.sparse:
        return {}
    result: dict[bytes, list[bytes]] = {path: [] for path in wanted}
    for path, head in zip(index.paths, index.heads, strict=True) if index is not None else ():
        if path in result:
            flags, mode = int.from_bytes(head[60:62], "big"), int.from_bytes(head[24:28], "big")
            is_intent = flags & _EXTENDED and int.from_bytes(head[62:64], "big") & _INTENT_TO_ADD
            result[path] += _lines(path, [(mode, NO_ID if is_intent else head[40:60], flags >> 12 & 3)])
    return result


def _flags(index: GitIndex) -> dict[bytes, int]:
    """Returns the paths that git does not compare with the work tree, each with its flags."""
    result = {}
    for path, head in zip(index.paths, index.heads, strict=True):
        flags = int.from_bytes(head[60:62], "big")
        wide = int.from_bytes(head[62:64], "big") if flags & _EXTENDED else 0
        if both := (flags & _ASSUME_VALID) | (wide & _SKIP_WORKTREE):
            result[path] = both
    return result


def _racy(index: GitIndex, without: Collection[bytes]) -> Iterator[bytes]:
    """Yields lines for entries as young as the index: without a time, git compares their contents later."""
    for path, head in zip(index.paths, index.heads, strict=True):
        flags = int.from_bytes(head[60:62], "big")
        mode = int.from_bytes(head[24:28], "big")
        is_young = int.from_bytes(head[8:12], "big") >= index.mtime_ns // 1_000_000_000
        if is_young and not flags & (_ENTRY_STAGE | _EXTENDED) and mode != _GITLINK and path not in without:
            yield from _line(b"%o" % mode, head[40:60].hex().encode(), path)


def _line(mode: bytes, oid: bytes, path: bytes) -> list[bytes]:
    return [b"%06o %s 0\t%s\0" % (int(mode, 8), oid, path)] if int(mode, 8) else []


def _lines(path: bytes, entries: Iterable[tuple[int, bytes, int]]) -> Iterator[bytes]:
    """Yields the lines for `git update-index --index-info`; an empty one for an intent to add, which has none."""
    for mode, oid, stage in entries:
        if mode:
            yield b"" if oid == NO_ID else b"%06o %s %d\t%s\0" % (mode, oid.hex().encode(), stage, path)


def _removal(path: bytes) -> bytes:
    return b"0 %s\t%s\0" % (_NONE.encode(), path)


def _intend(git: ProjectGit, root: bytes, staged: Staged, variables: Mapping[str, str] | None = None) -> None:
    """Notes files that are only intended to be added, as far as they are there."""
    names = [path for path, lines in staged.items() if any(mode and oid == NO_ID for mode, oid, _ in lines)]
    names = [path for path in names if os.path.lexists(os.path.join(root, path))]
    if names:
        git.run("add", "--intent-to-add", "--force", "--", *names, variables=variables)


def _tips(objects: ObjectStore, plan: GitPlan) -> set[str]:
    """Returns the objects that the wanted state names and the present one does not."""
    now, wanted = (GitState(objects, state) for state in (plan.now, plan.wanted))
    if now.tree == EMPTY_TREE:
        names = {path for path, _ in files(objects.read_tree, wanted.tree) if path.startswith(_REFS)}
        refs = sorted(names | {name for name in wanted.packed if name.startswith(_REFS)})
    else:
        refs = changed_refs(objects, now, wanted)
    tips = {value for name in refs if (value := wanted.ref(name)) is not None and not value.startswith("ref:")}
    if not wanted.head.startswith("refs/") and wanted.head:
        tips.add(wanted.head)
    have = stash_entries(now)
    tips |= {line[41:81].decode() for line in stash_entries(wanted) if line not in have}
    old = staged_in(now)
    tips |= {
        oid.hex()
        for path, lines in staged_in(wanted).items()
        if old.get(path) != lines
        for mode, oid, _ in lines
        if mode not in (0, _GITLINK) and oid != NO_ID
    }
    return tips


def _listed_tips(tips: Iterable[str]) -> bytes:
    return "".join(f"{tip}\n" for tip in sorted(tips)).encode()


def _tree_of(
    git: ProjectGit, state: GitState, objects: str | None = None, variables: Mapping[str, str] | None = None
) -> str | None:
    """Returns the tree of the commit that `HEAD` is on in a state; None before the first commit."""
    commit = state.ref(state.head.encode()) if state.head.startswith("refs/") else state.head
    if not commit:
        return None
    words = ("rev-parse", "--verify", f"{commit}^{{tree}}")
    return git.run(*words, objects=objects, variables=variables).decode().strip()


def _content(line: bytes) -> bytes:
    """Returns a line of a reflog without the value before it, which depends on the entries below."""
    return line[41:]


def _branches_elsewhere(repository: Repository) -> Iterator[bytes]:
    """Yields the branches that other work trees of the repository have checked out, or rebase."""
    main, worktrees = repository.common_dir, os.path.join(repository.common_dir, b"worktrees")
    directories = [main, *(os.path.join(worktrees, name) for name in _names(worktrees))]
    for directory in directories:
        if os.path.realpath(directory) == os.path.realpath(repository.git_dir):
            continue
        for name in (b"HEAD", b"rebase-merge/head-name", b"rebase-apply/head-name"):
            value = read_if_there(os.path.join(os.fsdecode(directory), os.fsdecode(name))) or b""
            branch = value.removeprefix(b"ref:").strip()
            if branch.startswith(b"refs/"):
                yield branch


def _names(directory: bytes) -> list[bytes]:
    try:
        return os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _skeleton(git_dir: str) -> None:
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        os.makedirs(os.path.join(git_dir, name), exist_ok=True)


def _sync(directory: bytes, *, is_tree: bool) -> None:
    """Makes a directory durable, and with `is_tree` everything in it."""
    path = os.fsdecode(directory)
    with os_errors(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if can_sync_together(descriptor) and sync_together(descriptor):
                return
        finally:
            os.close(descriptor)
        for above, _, names in walked(path) if is_tree else ():
            for name in names:
                sync_if_there(os.path.join(above, name))
            sync_directory(above)
        sync_directory(path)


def _own(source: str, target: str) -> None:
    if not os.path.lexists(target):
        # where links are impossible it is a copy: neither a kill nor a power loss may leave half of it
        aside = f"{target}.tmp"
        remove_if_there(aside)
        if own_file(source, aside, COPY_BYTES):
            sync_if_there(aside)
            os.rename(aside, target)


def _lead_somewhere(alternates: bytes, git_dir: str) -> bool:
    base = os.path.join(os.fsencode(git_dir), b"objects")
    return all(os.path.isdir(os.path.join(base, line)) for line in alternates.splitlines() if line and line[:1] != b"#")
