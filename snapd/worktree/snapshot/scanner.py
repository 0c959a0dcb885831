"""Captures the work tree: scans what may have changed, stores it and computes the tree; or finds the drift."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator

import attrs

from snapd.failpoints import failpoint
from snapd.heap import release_pages
from snapd.model.call import Call
from snapd.model.errors import SnapdError, os_errors
from snapd.model.snapshot import (
    EMPTY_TREE,
    NO_COVERAGE,
    SYMLINK,
    TREE,
    CaptureSettings,
    Coverage,
    Drift,
    DriftedFile,
    DriftQuery,
    Entry,
    FullLook,
    ObjectId,
    RelPath,
    SkipReason,
    Snapshot,
    file_clock_ns,
)
from snapd.model.trees import files
from snapd.store.adopt import Adopt, OpenBlobs
from snapd.store.object_store import ObjectBatch
from snapd.watch.clock import Clock, Marks
from snapd.worktree.fs.directories import open_directory
from snapd.worktree.fs.stable_read import read_link, read_stable, tree_mode
from snapd.worktree.ignore import RuleEvaluator, RuleSource, WorkspaceRules, differing, digest
from snapd.worktree.snapshot.classifier import NameClassifier, SeededFiles, Visit
from snapd.worktree.snapshot.reader import Reader
from snapd.worktree.snapshot.trace import trace
from snapd.worktree.snapshot.walker import GONE, ListerPool, Walker, needs_lister, start_lister, stop_lister
from snapd.worktree.state.file_state import entry_of, oid_of
from snapd.worktree.state.nodes import DirectoryNode, SavedState, encode_tree, load, save
from snapd.worktree.state.tree_state import TreeState

SAVE_FROM = 5000  # new files and directories until the state is saved

logger = logging.getLogger(__name__)

ROUNDS = 4
_CUT_SHORT = "the last look was cut short, or what it found could not be stored"
_OTHER_RULES = "settings or ignore rules outside the work tree changed"
_ALL_FROM = 4096  # from this many paths with changed rules on, a full scan costs no more


class Scanner:
    """Keeps the state of one work tree and scans it, one scan at a time; scans stay on its `device`."""

    def __init__(
        self, root: int, device: int, rules: RuleSource, hidden: RelPath | None, clock: Clock, umask: int = 0o022
    ) -> None:
        self._root = root
        self._device = device
        self._source = rules
        self._hidden = hidden
        self._clock = clock
        self.state = TreeState(clock.forget, umask)
        self.captured: Snapshot | None = None
        self.stored_tree: ObjectId | None = None
        self.full_look: FullLook | None = None
        self._rules: WorkspaceRules | None = None
        self._settings: CaptureSettings | None = None
        self._forced: tuple[RelPath, ...] = ()
        self._adopt: Adopt | None = None
        self._open_blobs: OpenBlobs | None = None
        self._saved_at: str | None = None
        self._saved_rules_digest: bytes | None = None
        self._unsaved = 0
        self._saves_first = False
        self._begun = 0
        self._saving: threading.Thread | None = None

    def attach(
        self,
        path: str,
        knows: Callable[[ObjectId], bool],
        adopt: Adopt,
        open_blobs: OpenBlobs,
        last: Coverage = NO_COVERAGE,
        *,
        was_killed: bool = False,
    ) -> None:
        """Loads the state that an earlier process saved at `path`, and saves what this process learns there.

        `knows` is whether a tree is that of a snapshot in the store; `adopt` copies objects of the project's git into
        the store. If the earlier process `was_killed` before it could save, the first capture saves the state.
        """
        self._saves_first = was_killed
        self.state.coverage.set_origins(dict(last.origins))
        self.state.coverage.left_out = dict(last.left_out)
        self._adopt, self._open_blobs = adopt, open_blobs
        self._saved_at = path
        saved = load(path)
        if saved is None or saved.root.inode != os.fstat(self._root).st_ino or not knows(saved.tree):
            return
        self.state.recall(saved)
        self.stored_tree = saved.tree
        self._saved_rules_digest = saved.rules_digest

    def forget(self, objects: frozenset[ObjectId]) -> None:
        """Treats blobs and trees as not stored: the next scan reads their files again."""
        if not objects:
            return
        # the state must not change while it is saved
        self._wait_for_saving()
        state = self.state
        for _, node in state.root.walk():
            for name in [name for name, record in node.files.items() if oid_of(record) in objects]:
                state.drop_file(node, name)
            if node.tree in objects:
                node.invalidate_tree()
        # the remaining objects may be from several snapshots, none of which has all of them
        self.stored_tree = None
        self._doubt(Marks(), "objects are missing in the store")

    def forget_all(self) -> None:
        """Treats no object as stored, and deletes the saved state; raises `IoError`."""
        self._wait_for_saving()
        self.state.clear()
        self.stored_tree = None
        if self._saved_at is not None:
            with os_errors(self._saved_at), contextlib.suppress(FileNotFoundError):
                os.unlink(self._saved_at)
        self._doubt(Marks(), "the store may have lost objects")

    def doubt(self, paths: Iterable[RelPath]) -> None:
        """Makes the next scan check these paths, whatever the clock reports."""
        marks = Marks()
        for path in paths:
            above, _, name = path.rpartition(b"/")
            node = self.state.root.directory(above)
            if node is not None:
                marks.add(node, name)
        self._clock.put_back(marks)

    def close(self) -> None:
        """Saves the state for the next process."""
        self._wait_for_saving()
        self._save()

    def capture(
        self, settings: CaptureSettings, forced: tuple[RelPath, ...], batch: ObjectBatch, call: Call
    ) -> Snapshot:
        """Captures the work tree and stores the snapshot's objects; commits `batch`.

        `forced` are ignored files or directories to capture anyway. On errors (`InvalidParams`: wrong settings of the
        workspace), there is no snapshot.
        """
        forced = tuple(sorted(set(forced)))
        taken = Marks()
        try:
            walker = self._look(settings, forced, taken, call)
            if walker is None:
                self.state.looked_at = self._begun
                return self._unchanged(forced)
            learnt: list[tuple[DirectoryNode, bytes]] = []
            try:
                trees = self._store(walker, learnt, taken, batch, call)
            except BaseException:
                # the objects of these files may not be stored
                for node, name in learnt:
                    if self.state.holds(node):
                        self.state.drop_file(node, name)
                raise
        except BaseException:
            self._doubt(taken, _CUT_SHORT)
            raise
        for node, tree in trees.items():
            node.tree = tree
        self.state.looked_at = self._begun
        self.state.pack_all_but((*walker.visited, *dict.fromkeys(node for node, _ in learnt)))
        self._unsaved += len(learnt) + len(trees)
        assert self.state.root.tree is not None
        assert self._rules is not None
        self.captured = Snapshot(self.state.root.tree, self.state.coverage.of(self._rules, forced))
        # stays even if a later scan fails: the state relies on its objects
        self.stored_tree = self.captured.tree
        saves_first, self._saves_first = self._saves_first, False
        if self._unsaved >= (1 if saves_first else SAVE_FROM):
            # only a scan that follows immediately has to wait for it
            self._saving = threading.Thread(target=self._save, name="snapd-save", daemon=True)
            self._saving.start()
        return self.captured

    def drift(self, query: DriftQuery, call: Call) -> Drift:
        """Compares the work tree with a snapshot, and stores nothing; raises `StoreCorrupt`, and as `capture`."""
        taken = Marks()
        try:
            walker = self._look(query.settings, tuple(sorted(set(query.forced))), taken, call)
            if walker is not None:
                self.state.coverage.update(walker.visited)
            with os_errors(b"."):
                unfinished = walker is not None and walker.unfinished
                return DriftFinder(self._root, self.state, query, unfinished).find()
        except BaseException:
            self._doubt(taken, _CUT_SHORT)
            raise

    def _doubt(self, taken: Marks, why: str) -> None:
        """Makes the next scan check everything."""
        taken.doubt(why)
        self._clock.put_back(taken)
        self.captured = None

    def _unchanged(self, forced: tuple[RelPath, ...]) -> Snapshot:
        """Returns the snapshot if nothing changed, with its current coverage, which `drift` may have updated."""
        assert self.state.root.tree is not None
        assert self._rules is not None
        snapshot = Snapshot(self.state.root.tree, self.state.coverage.of(self._rules, forced))
        if self.captured != snapshot:
            self.captured = snapshot
        return snapshot

    def _wait_for_saving(self) -> None:
        if self._saving is not None:
            self._saving.join()
            self._saving = None

    def _save(self) -> None:
        if self._saved_at is None or not self._unsaved or self.stored_tree is None or self._rules is None:
            return
        try:
            save(
                self._saved_at,
                SavedState(
                    tree=self.stored_tree,
                    rules_digest=digest(self._rules.tracked, self._forced),
                    root=self.state.root,
                    looked_at=self.state.looked_at,
                    uncaptured=self.state.uncaptured.known,
                ),
            )
            self._unsaved = 0
        except SnapdError as error:
            # harmless: the next process reads more files
            logger.warning("cannot save the state of the work tree: %s", error)
        # a state worth saving took much memory to build
        release_pages()

    # -- scanning

    def _look(self, settings: CaptureSettings, forced: tuple[RelPath, ...], taken: Marks, call: Call) -> Walker | None:
        """Updates the state, except unread files; returns None if nothing can have changed."""
        self._wait_for_saving()
        self._begun = file_clock_ns()
        # before other processes watch anything: the next `take` reports what an overflow loses from here on
        marks = self._take(taken)
        rules, seed, lister = self._prepare(settings, forced)
        changed, doubted = self._doubted(rules, forced, settings)
        everything = marks.everything or changed
        if not everything and not marks and not doubted and not self.state.linked and self.state.is_settled:
            return None
        self._rules, self._settings, self._forced = rules, settings, forced
        # the clock is exact on local file systems alone
        self.state.knows_inodes = self._clock.exact
        evaluator = RuleEvaluator(rules, self._source, forced)
        classifier = NameClassifier(self._hidden, settings.max_file_size, self.state, evaluator, seed)
        walker = Walker(self._root, self._device, self._clock, classifier, call, lister)
        self._walk(walker, marks, doubted, taken, everything=everything)
        self.state.coverage.confirm_left_out(self._root)
        with os_errors(b"."):
            trace(self.state, self._root)
        self._unsaved += self.state.uncaptured.is_changed
        self.state.uncaptured.is_changed = False
        return walker

    def _prepare(
        self, settings: CaptureSettings, forced: tuple[RelPath, ...]
    ) -> tuple[WorkspaceRules, SeededFiles | None, ListerPool[Visit] | None]:
        """Reads the rules, and the index for a first scan; starts a lister if there are many directories."""
        lister: ListerPool[Visit] | None = None
        # the processes start while this one reads the rules and the index
        if self._rules is None and needs_lister(path for path, _ in self.state.root.walk()):
            lister = start_lister(self._root, self._clock)
        try:
            rules = self._source.read(settings.exclude, settings.include)
            if self._saved_rules_digest is not None:
                if self._saved_rules_digest != digest(rules.tracked, forced):
                    self.state.invalidate_rules()
                self._saved_rules_digest = None
            seed = None
            if self.state.root.inode == 0:
                if needs_lister(path.rpartition(b"/")[0] for path in rules.tracked.paths):
                    lister = start_lister(self._root, self._clock)
                seed = self._seed()
        except BaseException:
            stop_lister(lister, self._clock)
            raise
        return rules, seed, lister

    def _walk(
        self, walker: Walker, marks: Marks, doubted: frozenset[RelPath], taken: Marks, *, everything: bool
    ) -> None:
        """Scans until nothing changes meanwhile, a few times at most."""
        for _ in range(ROUNDS):
            if doubted or not everything:
                walker.walk_marked(Marks() if everything else marks, doubted)
            if everything:
                self._scan_all(walker, marks.why or _OTHER_RULES)
            doubted = frozenset()
            marks = self._take(taken)
            if self._clock.exact:
                everything = marks.everything
                if not marks and not walker.raced:
                    break
            elif everything and not walker.raced and walker.is_still():
                break
            else:
                # also if the watches ran out while marked names were checked
                everything = True
        else:
            self._clock.put_back(marks)
            walker.unfinished = True

    def _scan_all(self, walker: Walker, why: str) -> None:
        # without watches every scan is a full one; `snapshot/status` reports that
        level = logging.INFO if self._clock.exact else logging.DEBUG
        logger.log(level, "looking at all files: %s", why)
        self.full_look = FullLook(time.time_ns() // 1_000_000, why)
        walker.walk_all()

    def _seed(self) -> SeededFiles | None:
        if self._adopt is None or self._open_blobs is None:
            return None
        seed = self._source.seed(self._open_blobs)
        if seed is None:
            return None
        return SeededFiles(seed, self._adopt(seed.object_directories, seed.wanted))

    def _take(self, taken: Marks) -> Marks:
        marks = self._clock.take()
        taken.join(marks)
        return marks

    def _doubted(
        self, rules: WorkspaceRules, forced: tuple[RelPath, ...], settings: CaptureSettings
    ) -> tuple[bool, frozenset[RelPath]]:
        """Finds paths that changed settings, rules or indexes may add to or remove from the captured ones.

        Returns whether there may be any, and those paths that the rules of each directory do not show.
        """
        before = self._rules
        if before is None:
            return True, frozenset()
        changed = self._source.nested_changed() or settings != self._settings
        doubted = frozenset(forced).symmetric_difference(self._forced)
        if rules is not before:
            changed = changed or (rules.prefix, rules.texts) != (before.prefix, before.texts)
            self.state.uncaptured.note_rules(before.texts, rules.texts)
            doubted |= differing(rules.tracked, before.tracked)
        if self.captured is None or len(doubted) >= _ALL_FROM:
            # a failed scan may have applied other rules to some directories
            self.state.invalidate_rules()
            return True, frozenset()
        return changed, doubted

    # -- storing

    def _store(
        self, walker: Walker, learnt: list[tuple[DirectoryNode, bytes]], taken: Marks, batch: ObjectBatch, call: Call
    ) -> dict[DirectoryNode, ObjectId]:
        reader = Reader(self._root, walker.classifier.limit, batch, call)
        # `drift` stores nothing: it may have left unread files in directories that this scan did not visit
        asked = tuple(self.state.unread)
        for _ in range(ROUNDS):
            if not self._read(reader, learnt):
                break
            # a file that vanished between scan and read may have another name now
            marks = self._take(taken)
            if marks.everything:
                self._scan_all(walker, marks.why)
            else:
                walker.walk_marked(marks, ())
        else:
            self._read(reader, learnt)
        # `fromkeys`: each directory once
        self.state.coverage.update(dict.fromkeys((*walker.visited, *asked, *(node for node, _ in learnt))))
        failpoint("capture.trees")
        trees = self._trees(batch, call)
        call.check()
        failpoint("capture.commit")
        batch.commit()
        failpoint("capture.taken")
        return trees

    def _read(self, reader: Reader, learnt: list[tuple[DirectoryNode, bytes]]) -> bool:
        """Reads the unread files; returns whether some were gone."""
        state = self.state
        gone = False
        with contextlib.closing(reader.read_all(state)) as readings:
            for node, results in readings:
                for name, result in results:
                    if result is None:
                        state.drop_file(node, name)
                        gone = True
                    elif isinstance(result, SkipReason):
                        state.put_other(node, name, result)
                        if result is SkipReason.UNSTABLE:
                            self._clock.put_back(Marks(names={node: {name}}))
                    else:
                        state.put_read_file(node, name, result)
                        learnt.append((node, name))
        return gone

    def _trees(self, batch: ObjectBatch, call: Call) -> dict[DirectoryNode, ObjectId]:
        root = self.state.root
        order: list[DirectoryNode] = []
        pending = [root] if root.tree is None else []
        while pending:
            node = pending.pop()
            order.append(node)
            pending += [child for child in node.directories.values() if child.tree is None]
        trees: dict[DirectoryNode, ObjectId] = {}
        for node in reversed(order):
            call.check()
            data = encode_tree(node, trees)
            trees[node] = batch.encoded_tree(data) if data else EMPTY_TREE
        if trees.get(root) == EMPTY_TREE:
            # the root's is the only empty tree to store: a commit names it
            batch.encoded_tree(b"")
        return trees


_NOT_STORED: ObjectId = bytes(20)


class _EnoughError(Exception):
    """A limit is reached."""


@attrs.define
class DriftFinder:
    """Compares the state, fresh from a scan, with a snapshot; enters only directories that differ."""

    root: int
    state: TreeState
    query: DriftQuery
    unfinished: bool
    _drifted: list[DriftedFile] = attrs.field(factory=list)
    _bytes: int = 0
    _truncated: bool = False
    _unread_below: set[DirectoryNode] = attrs.field(factory=set)

    def find(self) -> Drift:
        """Returns the differences, ordered by path; raises `StoreCorrupt`, `IoError`."""
        for unread in self.state.unread:
            node: DirectoryNode | None = unread
            while node is not None and node not in self._unread_below:
                self._unread_below.add(node)
                node = node.parent
        try:
            self._directory(b"", self.query.base, self.state.root)
        except _EnoughError:
            self._truncated = True
        drifted_files = tuple(sorted(self._drifted, key=lambda drifted: drifted.path))
        return Drift(drifted_files, self._truncated, self.unfinished)

    def _directory(self, path: RelPath, old: ObjectId | None, node: DirectoryNode) -> None:
        if node.tree is not None and node.tree == old and node not in self._unread_below:
            return
        prefix = path + b"/" if path else b""
        before = {entry.name: entry for entry in self.query.read_tree(old)} if old is not None else {}
        unread = self.state.unread.get(node, {})
        for name in {**before, **node.files, **node.directories, **unread}:
            entry = before.get(name)
            was = Entry(entry.mode, entry.oid) if entry is not None and entry.mode != TREE else None
            child = node.directories.get(name)
            if child is not None:
                self._directory(prefix + name, entry.oid if entry is not None and was is None else None, child)
            elif entry is not None and was is None:
                for below, gone in files(self.query.read_tree, entry.oid):
                    self._add(prefix + name + b"/" + below, gone, None)
            if name in unread:
                self._read(prefix + name, was, unread[name], path)
            elif (record := node.files.get(name)) is not None:
                if (now := entry_of(record)) != was:
                    self._add(prefix + name, was, now)
            elif was is not None:
                self._add(prefix + name, was, None)

    def _read(self, path: RelPath, was: Entry | None, is_link: bool, folder: RelPath) -> None:
        held: list[bytes] = []

        def keep(_: int, chunks: Iterator[bytes]) -> ObjectId:
            held[:] = chunks
            return _NOT_STORED

        name = path.rpartition(b"/")[2]
        try:
            descriptor = open_directory(self.root, folder)
        except OSError as error:
            if error.errno not in GONE:
                raise
            return
        try:
            if is_link:
                result = read_link(descriptor, name, keep)
            else:
                result = read_stable(descriptor, name, self.query.max_bytes - self._bytes, keep)
        except OSError as error:
            if error.errno not in GONE:
                raise
            if was is not None:
                self._add(path, was, None)
            return
        finally:
            os.close(descriptor)
        if not isinstance(result, tuple):
            # it is being written, or is over the limit
            self._truncated = True
            return
        data = b"".join(held)
        self._bytes += len(data)
        mode = SYMLINK if is_link else tree_mode(result[1].mode)
        self._add(path, was, Entry(mode, _NOT_STORED), data)

    def _add(self, path: RelPath, was: Entry | None, now: Entry | None, data: bytes | None = None) -> None:
        if now is None and self.state.coverage.is_left_out(path):
            return
        if len(self._drifted) >= self.query.max_files:
            raise _EnoughError
        self._drifted.append(DriftedFile(path, was, now, data))
