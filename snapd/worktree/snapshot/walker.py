"""Compares the work tree with what is remembered of it: directories are listed, names are judged, nothing is read.

What is found enters the memory at once: what is gone is forgotten, what is new or differs is put down as `unread`. A
look that is broken off leaves a memory that merely knows less.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import from_os_error, os_errors
from snapd.core.model import SkipReason
from snapd.core.paths import parents
from snapd.core.rules.ignore import IgnoreFile
from snapd.watch.clock import ITSELF
from snapd.workers.pool import WorkerLost
from snapd.worktree.fs.directories import Directories
from snapd.worktree.fs.listing import Listing, list_directory
from snapd.worktree.fs.stable_read import is_racy, read_small
from snapd.worktree.ignore.directory_rules import Scope
from snapd.worktree.state.file_state import inode_of
from snapd.worktree.state.nodes import DirectoryNode, Uncaptured

from .lister_pool import ListerPool

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator

    from snapd.core.call import Call
    from snapd.core.model import RelPath
    from snapd.watch.clock import Clock, Marks
    from snapd.worktree.git.index_seed import IndexSeed
    from snapd.worktree.ignore.directory_rules import DirectoryRules
    from snapd.worktree.ignore.evaluator import RuleEvaluator
    from snapd.worktree.state.tree_state import TreeState

    from .classifier import NameClassifier, Visit

logger = logging.getLogger(__name__)

_LISTER_FROM = 32
"""From this many directories on, it pays to have processes list them."""
_POLL_SECONDS = 0.1
"""How soon a cancelled request stops waiting for a listing."""

GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE)
_DENIED = (errno.EACCES, errno.EPERM)
_RULE_NAMES = frozenset((b".gitignore", b".git"))


@attrs.define
class Walker:
    """One look, at all of the work tree or at what is marked.

    Attributes:
        root: descriptor of the workspace.
        device: of the workspace; what is mounted inside is not crossed into.
        clock: has every directory watched before it is listed.
        sieve: puts down what is found.
        call: the request.
        lister: has begun to list what is looked at, where it was worth while; the look ends it.
        visited: the directories that were looked at.
        stamps: how each directory was when it was listed.
        raced: something went away while it was looked at.
        unfinished: changes went on for as long as it was looked: what they marked is still to be looked at.
    """

    root: int
    device: int
    clock: Clock
    classifier: NameClassifier
    call: Call
    lister: ListerPool[Visit] | None = None
    visited: dict[DirectoryNode, None] = attrs.field(factory=dict)
    listings: list[tuple[RelPath, Listing]] = attrs.field(factory=list)
    raced: bool = False
    unfinished: bool = False
    state: TreeState = attrs.field(init=False)
    evaluator: RuleEvaluator = attrs.field(init=False)
    _begun: int = attrs.field(factory=time.time_ns)
    _directories: Directories = attrs.field(init=False)
    _deep: bool = False

    def __attrs_post_init__(self) -> None:
        self.state, self.evaluator = self.classifier.state, self.classifier.evaluator

    def walk_everything(self) -> None:
        """Looks at the whole work tree.

        Raises:
            IoError: the disk is in trouble.
            Cancelled: as asked.
        """
        self.raced = False
        self.listings.clear()
        self._deep = True
        try:
            self._walk_all()
        except WorkerLost as error:
            logger.warning("a process that lists directories failed (%s): this process lists them", error)
            self._deep = False
            # a directory may have been judged by new rules, and those in it that were still to come by the old ones
            self.state.invalidate_rules()
            self._walk_all()

    def walk_marked(self, marks: Marks, doubted: Iterable[RelPath]) -> None:
        """Looks at what may have changed.

        Args:
            marks: what the clock says.
            doubted: paths whose rules changed: each part of them is judged anew.

        Raises:
            IoError, Cancelled: as `walk_everything`.
        """
        self.raced = False
        self._deep = False
        with self._open():
            for path in doubted:
                self._judge_anew(path)
            seen: set[int] = set()
            for place, names in marks.names.items():
                assert isinstance(place, DirectoryNode)
                path_there = self.state.path_of(place)
                if path_there is not None:
                    self._look_into(path_there, place, names, told=names, seen=seen)
            # nothing is told of what is written through a name that lies outside
            for place, names in list(self.state.linked.items()):
                self._look_at_names(place, names, marks.inodes, seen)
            self._look_at_other_names(marks.inodes, seen)

    def held_still(self) -> bool:
        """Whether no directory changed while others were listed, so that no rename slipped between."""
        with Directories(self.root) as directories:
            for path, then in self.listings:
                try:
                    descriptor = directories.open(path)
                    now = os.fstat(descriptor)
                    if (now.st_ino, now.st_mtime_ns, now.st_ctime_ns) != (then.inode, then.mtime_ns, then.ctime_ns):
                        return False
                    if is_racy(then.ctime_ns, self._begun):
                        # what came or went since, within the same clock tick, left no trace
                        again = list_directory(descriptor)
                        if (again.names, again.directories) != (then.names, then.directories):
                            return False
                except OSError:
                    return False
        return True

    # -- marked names

    def _look_into(
        self, path: RelPath, node: DirectoryNode, names: Collection[bytes], told: Container[bytes], seen: set[int]
    ) -> None:
        """Looks at some names of a directory.

        Args:
            path: the directory.
            node: the same.
            names: in it.
            told: those that something was told of: they are read even where no time says that they changed.
            seen: takes the inode numbers that were found.
        """
        rules = node.rules
        has_rules = not _RULE_NAMES.isdisjoint(names)
        if rules is None or ITSELF in names or has_rules:
            self._look_again(path, node, deep=rules is None or has_rules)
            return
        descriptor = self._enter(path, node)
        if descriptor is None:
            return
        if node.rules is None:
            self._look_again(path, node, deep=True)
            return
        self.visited[node] = None
        for name in names:
            self.call.check()
            with os_errors(_join(path, name)):
                try:
                    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                except OSError as error:
                    self._unseen(node, name, error)
                    continue
            seen.add(status.st_ino)
            self.classifier.consider(path, node, name, status, rules, known=True, deep=False)
            if name in told and stat.S_ISREG(status.st_mode) and name in node.files:
                # a store to a page that was mapped before changes no time; that the mapping went is told
                self.state.mark_unread(node, name, is_link=False)
        self._walk()

    def _look_again(self, path: RelPath, node: DirectoryNode, *, deep: bool) -> None:
        above = node.parent.rules if node.parent is not None else None
        rules = self.evaluator.entering(path, above, node.rules)
        if rules is None:
            assert node.parent is not None
            self.visited[node.parent] = None
            self.state.put_other(node.parent, node.name, Uncaptured.IGNORED_DIRECTORY)
            return
        self.classifier.pending.append((path, node, rules, deep))
        # at once: what is looked at later must not be judged by what held before
        self._walk()

    def _judge_anew(self, path: RelPath) -> None:
        for above in (*reversed(parents(path)), path):
            folder, _, name = above.rpartition(b"/")
            node = self.state.root.directory(folder)
            if node is None or node.rules is None or (descriptor := self._enter(folder, node)) is None:
                return
            self.visited[node] = None
            with os_errors(above):
                try:
                    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                except OSError as error:
                    self._unseen(node, name, error)
                    return
            self.classifier.consider(folder, node, name, status, node.rules, known=False, deep=False)
            self._walk()

    def _unseen(self, node: DirectoryNode, name: bytes, error: OSError) -> None:
        if error.errno in _DENIED:
            # the directory may be listed, but not what is in it
            self.state.put_other(node, name, SkipReason.UNREADABLE)
        elif error.errno in GONE:
            self.state.drop(node, name)
        else:
            raise error

    # -- whole directories

    def _walk_all(self) -> None:
        with self._open():
            self.classifier.pending.append((b"", self.state.root, self.evaluator.root, True))
            self._walk()
            self._look_at_other_names(set(), set())

    def _walk(self) -> None:
        while self.classifier.pending or (self.lister is not None and self.lister.is_waiting):
            if self.classifier.pending and (self.lister is None or self.lister.has_room):
                self._visit(*self.classifier.pending.pop())
                continue
            assert self.lister is not None
            self.call.check()
            for visit, listing in self.lister.answers(_POLL_SECONDS):
                self._answered(visit, listing)

    def _visit(self, path: RelPath, node: DirectoryNode, rules: DirectoryRules, deep: bool) -> None:
        if not self.state.holds(node):
            return
        self.call.progress("looking", len(self.visited))
        self.visited[node] = None
        if self.lister is None and self._deep and len(self.classifier.pending) >= _LISTER_FROM:
            self.lister = start_lister(self.root, self.clock)
            self._deep = self.lister is not None
        # the root is opened here: its inode and device are what the others are compared with
        if self.lister is not None and path:
            self.lister.list_directory(path, (path, node, rules, deep))
        else:
            self._list_here(path, node, rules, deep)

    def _list_here(self, path: RelPath, node: DirectoryNode, rules: DirectoryRules, deep: bool) -> None:
        descriptor = self._enter(path, node)
        if descriptor is None:
            return
        with os_errors(path or b"."):
            listing = list_directory(descriptor)
        self._take_in(path, node, listing, rules, deep)

    def _answered(self, visit: Visit, listing: Listing) -> None:
        path, node, rules, deep = visit
        is_there = self.state.holds(node)
        is_told = listing.watch >= 0 or not self.clock.exact
        # by its inode it is the one that the directory above was seen to hold, or still to hold
        if is_there and is_told and not listing.error and (listing.device, listing.inode) == (self.device, node.inode):
            if listing.watch >= 0:
                self.clock.adopt_watch(listing.watch, node)
            self._take_in(path, node, listing, rules, deep)
            return
        self._let_go(listing)
        if is_there:
            self._list_here(path, node, rules, deep)

    def _let_go(self, listing: Listing) -> None:
        if listing.watch >= 0:
            self.clock.drop_watch(listing.watch)

    def _enter(self, path: RelPath, node: DirectoryNode) -> int | None:
        """Opens a directory, has it watched, and checks that it is the one that is meant; None where there is none."""
        above = node.parent
        try:
            descriptor = self._directories.open(path)
        except OSError as error:
            if above is None or error.errno not in GONE + _DENIED:
                raise from_os_error(error, path or b".") from error
            if error.errno in _DENIED:
                self.state.put_other(above, node.name, SkipReason.UNREADABLE)
            else:
                self.state.drop_directory(above, node.name)
                self.raced = True
            self.visited[above] = None
            return None
        with os_errors(path or b"."):
            found = os.fstat(descriptor)
            if above is not None and found.st_dev != self.device:
                self.state.put_other(above, node.name, SkipReason.SPECIAL)
                self.visited[above] = None
                return None
            if found.st_ino != node.inode:
                if node.inode and above is not None:
                    # another directory took its place: nothing that is remembered holds
                    self.clock.forget(node)
                    self._empty(node)
                node.inode = found.st_ino
            if node.watch < 0:
                self.clock.watch(descriptor, node)
        return descriptor

    def _empty(self, node: DirectoryNode) -> None:
        for name in (*node.files, *node.directories, *node.others):
            self.state.drop(node, name)
        self.state.unread.pop(node, None)
        node.rules = None

    def _take_in(self, path: RelPath, node: DirectoryNode, listing: Listing, rules: DirectoryRules, deep: bool) -> None:
        """Considers each name of a directory.

        Args:
            path: the directory.
            node: the same.
            listing: what it holds.
            rules: of the directory above, with this one's scope.
            deep: all below it is looked at as well, not only what is new.
        """
        self.raced = self.raced or listing.raced
        self.listings.append((path, listing))
        if rules.scope is not Scope.ALL:
            node.gitignore = self._gitignore(node, path) if _holds(listing.names, b".gitignore") else None
            has_git = _holds(listing.names, b".git") or _holds(listing.directories, b".git")
            rules = self.evaluator.inside(rules, path, node.gitignore, has_git)
        known = rules.decides_as(node.rules)
        deep = deep or not known
        node.rules = rules
        if known and self._is_as_remembered(node, listing):
            if deep:
                for name, child in node.directories.items():
                    self._push(_join(path, name), child, rules, deep)
            return
        if self.classifier.seed is not None and _holds(listing.names, b".gitattributes"):
            self._regard_attributes(path, self.classifier.seed.seed)
        self.classifier.take(path, node, listing, rules, known, deep)

    def _is_as_remembered(self, node: DirectoryNode, listing: Listing) -> bool:
        """Whether nothing in a directory differs, which is quicker to say of all its files than of each."""
        return (
            not node.others
            and not listing.denied
            and not listing.several
            and int.from_bytes(listing.largest, "little") <= self.classifier.limit
            and node not in self.state.unread
            and all(child.rules is not None for child in node.directories.values())
            and listing.directories == _ended(node.directories)
            and listing.directory_inodes == [child.inode for child in node.directories.values()]
            and node.has_just(listing.names, listing.signatures)
        )

    def _regard_attributes(self, path: RelPath, seed: IndexSeed) -> None:
        try:
            descriptor = self._directories.open(path)
        except OSError as error:
            if error.errno not in GONE + _DENIED:
                raise from_os_error(error, path or b".") from error
            # what says how its files were converted is out of reach: they are read
            self.raced, self.classifier.seed = True, None
        else:
            seed.entering(path, (b".gitattributes",), descriptor)

    def _gitignore(self, node: DirectoryNode, path: RelPath) -> IgnoreFile | None:
        try:
            text = read_small(b".gitignore", self._directories.open(path))
        except OSError as error:
            if error.errno not in GONE + _DENIED:
                raise from_os_error(error, path or b".") from error
            self.raced = True
            return node.gitignore
        base = _join(self.evaluator.prefix, path)
        known = node.gitignore
        if text is None or (known is not None and known.text == text and known.base == base):
            return known if text is not None else None
        return IgnoreFile.parse(text, base)

    def _push(self, path: RelPath, node: DirectoryNode, above: DirectoryRules, deep: bool) -> None:
        assert node.rules is not None
        scope = node.rules.scope
        rules = above if scope is above.scope else attrs.evolve(above, scope=scope)
        self.classifier.pending.append((path, node, rules, deep))

    # -- before and after

    @contextmanager
    def _open(self) -> Iterator[None]:
        self.classifier.pending.clear()
        with Directories(self.root) as self._directories:
            try:
                yield
            finally:
                if self.lister is not None:
                    stop_lister(self.lister, self.clock)
                    self.lister = None

    def _look_at_other_names(self, written: set[int], seen: set[int]) -> None:
        """Looks at files that were written to, or turned out to have several names, under all names that they have.

        Args:
            written: inode numbers of files that were written to.
            seen: those that were found under the names that were looked at.
        """
        several = self.classifier.several_names
        wanted = (written - seen) | several
        settled: set[int] = set()
        while wanted and self.clock.exact:
            settled |= wanted
            for node, names in self.state.names_of_inodes(wanted).items():
                # what is known to have several names was looked at before
                self._look_at_names(node, names.difference(self.state.linked.get(node, ())), written, seen)
            wanted = several - settled
        several.clear()

    def _look_at_names(self, node: DirectoryNode, names: Iterable[bytes], written: set[int], seen: set[int]) -> None:
        path = self.state.path_of(node)
        if path is not None:
            records = ((name, node.files.get(name)) for name in names)
            told = {name for name, record in records if record is not None and inode_of(record) in written}
            self._look_into(path, node, list(names), told, seen)


def needs_lister(directories: Iterable[RelPath]) -> bool:
    """Whether these are so many directories, the root aside, that it pays to have processes list them."""
    seen = {b""}
    for path in directories:
        seen.add(path)
        if len(seen) > _LISTER_FROM:
            return True
    return False


def start_lister(root: int, clock: Clock) -> ListerPool[Visit] | None:
    """Starts the processes that list directories for a look; returns None where they cannot be started.

    Args:
        root: descriptor of the workspace.
        clock: watches every directory before it is listed.
    """
    try:
        return ListerPool(root, clock.share_queues())
    except OSError as error:
        logger.warning("cannot start processes that list directories, this process lists them: %s", error)
        stop_lister(None, clock)
        return None


def stop_lister(lister: ListerPool[Visit] | None, clock: Clock) -> None:
    """Ends the processes, if there are any, and what they had of the clock."""
    if lister is not None:
        lister.close()
    clock.end_sharing()


def _holds(names: bytes, name: bytes) -> bool:
    """Whether a name is among some that end with a zero byte each."""
    return names.startswith(name + b"\0") or b"\0" + name + b"\0" in names


def _ended(names: Iterable[bytes]) -> bytes:
    joined = b"\0".join(names)
    return joined + b"\0" if joined else b""


def _join(above: bytes, name: bytes) -> bytes:
    return above + b"/" + name if above else name
