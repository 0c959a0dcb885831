"""Finds what changed in a work tree since the last look, stores it, and computes the tree.

A look compares every directory with what is in memory; only files whose signature moved are read, and only the trees
above them are written. What was learnt enters memory when it is stored, not before: a look that fails leaves a memory
that merely knows less.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Protocol

import attrs

from snapd.core.errors import from_os_error, os_errors
from snapd.core.ignore import IgnoreFile
from snapd.core.model import (
    EMPTY_TREE,
    SYMLINK,
    TREE,
    Coverage,
    Entry,
    RuleText,
    Skip,
    SkipReason,
    Snapshot,
    TreeEntry,
)
from snapd.core.paths import is_tree_name

from .disk import STREAM_FROM, Directories, open_directory, read_link, read_small, read_stable, signature, tree_mode
from .nodes import DirectoryNode, FileNode, Reach, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from snapd.core.call import Call
    from snapd.core.model import CaptureSettings, ObjectId, RelPath

    from .rules import Rules, RuleSource

_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE)
_DENIED = (errno.EACCES, errno.EPERM)
_ROUNDS = 4
_PARALLEL_FROM = 64
_AT_A_TIME = 32

OWN_TEMPORARY = re.compile(rb"\.snapd-tmp-[0-9a-f]{16}")
"""Names of files that an operation of ours is about to move into place; never captured."""


class Batch(Protocol):
    """Where the objects of a snapshot are stored."""

    def blob(self, data: bytes) -> ObjectId:
        """Adds a file's bytes."""

    def blob_stream(self, size: int, chunks: Iterator[bytes]) -> ObjectId:
        """Adds a large file's bytes, piece by piece."""

    def tree(self, entries: Iterable[TreeEntry]) -> ObjectId:
        """Adds a directory."""

    def commit(self) -> None:
        """Stores all that was added."""


@attrs.define
class _Walk:
    """What one walk over the directories found."""

    visited: list[tuple[RelPath, DirectoryNode]] = attrs.field(factory=list)
    stamps: list[tuple[RelPath, os.stat_result]] = attrs.field(factory=list)
    to_read: list[tuple[RelPath, DirectoryNode, list[tuple[bytes, bool]]]] = attrs.field(factory=list)
    skipped: list[Skip] = attrs.field(factory=list)
    texts: list[RuleText] = attrs.field(factory=list)
    raced: bool = False


class Scanner:
    """The memory of one work tree, and the looks at it. One look at a time.

    Args:
        root: descriptor of the workspace.
        device: of the workspace; what is mounted inside is not crossed into.
        rules: where the ignore rules come from.
        hidden: a directory that is never captured (a store inside the workspace), if any.
    """

    def __init__(self, root: int, device: int, rules: RuleSource, hidden: RelPath | None) -> None:
        self._root = root
        self._device = device
        self._rules = rules
        self._hidden = hidden
        self.memory = DirectoryNode()
        self.captured: ObjectId | None = None

    def capture(self, settings: CaptureSettings, forced: tuple[RelPath, ...], batch: Batch, call: Call) -> Snapshot:
        """Captures the work tree as it is.

        Args:
            settings: own excludes and the size limit.
            forced: ignored paths, files or directories, to capture all the same.
            batch: where new objects go; committed here.
            call: the request that this is for.

        Returns:
            The snapshot; its objects are stored.

        Raises:
            IoError, StorageFull: there is no snapshot.
            InvalidParams: the workspace's own settings are wrong.
            Cancelled: as asked.
        """
        rules = self._rules.read(settings.exclude)
        verdict = Verdict(Reach.RULES, rules.stack, (rules.tracked,), forced)
        for _ in range(_ROUNDS):
            walk = self._walk(rules, verdict, settings, call)
            if not walk.raced and self._held_still(walk):
                break
        learnt = self._read_all(walk, settings, batch, call)
        trees = _trees(walk, learnt, batch)
        call.check()
        if trees.get(id(self.memory)) == EMPTY_TREE:
            # of all empty trees the root's alone has to be stored: a commit names it
            batch.tree(())
        batch.commit()
        for node, name, file in learnt:
            if file is None:
                node.files.pop(name, None)
            else:
                node.files[name] = file
        for _, node in walk.visited:
            if id(node) in trees:
                node.tree = trees[id(node)]
        assert self.memory.tree is not None
        self.captured = self.memory.tree
        coverage = Coverage(
            prefix=rules.prefix,
            empty_dirs=tuple(sorted(path for path, node in walk.visited if node.vacant and path)),
            skipped=tuple(sorted(walk.skipped, key=lambda skip: skip.path)),
            rules=(*rules.texts, *sorted(walk.texts, key=lambda text: text.base)),
            forced=tuple(sorted(forced)),
        )
        return Snapshot(self.memory.tree, coverage)

    # -- walking

    def _walk(self, rules: Rules, verdict: Verdict, settings: CaptureSettings, call: Call) -> _Walk:
        walk = _Walk()
        pending: list[tuple[RelPath, DirectoryNode, DirectoryNode | None, Verdict]] = [
            (b"", self.memory, None, verdict)
        ]
        with Directories(self._root) as directories:
            while pending:
                path, node, above, verdict = pending.pop()
                call.progress("looking", len(walk.visited))
                try:
                    descriptor = directories.open(path)
                except OSError as error:
                    if above is None or not _forgivable(error):
                        raise from_os_error(error, path or b".") from error
                    _forget(above, path)
                    if error.errno in _DENIED:
                        above.foreign = True
                        walk.skipped.append(Skip(path, SkipReason.UNREADABLE))
                    else:
                        walk.raced = True
                    continue
                with os_errors(path or b"."):
                    stamp = os.fstat(descriptor)
                    if stamp.st_dev != self._device:
                        _forget(above or node, path)
                        (above or node).foreign = True
                        walk.skipped.append(Skip(path, SkipReason.SPECIAL))
                        continue
                    walk.stamps.append((path, stamp))
                    walk.visited.append((path, node))
                    node.identity = (stamp.st_dev, stamp.st_ino)
                    verdict = self._enter(path, node, descriptor, rules, verdict)
                    pending += self._list(path, node, descriptor, rules, verdict, settings, walk)
        return walk

    def _held_still(self, walk: _Walk) -> bool:
        """Whether no directory changed while others were listed, so that no rename slipped between."""
        with Directories(self._root) as directories:
            for path, then in walk.stamps:
                try:
                    now = os.fstat(directories.open(path))
                except OSError:
                    return False
                if (now.st_ino, now.st_mtime_ns, now.st_ctime_ns) != (then.st_ino, then.st_mtime_ns, then.st_ctime_ns):
                    return False
        return True

    def _enter(self, path: RelPath, node: DirectoryNode, descriptor: int, rules: Rules, verdict: Verdict) -> Verdict:
        """Takes the directory's own `.gitignore` and nested index into the verdict."""
        if verdict.reach is Reach.ALL:
            return verdict
        node.gitignore = _gitignore(node.gitignore, descriptor, _join(rules.prefix, path))
        if node.gitignore is not None:
            verdict = attrs.evolve(verdict, stack=verdict.stack.entering(node.gitignore))
        if path and _has(descriptor, b".git") and (held := self._rules.nested(path)) is not None:
            verdict = attrs.evolve(verdict, tracked=(*verdict.tracked, held))
        return verdict

    def _list(
        self,
        path: RelPath,
        node: DirectoryNode,
        descriptor: int,
        rules: Rules,
        verdict: Verdict,
        settings: CaptureSettings,
        walk: _Walk,
    ) -> list[tuple[RelPath, DirectoryNode, DirectoryNode | None, Verdict]]:
        known = node.verdict == verdict
        judged = node.ignored if known else {}
        ignored: dict[bytes, bool] = {}
        files: set[bytes] = set()
        directories: list[tuple[RelPath, DirectoryNode, DirectoryNode | None, Verdict]] = []
        names: set[bytes] = set()
        reads: list[tuple[bytes, bool]] = []
        node.vacant, node.foreign = True, False
        with os.scandir(descriptor) as entries:
            for entry in entries:
                node.vacant = False
                name = os.fsencode(entry.name)
                here = _join(path, name)
                if name == b".git" or here == self._hidden or OWN_TEMPORARY.fullmatch(name):
                    node.foreign = True
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    walk.raced = True
                    continue
                except PermissionError:
                    # the directory may be listed, but not what is in it
                    node.foreign = True
                    walk.skipped.append(Skip(here, SkipReason.UNREADABLE))
                    continue
                kind = stat.S_IFMT(status.st_mode)
                is_directory = kind == stat.S_IFDIR
                is_known = known and name in (node.directories if is_directory else node.files)
                if judged.get(name) is is_directory:
                    ignored[name] = is_directory
                    node.foreign = True
                    continue
                reach = verdict.reach
                if is_known and is_directory:
                    before = node.directories[name].verdict
                    reach = before.reach if before is not None else reach
                elif not is_known:
                    judgement = _judge(here, _join(rules.prefix, here), is_directory, verdict)
                    if judgement is None:
                        ignored[name] = is_directory
                        node.foreign = True
                        continue
                    reach = judgement
                if not is_tree_name(name):
                    node.foreign = True
                    walk.skipped.append(Skip(here, SkipReason.UNSUPPORTED_NAME))
                elif is_directory:
                    names.add(name)
                    child = node.directories.get(name)
                    if child is None:
                        child = node.directories[name] = DirectoryNode()
                        node.tree = None
                    directories.append((here, child, node, attrs.evolve(verdict, reach=reach)))
                elif kind in (stat.S_IFREG, stat.S_IFLNK):
                    if kind == stat.S_IFREG and status.st_size > settings.max_file_size:
                        node.foreign = True
                        walk.skipped.append(Skip(here, SkipReason.TOO_LARGE))
                        continue
                    files.add(name)
                    file = node.files.get(name)
                    if file is None or file.racy or file.signature != signature(status):
                        reads.append((name, kind == stat.S_IFLNK))
                else:
                    node.foreign = True
                    walk.skipped.append(Skip(here, SkipReason.SPECIAL))
        for name in [name for name in node.files if name not in files]:
            del node.files[name]
            node.tree = None
        for name in [name for name in node.directories if name not in names]:
            del node.directories[name]
            node.tree = None
        node.verdict, node.ignored = verdict, ignored
        if reads:
            walk.to_read.append((path, node, reads))
        if node.gitignore is not None and b".gitignore" not in files and verdict.reach is Reach.RULES:
            walk.texts.append(RuleText("gitignore", node.gitignore.base, node.gitignore.text))
        return directories

    # -- reading

    def _read_all(
        self, walk: _Walk, settings: CaptureSettings, batch: Batch, call: Call
    ) -> list[tuple[DirectoryNode, bytes, FileNode | None]]:
        total = sum(len(names) for _, _, names in walk.to_read)
        learnt: list[tuple[DirectoryNode, bytes, FileNode | None]] = []
        if total < _PARALLEL_FROM:
            for path, node, names in walk.to_read:
                call.progress("hashing", len(learnt), total)
                learnt += self._read(path, node, names, walk, settings, batch, call)
            return learnt
        # hashing and compression let go of the interpreter lock
        with ThreadPoolExecutor(os.cpu_count() or 2, thread_name_prefix="snapd-read") as pool:
            futures = [
                pool.submit(self._read, path, node, names[start : start + _AT_A_TIME], walk, settings, batch, call)
                for path, node, names in walk.to_read
                for start in range(0, len(names), _AT_A_TIME)
            ]
            try:
                for future in as_completed(futures):
                    learnt += future.result()
                    call.progress("hashing", len(learnt), total)
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
        return learnt

    def _read(
        self,
        path: RelPath,
        node: DirectoryNode,
        names: list[tuple[bytes, bool]],
        walk: _Walk,
        settings: CaptureSettings,
        batch: Batch,
        call: Call,
    ) -> list[tuple[DirectoryNode, bytes, FileNode | None]]:
        def store(size: int, chunks: Iterator[bytes]) -> ObjectId:
            if size >= STREAM_FROM:
                return batch.blob_stream(size, _checked(chunks, call))
            data = b"".join(chunks)
            if len(data) != size:
                raise ValueError(f"{len(data)} bytes instead of {size}")
            return batch.blob(data)

        learnt: list[tuple[DirectoryNode, bytes, FileNode | None]] = []
        try:
            descriptor = open_directory(self._root, path)
        except OSError as error:
            if error.errno not in _GONE:
                raise from_os_error(error, path or b".") from error
            return [(node, name, None) for name, _ in names]
        try:
            for name, is_link in names:
                call.check()
                try:
                    if is_link:
                        found = read_link(descriptor, name, store)
                    else:
                        found = read_stable(descriptor, name, settings.max_file_size, store)
                except OSError as error:
                    if error.errno not in _GONE:
                        raise from_os_error(error, _join(path, name)) from error
                    learnt.append((node, name, None))
                    continue
                if isinstance(found, SkipReason):
                    node.foreign = True
                    walk.skipped.append(Skip(_join(path, name), found))
                    learnt.append((node, name, None))
                else:
                    oid, seen, racy = found
                    mode = SYMLINK if is_link else tree_mode(seen.mode)
                    learnt.append((node, name, FileNode(Entry(mode, oid), seen, racy)))
        finally:
            os.close(descriptor)
        return learnt


def _judge(path: RelPath, match_path: bytes, is_directory: bool, verdict: Verdict) -> Reach | None:
    """How far a name is captured; None where it is ignored."""
    for forced in verdict.forced:
        if path == forced or path.startswith(forced + b"/"):
            return Reach.ALL
    if verdict.reach is Reach.ALL:
        return Reach.ALL
    if verdict.reach is Reach.RULES and not verdict.stack.ignored(match_path, is_directory):
        return Reach.RULES
    if not is_directory and any(tracked.holds(path) for tracked in verdict.tracked):
        return Reach.RULES
    if is_directory and (
        any(tracked.below(path) for tracked in verdict.tracked)
        or any(forced.startswith(path + b"/") for forced in verdict.forced)
    ):
        return Reach.HELD
    return None


def _trees(
    walk: _Walk, learnt: list[tuple[DirectoryNode, bytes, FileNode | None]], batch: Batch
) -> dict[int, ObjectId]:
    """The ids of the trees that changed, by the identity of their node; children come before their parents."""
    moved: dict[int, dict[bytes, FileNode | None]] = {}
    for node, name, file in learnt:
        before = node.files.get(name)
        if file is None or before is None or before.entry != file.entry:
            moved.setdefault(id(node), {})[name] = file
    trees: dict[int, ObjectId] = {}
    for _, node in reversed(walk.visited):
        files = moved.get(id(node))
        if (
            node.tree is not None
            and files is None
            and not any(id(child) in trees for child in node.directories.values())
        ):
            continue
        entries = [TreeEntry(name, file.entry.mode, file.entry.oid) for name, file in _merged(node.files, files)]
        for name, child in node.directories.items():
            tree = trees.get(id(child), child.tree)
            if tree is not None and tree != EMPTY_TREE:
                entries.append(TreeEntry(name, TREE, tree))
        trees[id(node)] = batch.tree(entries) if entries else EMPTY_TREE
    return trees


def _merged(
    files: dict[bytes, FileNode], moved: dict[bytes, FileNode | None] | None
) -> Iterator[tuple[bytes, FileNode]]:
    if moved is None:
        yield from files.items()
        return
    for name, file in {**files, **moved}.items():
        if file is not None:
            yield name, file


def _gitignore(known: IgnoreFile | None, descriptor: int, base: bytes) -> IgnoreFile | None:
    text = read_small(b".gitignore", descriptor)
    if text is None:
        return None
    if known is not None and known.text == text and known.base == base:
        return known
    return IgnoreFile.parse(text, base)


def _has(directory: int, name: bytes) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    return True


def _forgivable(error: OSError) -> bool:
    return error.errno in _GONE or error.errno in _DENIED


def _forget(above: DirectoryNode, path: RelPath) -> None:
    above.directories.pop(path.rpartition(b"/")[2], None)
    above.tree = None


def _join(above: bytes, name: bytes) -> bytes:
    return above + b"/" + name if above else name


def _checked(chunks: Iterator[bytes], call: Call) -> Iterator[bytes]:
    for chunk in chunks:
        call.check()
        yield chunk
