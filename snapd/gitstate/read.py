"""Reads the git state of a folder and stores it as a tree that mirrors files of `.git`.

Such a tree costs little where little changed, and everything that handles snapshots handles it. A state is read again
only if one of a few directories changed: git changes `HEAD`, refs and the index by lock files, which it renames in
them.
"""

from __future__ import annotations

import errno
import mmap
import os
import re
import stat
from collections.abc import Collection, Iterator

import attrs

from snapd.model.call import Call
from snapd.model.check_report import Problem
from snapd.model.errors import StoreCorrupt, os_errors
from snapd.model.git import STAGED, GitReason, GitStateId
from snapd.model.snapshot import (
    EMPTY_TREE,
    REGULAR,
    Change,
    Entry,
    ObjectId,
    RelPath,
    Signature,
    TreeEntry,
    file_clock_ns,
)
from snapd.model.trees import amended
from snapd.store.adopt import PACKED_BYTES, ProjectBlobs
from snapd.store.files.quarantine import Quarantine
from snapd.store.object_store import ObjectBatch, ObjectStore
from snapd.store.objects.codec import decode_commit, decode_tree, encode_tree
from snapd.worktree.fs.stable_read import is_racy, read_bounded, signature
from snapd.worktree.git.index import GitIndex, MalformedIndex, read_index
from snapd.worktree.git.repository import Repository, find_repository, nested_repository, object_directories

from .brought import brought_by_git
from .change import STASH_LOG, UNRECORDED, GitState
from .index import cache_tree, cached_trees, encode_staged, staged
from .objects import ProjectObjects

_OWN = re.compile(
    rb"HEAD|MERGE_(?:HEAD|MSG|MODE|RR)|AUTO_MERGE|CHERRY_PICK_HEAD|REVERT_HEAD|BISECT_\w+|config\.worktree"
)
"""The files in the git directory of a work tree."""
PROGRESS = (b"rebase-merge", b"rebase-apply", b"sequencer", b"refs/bisect", b"refs/rewritten")
"""Directories of an operation in progress, whose files git changes in place."""
_OWN_FILES = (b"info/sparse-checkout",)
_SHARED = (b"packed-refs", b"config", b"shallow", b"info/exclude", b"objects/info/alternates", b"refs/stash", STASH_LOG)
_REFS = (b"refs/heads", b"refs/tags")
_PACKED_LINES = re.compile(
    rb"^(?:#.*|[0-9a-f]{40} refs/(?:heads/.+|tags/.+|stash)\n(?:\^[0-9a-f]{40})?)\n?", re.MULTILINE
)
_PACKED = re.compile(rb"^([0-9a-f]{40}) (refs/\S+)$", re.MULTILINE)
_ID = re.compile(rb"[0-9a-f]{40}")

_ATTEMPTS = 4
_PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.EINTR, errno.ESTALE})
"""Errors that say nothing about the repository."""
_DEPTH = 64  # of directories of refs, and of refs that stand for refs
_MOST_BYTES = 256 << 20

_NO_INDEX = GitIndex([], [], 0, 0, False)

_Stamps = dict[bytes, tuple[int, ...]]


class _Unreadable(Exception):
    """The state cannot be read; the reason is one of `GitReason`."""

    def __init__(self, reason: GitReason) -> None:
        super().__init__(reason)
        self.reason = reason


@attrs.define
class _Known:
    """What was read last; valid while `state` is the one in force, because only that one's objects surely stay."""

    state: GitStateId
    stamps: _Stamps | None  # of the directories that git changes; None if a later change could leave the same
    files: dict[bytes, tuple[Signature, ObjectId]]
    staged: tuple[tuple[Signature | None, ObjectId | None], ObjectId | None]


class GitRecorder:
    """Records the git state of a folder whose `root` is that of a git work tree."""

    def __init__(self, root: bytes, objects: ObjectStore) -> None:
        self._root = root
        self._objects = objects
        self.project = ProjectObjects(objects.path)
        self._known: _Known | None = None

    def record(self, in_force: GitStateId | None, *, is_on: bool) -> GitStateId | None:
        """Returns the state now, stored with the next event; `in_force` if it changes too fast to be read.

        That is the state at the last event, None if there is none; `is_on` says whether to record it. Raises `IoError`.
        """
        known = self._known if self._known is not None and self._known.state == in_force else None
        if not is_on:
            return self._unrecorded("off")
        if known is not None and known.stamps is not None and _unchanged(known.stamps):
            return known.state
        for _ in range(_ATTEMPTS):
            with self._objects.batch() as batch:
                reading = _Reading(self._root, batch, known)
                try:
                    tree = reading.tree()
                except _Unreadable as error:
                    return self._unrecorded(error.reason)
                except (OSError, StoreCorrupt) as error:
                    if isinstance(error, OSError) and error.errno in _PASSING:
                        return in_force
                    if _unchanged(reading.stamps):
                        # not because git was at work
                        return self._unrecorded("unreadable")
                    continue
                if not _unchanged(reading.stamps):
                    continue
                batch.commit()
            if reading.objects is not None and GitStateId(tree) != in_force:
                self.project.add(reading.objects)
            stamps = reading.stamps if reading.is_certain else None
            self._known = _Known(GitStateId(tree), stamps, reading.files, reading.staged)
            return self._known.state
        # the next event reads it again
        return in_force

    def brought(
        self, before: GitStateId, after: GitStateId, started: int, changed: Collection[Change]
    ) -> tuple[RelPath, ...]:
        """Returns which of the changed files git put there itself; see `brought_by_git`."""
        repository = nested_repository(self._root)
        directories = [os.fsencode(self.project.objects)]
        directories += [] if repository is None else object_directories(repository.objects)
        old, new = GitState(self._objects, before), GitState(self._objects, after)
        return brought_by_git(ProjectBlobs(directories), old, new, started, changed)

    def reason(self) -> GitReason | None:
        """Returns why the git state cannot be recorded; None if it can, or there is no repository."""
        repository = nested_repository(self._root)
        if repository is not None:
            borrows = os.path.exists(os.path.join(repository.objects, b"info/alternates"))
            return _obstacle(repository) or ("objects" if borrows or self.project.lacks_some else None)
        with os_errors(self._root):
            return None if find_repository(self._root) is None else "subfolder"

    def clean(self, since: int | None, call: Call) -> None:
        """Removes objects that no event can name; see `ProjectObjects.clean`. Raises `Cancelled`, `IoError`."""
        self.project.clean(self._source(), since, call)

    def check(self, call: Call, quarantine: Quarantine | None = None) -> Iterator[Problem]:
        """Checks the objects of the project that only the store has; see `ProjectObjects.check`."""
        return self.project.check(call, quarantine, self._source())

    def purge(self, contents: Collection[ObjectId], call: Call) -> None:
        """Removes contents from the objects of the project, though git may still have them."""
        source = self._source()
        if source is not None and os.path.isdir(self.project.objects):
            self.project.add(source)
        self.project.purge(contents, call)

    def _source(self) -> bytes | None:
        repository = nested_repository(self._root)
        return None if repository is None or _obstacle(repository) is not None else repository.objects

    def _unrecorded(self, reason: str) -> GitStateId:
        with self._objects.batch() as batch:
            entry = TreeEntry(UNRECORDED, REGULAR, batch.blob(reason.encode()))
            state = GitStateId(batch.encoded_tree(encode_tree([entry])))
            batch.commit()
        return state


def _obstacle(repository: Repository) -> GitReason | None:
    if repository.hash_size != 20:
        return "sha256"
    return "reftable" if os.path.isdir(os.path.join(repository.common_dir, b"reftable")) else None


def _stamp(path: bytes) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_dev


def _is_there(path: bytes) -> bool:
    """Whether a path exists, and not whether it can be looked at just now, which `os.path.lexists` answers."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _unchanged(stamps: _Stamps) -> bool:
    return all(_stamp(path) == stamp for path, stamp in stamps.items())


class _Reading:
    """One attempt to read a state.

    Attributes:
        stamps: of the directories on which the state depends, each taken before a look into it.
        objects: the directory of git's objects; None if there is no repository.
        is_certain: whether every later change changes a stamp.
        files: the files of the state that cannot have changed since without a new signature.
    """

    def __init__(self, root: bytes, batch: ObjectBatch, known: _Known | None) -> None:
        self._root = root
        self._batch = batch
        self._known_files = {} if known is None else known.files
        self._known_staged = None if known is None else known.staged
        self._looked_at = file_clock_ns()
        self.stamps: _Stamps = {}
        self.is_certain = True
        self.objects: bytes | None = None
        self.files: dict[bytes, tuple[Signature, ObjectId]] = {}
        self.staged: tuple[tuple[Signature | None, ObjectId | None], ObjectId | None] = ((None, None), None)
        self._entries: dict[bytes, Entry | None] = {}

    def tree(self) -> ObjectId:
        """Stores the state; returns the empty tree if there is no repository.

        Raises `_Unreadable`, and `OSError` or `StoreCorrupt` where something just changed or is damaged.
        """
        dot_git = os.path.join(self._root, b".git")
        self._stamp(dot_git)
        repository = nested_repository(self._root)
        if repository is None:
            if os.path.isfile(dot_git) or _is_there(os.path.join(dot_git, b"HEAD")):
                raise _Unreadable("unreadable")
            # git's fsck wants the file, though git knows the empty tree without one
            return self._batch.encoded_tree(b"")
        obstacle = _obstacle(repository)
        if obstacle is not None:
            raise _Unreadable(obstacle)
        self.objects = repository.objects
        own, shared = repository.git_dir, repository.common_dir
        for directory in (own, shared, os.path.join(shared, b"refs")):
            self._stamp(directory)
        for name in os.listdir(own):
            if _OWN.fullmatch(name):
                self._file(own, name)
        for name in _OWN_FILES:
            self._file(own, name)
        for name in _SHARED:
            self._file(shared, name)
        for name in _REFS:
            self._directory(shared, name, stamp=True)
        for name in PROGRESS:
            self._directory(own, name, stamp=False)
        if b"BISECT_LOG" in self._entries:
            self.is_certain = False
        self._stage(repository)
        # the empty tree stands for no repository, but every repository has a `HEAD`
        return amended(lambda _: (), EMPTY_TREE, self._entries, self._batch.encoded_tree)

    def _stamp(self, path: bytes) -> None:
        if path not in self.stamps:
            stamp = self.stamps[path] = _stamp(path)
            if any(is_racy(time, self._looked_at) for time in stamp[1:3]):
                self.is_certain = False

    def _directory(self, base: bytes, name: bytes, *, stamp: bool) -> None:
        pending = [name]
        while pending:
            directory = pending.pop()
            path = os.path.join(base, directory)
            if stamp:
                self._stamp(path)
            elif not os.path.lexists(path):
                continue
            else:
                self.is_certain = False
            if directory.count(b"/") > _DEPTH:
                raise _Unreadable("unreadable")
            for entry in _listed(path):
                # no names of refs
                if entry.name.startswith(b".") or entry.name.endswith(b".lock"):
                    continue
                inside = directory + b"/" + entry.name
                if entry.is_dir(follow_symlinks=False):
                    pending.append(inside)
                else:
                    self._file(base, inside)

    def _file(self, base: bytes, name: bytes) -> None:
        path = os.path.join(base, name)
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        now = signature(status)
        known = self._known_files.get(name)
        if known is not None and known[0] == now:
            oid = known[1]
        elif stat.S_ISLNK(status.st_mode):
            # an old git makes refs to refs in this way
            oid = self._batch.blob(b"ref: " + os.readlink(path) + b"\n")
        elif stat.S_ISREG(status.st_mode):
            data = read_bounded(path, _MOST_BYTES)
            if name == b"packed-refs":
                data = b"".join(line[0] for line in _PACKED_LINES.finditer(data))
            oid = self._batch.blob(data)
        else:
            return
        self._entries[name] = Entry(REGULAR, oid)
        if not is_racy(now.ctime_ns, self._looked_at):
            self.files[name] = now, oid

    # -- what is staged

    def _stage(self, repository: Repository) -> None:
        try:
            index = signature(os.lstat(repository.index_path))
        except FileNotFoundError:
            index = None
        head = _head(repository)
        key = index, head
        if self._known_staged is not None and self._known_staged[0] == key:
            oid = self._known_staged[1]
        else:
            data = self._staged(repository, head)
            oid = self._batch.blob(data) if data else None
        if oid is not None:
            self._entries[STAGED] = Entry(REGULAR, oid)
        if index is None or not is_racy(index.ctime_ns, self._looked_at):
            self.staged = key, oid

    def _staged(self, repository: Repository, head: ObjectId | None) -> bytes:
        blobs = ProjectBlobs(object_directories(repository.objects))

        def read(oid: ObjectId, kind: str) -> bytes:
            data = blobs.read(oid, PACKED_BYTES, "tree" if kind == "tree" else "commit")
            if data is None:
                raise StoreCorrupt(f"{kind} {oid.hex()} of the project is missing", object=oid.hex())
            return data

        def read_tree(oid: ObjectId) -> tuple[TreeEntry, ...]:
            return () if oid == EMPTY_TREE else decode_tree(read(oid, "tree"), oid)

        tree = None if head is None else decode_commit(read(head, "commit"), head)[0]
        try:
            cache = _cache_of(repository.index_path)
            if tree is not None and cached_trees(cache, 1).get(b"") == tree:
                return b""
            index = read_index(repository.index_path)
            return encode_staged(staged(index, cached_trees(cache), tree, read_tree))
        except FileNotFoundError:
            return encode_staged(staged(_NO_INDEX, {}, tree, read_tree))
        except (MalformedIndex, ValueError, IndexError):
            raise _Unreadable("unreadable") from None


def _listed(path: bytes) -> Iterator[os.DirEntry[bytes]]:
    try:
        entries = os.scandir(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        yield from entries


def _cache_of(path: bytes) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _Unreadable("unreadable")
        # git never changes the file itself, so no part of it goes away meanwhile
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as data:
            return cache_tree(data)
    finally:
        os.close(descriptor)


def _head(repository: Repository) -> ObjectId | None:
    """Returns the commit that `HEAD` leads to; None for a branch without one."""
    own, shared = repository.git_dir, repository.common_dir
    name = b"HEAD"
    for _ in range(_DEPTH):
        base = shared if name.startswith((b"refs/heads/", b"refs/tags/", b"refs/remotes/")) else own
        value = _ref(os.path.join(base, name))
        if value is None:
            packed = dict[bytes, bytes]()
            try:
                data = read_bounded(os.path.join(shared, b"packed-refs"), _MOST_BYTES)
                packed = {ref: oid for oid, ref in _PACKED.findall(data)}
            except FileNotFoundError:
                pass
            value = packed.get(name)
        if value is None:
            return None
        if _ID.fullmatch(value):
            return bytes.fromhex(value.decode())
        name = value.removeprefix(b"ref:").strip()
    raise _Unreadable("unreadable")


def _ref(path: bytes) -> bytes | None:
    try:
        if os.path.islink(path):
            return b"ref: " + os.readlink(path)
        return read_bounded(path).strip()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None
