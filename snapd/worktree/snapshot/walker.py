"""Compares the work tree with its known state: lists directories and classifies names, but reads no file.

It updates the state at once: drops what is gone, marks what is new or differs as `unread`.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import attrs

from snapd.model.call import Call
from snapd.model.errors import error_from_os_error, os_errors
from snapd.model.ignore import RULES_BYTES, IgnoreFile
from snapd.model.paths import parents
from snapd.model.snapshot import RelPath, SkipReason, file_clock_ns
from snapd.watch.clock import ITSELF, Clock, Marks
from snapd.workers.processes import ChildProcess, WorkerLost, WorkerPool
from snapd.worktree.fs.directories import Directories
from snapd.worktree.fs.listing import Listing, decode, list_directory
from snapd.worktree.fs.stable_read import is_racy, read_small
from snapd.worktree.git.index_seed import IndexSeed
from snapd.worktree.ignore import RuleEvaluator, Scope
from snapd.worktree.snapshot.classifier import NameClassifier, Visit
from snapd.worktree.snapshot.lister_process import PATH
from snapd.worktree.state.file_state import inode_of
from snapd.worktree.state.nodes import DirectoryNode, Uncaptured, join
from snapd.worktree.state.tree_state import TreeState

logger = logging.getLogger(__name__)

LISTER_FROM = 512  # directories; to start processes costs 50 ms, and they save some 70 us for each
_POLL_SECONDS = 0.1  # how soon a cancelled request stops waiting for a listing

GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE)
_DENIED = (errno.EACCES, errno.EPERM)
_RULE_NAMES = frozenset((b".gitignore", b".git"))


T = TypeVar("T")

_PROCESSES = 2
_AHEAD = 96  # listings in flight per process


class ListerPool(WorkerPool[T, Listing]):
    """Processes that list and watch directories below `root` for one scan; they follow no symlink.

    Two take half the time of one: building objects from statuses holds the interpreter lock.
    """

    def __init__(self, root: int, clock_queues: Sequence[int] = ()) -> None:
        shared = [root, *clock_queues]

        def start() -> ChildProcess:
            argument = " ".join(map(str, shared))
            return ChildProcess("snapd.worktree.snapshot.lister_process", argument, share=shared, is_quiet=True)

        super().__init__(_PROCESSES, start, decode, _AHEAD)

    def list_directory(self, path: RelPath, tag: T) -> None:
        """Requests the listing of a directory below the root; `tag` comes back with it. Raises `WorkerLost`."""
        self.ask(PATH.pack(len(path)) + path, (tag,))


def start_lister(root: int, clock: Clock) -> ListerPool[T] | None:
    """Starts the lister processes for a scan, with the clock's queues; returns None if they cannot start."""
    try:
        return ListerPool(root, clock.share_queues())
    except OSError as error:
        logger.warning("cannot start processes that list directories, this process lists them: %s", error)
        stop_lister(None, clock)
        return None


def stop_lister(lister: ListerPool[T] | None, clock: Clock) -> None:
    """Stops the lister processes, if any, and returns the clock its queues."""
    if lister is not None:
        lister.close()
    clock.end_sharing()


@attrs.define
class Walker:
    """One scan, of the whole work tree or of what is marked."""

    root: int
    device: int  # of the workspace; the scan does not enter mounts
    clock: Clock  # watches every directory before it is listed
    classifier: NameClassifier
    call: Call
    lister: ListerPool[Visit] | None = None  # stopped by the scan
    visited: dict[DirectoryNode, None] = attrs.field(factory=dict)
    listings: list[tuple[RelPath, Listing]] = attrs.field(factory=list)
    raced: bool = False  # something vanished during the scan
    unfinished: bool = False  # changes went on throughout, and what they marked was not checked
    state: TreeState = attrs.field(init=False)
    evaluator: RuleEvaluator = attrs.field(init=False)
    _begun: int = attrs.field(factory=file_clock_ns)
    _directories: Directories = attrs.field(init=False)
    _may_start_lister: bool = False

    def __attrs_post_init__(self) -> None:
        self.state, self.evaluator = self.classifier.state, self.classifier.evaluator

    def walk_all(self) -> None:
        """Scans the whole work tree; raises `IoError`, `Cancelled`."""
        self.raced = False
        self.listings.clear()
        self._may_start_lister = True
        try:
            self._walk_all()
        except WorkerLost as error:
            logger.warning("a process that lists directories failed (%s): this process lists them", error)
            self._may_start_lister = False
            # some directories may have been classified by the new rules, and their subdirectories by the old ones
            self.state.invalidate_rules()
            self._walk_all()

    def walk_marked(self, marks: Marks, doubted: Iterable[RelPath]) -> None:
        """Scans what the clock marked, and each part of `doubted` paths; raises `IoError`, `Cancelled`."""
        self.raced = False
        self._may_start_lister = False
        with self._open():
            for path in doubted:
                self._classify_again(path)
            met: set[int] = set()
            self._lose_directories(marks)
            there: list[tuple[DirectoryNode, set[bytes]]] = []
            lost: list[tuple[DirectoryNode, set[bytes]]] = []
            for node, names in marks.names.items():
                self.call.check()
                assert isinstance(node, DirectoryNode)
                if self.state.path_of(node) is not None:
                    there.append((node, names))
                else:
                    # if it is found elsewhere, it is listed there
                    lost.append((node, names - {ITSELF}))
            for node, names in (*there, *lost):
                path_there = self.state.path_of(node)
                if path_there is not None:
                    self.look_into(path_there, node, names, marked=names, met=met)
            # a write through a name outside the workspace marks nothing
            for node, names in list(self.state.linked.items()):
                self._visit_names(node, names, marks.inodes, met)
            self._visit_other_names(marks.inodes, met)

    def is_still(self) -> bool:
        """Returns whether no directory changed while others were listed, so that no rename was missed."""
        with Directories(self.root) as directories:
            for path, then in self.listings:
                try:
                    descriptor = directories.open(path)
                    now = os.fstat(descriptor)
                    if (now.st_ino, now.st_mtime_ns, now.st_ctime_ns) != (then.inode, then.mtime_ns, then.ctime_ns):
                        return False
                    if is_racy(then.ctime_ns, self._begun):
                        # a name that came or went within one clock tick changed no time
                        again = list_directory(descriptor)
                        if (again.names, again.directories) != (then.names, then.directories):
                            return False
                except OSError:
                    return False
        return True

    # -- marked names

    def _lose_directories(self, marks: Marks) -> None:
        """Loses marked directories that are gone from their place, before any is found elsewhere."""
        for node, names in marks.names.items():
            assert isinstance(node, DirectoryNode)
            path = self.state.path_of(node)
            directories = names & node.directories.keys()
            if path is None or not directories or (descriptor := self._enter(path, node)) is None:
                continue
            for name in directories & node.directories.keys():
                self.call.check()
                status = self._status(path, node, name, descriptor)
                if status is not None and status.st_ino != node.directories[name].inode:
                    self.state.lose(node, name)

    def look_into(
        self, path: RelPath, node: DirectoryNode, names: Collection[bytes], *, marked: Container[bytes], met: set[int]
    ) -> None:
        """Checks names of a directory and adds their inodes to `met`; those in `marked` are read in any case."""
        rules = node.rules
        has_rules = not _RULE_NAMES.isdisjoint(names)
        if rules is None or ITSELF in names or has_rules:
            self._visit_again(path, node, deep=rules is None or has_rules)
            return
        descriptor = self._enter(path, node)
        if descriptor is None:
            return
        if node.rules is None:
            self._visit_again(path, node, deep=True)
            return
        visit = Visit(path, node, rules, deep=False)
        self.visited[node] = None
        for name in names:
            self.call.check()
            status = self._status(path, node, name, descriptor)
            if status is None:
                continue
            met.add(status.st_ino)
            self.classifier.consider(visit, name, status, same_rules=True)
            if name in marked and stat.S_ISREG(status.st_mode) and name in node.files:
                # a write to a mapped page changes no time; only the end of the mapping is marked
                self.state.mark_unread(node, name, is_link=False)
        self._walk()

    def _visit_again(self, path: RelPath, node: DirectoryNode, *, deep: bool) -> None:
        above = node.parent.rules if node.parent is not None else None
        rules = self.evaluator.entering(path, above, node.rules)
        if rules is None:
            assert node.parent is not None
            self.visited[node.parent] = None
            self.state.put_other(node.parent, node.name, Uncaptured.IGNORED_DIRECTORY)
            return
        self.classifier.pending.append(Visit(path, node, rules, deep))
        # at once: the old rules must not classify what is visited later
        self._walk()

    def _classify_again(self, path: RelPath) -> None:
        for above in (*reversed(parents(path)), path):
            folder, _, name = above.rpartition(b"/")
            node = self.state.root.directory(folder)
            if node is None or node.rules is None or (descriptor := self._enter(folder, node)) is None:
                return
            self.visited[node] = None
            status = self._status(folder, node, name, descriptor)
            if status is None:
                return
            self.classifier.consider(Visit(folder, node, node.rules, deep=False), name, status, same_rules=False)
            self._walk()

    def _status(self, path: RelPath, node: DirectoryNode, name: bytes, descriptor: int) -> os.stat_result | None:
        """Returns the `lstat` result of a name; None if it is not there or not readable."""
        try:
            return os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        except OSError as error:
            if error.errno in _DENIED:
                # the directory may be listed, but not its entries
                self.state.put_other(node, name, SkipReason.UNREADABLE)
            elif error.errno in GONE:
                self.state.lose(node, name)
            else:
                raise error_from_os_error(error, join(path, name)) from error
        return None

    # -- whole directories

    def _walk_all(self) -> None:
        with self._open():
            self.classifier.pending.append(Visit(b"", self.state.root, self.evaluator.root, deep=True))
            self._walk()
            self._visit_other_names(set(), set())

    def _walk(self) -> None:
        while self.classifier.pending or (self.lister is not None and self.lister.is_waiting):
            if self.classifier.pending and (self.lister is None or self.lister.has_room):
                self._visit(self.classifier.pending.pop())
                continue
            assert self.lister is not None
            self.call.check()
            for visit, listing in self.lister.answers(_POLL_SECONDS):
                self._answered(visit, listing)

    def _visit(self, visit: Visit) -> None:
        if not self.state.holds(visit.node):
            return
        self.call.progress("looking", len(self.visited))
        self.visited[visit.node] = None
        if self.lister is None and self._may_start_lister and len(self.classifier.pending) >= LISTER_FROM:
            self.lister = start_lister(self.root, self.clock)
            self._may_start_lister = self.lister is not None
        # the root is opened here: its inode and device are what the others are compared with
        if self.lister is not None and visit.path:
            self.lister.list_directory(visit.path, visit)
        else:
            self._list_here(visit)

    def _list_here(self, visit: Visit) -> None:
        descriptor = self._enter(visit.path, visit.node)
        if descriptor is None:
            return
        with os_errors(visit.path or b"."):
            listing = list_directory(descriptor)
        self._take_in(visit, listing)

    def _answered(self, visit: Visit, listing: Listing) -> None:
        node = visit.node
        is_there = self.state.holds(node)
        is_watched = listing.watch >= 0 or not self.clock.exact
        # the inode shows that this is the directory whose name was listed in its parent
        is_same = not listing.error and (listing.device, listing.inode) == (self.device, node.inode)
        if is_there and is_watched and is_same:
            if listing.watch >= 0:
                self.clock.adopt_watch(listing.watch, node)
            self._take_in(visit, listing)
            return
        if listing.watch >= 0:
            self.clock.drop_watch(listing.watch)
        if is_there:
            self._list_here(visit)

    def _enter(self, path: RelPath, node: DirectoryNode) -> int | None:
        """Opens and watches a directory, and checks that it is the expected one; returns None if there is none."""
        above = node.parent
        try:
            descriptor = self._directories.open(path)
        except OSError as error:
            if above is None or error.errno not in GONE + _DENIED:
                raise error_from_os_error(error, path or b".") from error
            if error.errno in _DENIED:
                self.state.put_other(above, node.name, SkipReason.UNREADABLE)
            else:
                self.state.lose(above, node.name)
                self.raced = True
            self.visited[above] = None
            return None
        with os_errors(path or b"."):
            status = os.fstat(descriptor)
            if above is not None and status.st_dev != self.device:
                self.state.coverage.cover(above, node.name, path)
                self.visited[above] = None
                return None
            if status.st_ino != node.inode:
                if node.inode and above is not None:
                    # another directory took its place: its state is void
                    self.clock.forget(node)
                    self._empty(node)
                node.inode = status.st_ino
            if node.watch < 0:
                self.clock.watch(descriptor, node)
        return descriptor

    def _empty(self, node: DirectoryNode) -> None:
        for name in (*node.files, *node.directories, *node.others):
            self.state.lose(node, name)
        self.state.unread.pop(node, None)
        node.rules = None

    def _take_in(self, visit: Visit, listing: Listing) -> None:
        path, node, rules, _ = visit
        self.raced = self.raced or listing.raced
        self.listings.append((path, listing))
        if rules.scope is not Scope.ALL:
            node.gitignore = self._gitignore(node, path) if _holds(listing.names, b".gitignore") else None
            has_git = _holds(listing.names, b".git") or _holds(listing.directories, b".git")
            rules = self.evaluator.inside(rules, path, node.gitignore, has_git)
        same_rules = rules.decides_as(node.rules)
        visit = Visit(path, node, rules, visit.deep or not same_rules)
        node.rules = rules
        if same_rules and self._is_unchanged(node, listing):
            if visit.deep:
                for name, child in node.directories.items():
                    assert child.rules is not None
                    scope = child.rules.scope
                    below = rules if scope is rules.scope else attrs.evolve(rules, scope=scope)
                    self.classifier.pending.append(Visit(join(path, name), child, below, visit.deep))
            return
        if self.classifier.seed is not None and _holds(listing.names, b".gitattributes"):
            self._regard_attributes(path, self.classifier.seed.seed)
        self.classifier.take(visit, listing, same_rules=same_rules)

    def _is_unchanged(self, node: DirectoryNode, listing: Listing) -> bool:
        """Returns whether nothing in a directory differs; faster for all its files at once than for each."""
        return (
            not node.others
            and not listing.denied
            and not listing.several
            and int.from_bytes(listing.largest, "little") <= self.classifier.limit
            and node not in self.state.unread
            and all(child.rules is not None for child in node.directories.values())
            and listing.directories == _ended(node.directories)
            and listing.directory_identities
            == [(child.inode, child.permissions) for child in node.directories.values()]
            and node.has_just(listing.names, listing.signatures)
        )

    def _regard_attributes(self, path: RelPath, seed: IndexSeed) -> None:
        try:
            descriptor = self._directories.open(path)
        except OSError as error:
            if error.errno not in GONE + _DENIED:
                raise error_from_os_error(error, path or b".") from error
            # it is unknown how git converted its files: they are read
            self.raced, self.classifier.seed = True, None
        else:
            seed.read_attributes(path, descriptor)

    def _gitignore(self, node: DirectoryNode, path: RelPath) -> IgnoreFile | None:
        try:
            text = read_small(b".gitignore", self._directories.open(path), RULES_BYTES, cut=True)
        except OSError as error:
            if error.errno not in GONE + _DENIED:
                raise error_from_os_error(error, path or b".") from error
            self.raced = True
            return node.gitignore
        base = join(self.evaluator.prefix, path)
        known = node.gitignore
        if text is None or (known is not None and known.text == text and known.base == base):
            return known if text is not None else None
        return IgnoreFile.parse(text, base)

    # -- before and after

    @contextmanager
    def _open(self) -> Iterator[None]:
        self.classifier.pending.clear()
        with Directories(self.root) as self._directories:
            try:
                yield
            finally:
                self.state.forget_lost()
                if self.lister is not None:
                    stop_lister(self.lister, self.clock)
                    self.lister = None

    def _visit_other_names(self, written: set[int], met: set[int]) -> None:
        """Checks other names of files that were `written` to or have several; both sets are of inode numbers."""
        several = self.classifier.several_names
        pending = (written - met) | several
        settled: set[int] = set()
        while pending and self.clock.exact:
            settled |= pending
            for node, names in self.state.names_of_inodes(pending).items():
                # files already known to have several names were checked before
                self._visit_names(node, names.difference(self.state.linked.get(node, ())), written, met)
            pending = several - settled
        several.clear()

    def _visit_names(self, node: DirectoryNode, names: Iterable[bytes], written: set[int], met: set[int]) -> None:
        path = self.state.path_of(node)
        if path is not None:
            records = ((name, node.files.get(name)) for name in names)
            marked = {name for name, record in records if record is not None and inode_of(record) in written}
            self.look_into(path, node, list(names), marked=marked, met=met)


def needs_lister(directories: Iterable[RelPath]) -> bool:
    """Returns whether there are so many directories, the root aside, that lister processes pay off."""
    known = {b""}
    for path in directories:
        known.add(path)
        if len(known) > LISTER_FROM:
            return True
    return False


def _holds(names: bytes, name: bytes) -> bool:
    return names.startswith(name + b"\0") or b"\0" + name + b"\0" in names


def _ended(names: Iterable[bytes]) -> bytes:
    joined = b"\0".join(names)
    return joined + b"\0" if joined else b""
