"""Captures the work tree: looks at what may have changed, reads what did, stores it, and computes the tree."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from typing import TYPE_CHECKING

from snapd.core.errors import SnapdError, os_errors
from snapd.core.model import EMPTY_TREE, FullLook, SkipReason, Snapshot, TreeEntry
from snapd.failpoints import failpoint
from snapd.heap import give_back
from snapd.watch.clock import Marks
from snapd.worktree.ignore.evaluator import RuleEvaluator, differing, digest
from snapd.worktree.state.file_state import oid_of
from snapd.worktree.state.nodes import encode_tree
from snapd.worktree.state.persistence import load, save
from snapd.worktree.state.tree_state import TreeState

from .classifier import NameClassifier, SeededFiles
from .drift import DriftFinder
from .reader import Reader
from .walker import Walker, needs_lister, start_lister, stop_lister

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from snapd.core.call import Call
    from snapd.core.model import CaptureSettings, Drift, ObjectId, RelPath
    from snapd.core.ports.objects import ObjectBatch
    from snapd.core.ports.project import Adopt, OpenBlobs
    from snapd.watch.clock import Clock
    from snapd.worktree.ignore.rules import RuleSource, WorkspaceRules
    from snapd.worktree.state.nodes import DirectoryNode

    from .classifier import Visit
    from .lister_pool import ListerPool

_WORTH_KEEPING = 5000
"""Files and directories that a new process would have to read again."""

logger = logging.getLogger(__name__)

_ROUNDS = 4
_CUT_SHORT = "the last look was cut short, or what it found could not be stored"
_OTHER_RULES = "settings or ignore rules that lie outside of the files changed"
_MANY = 4096
"""From this many paths of changed rules on, looking at all is as cheap as looking at each."""


class Scanner:
    """The memory of one work tree, and the looks at it. One look at a time.

    Args:
        root: descriptor of the workspace.
        device: of the workspace; what is mounted inside is not crossed into.
        rules: where the ignore rules come from.
        hidden: a directory that is never captured (a store inside the workspace), if any.
        clock: says what may have changed.
    """

    def __init__(self, root: int, device: int, rules: RuleSource, hidden: RelPath | None, clock: Clock) -> None:
        self._root = root
        self._device = device
        self._source = rules
        self._hidden = hidden
        self._clock = clock
        self.state = TreeState(clock.forget)
        self.captured: Snapshot | None = None
        self.relied_on: ObjectId | None = None
        self.full_look: FullLook | None = None
        self._rules: WorkspaceRules | None = None
        self._settings: CaptureSettings | None = None
        self._forced: tuple[RelPath, ...] = ()
        self._adopt: Adopt | None = None
        self._open_blobs: OpenBlobs | None = None
        self._kept_at: str | None = None
        self._saved_rules_digest: bytes | None = None
        self._not_kept = 0
        self._keeping: threading.Thread | None = None

    def attach(self, path: str, knows: Callable[[ObjectId], bool], adopt: Adopt, open_blobs: OpenBlobs) -> None:
        """Starts from what an earlier process knew of the work tree, and keeps what this one learns.

        Args:
            path: of the file that has it.
            knows: whether a tree is a snapshot of the store: then all its objects are there.
            adopt: takes objects over into the store, see `snapd.core.ports.Store.adopt`.
            open_blobs: reads blobs of the project's own git, see `snapd.core.ports.ProjectBlobs`.
        """
        self._adopt, self._open_blobs = adopt, open_blobs
        self._kept_at = path
        saved = load(path)
        if saved is None or saved.root.inode != os.fstat(self._root).st_ino or not knows(saved.tree):
            return
        self.state.recall(saved.root)
        self.relied_on = saved.tree
        self._saved_rules_digest = saved.rules_digest

    def forget(self, objects: frozenset[ObjectId]) -> None:
        """Takes objects for not stored that a capture has stored: the files that have them are read again.

        Args:
            objects: blobs and trees.
        """
        if not objects:
            return
        # what is kept meanwhile must not change under it
        self._wait_for_keeping()
        state = self.state
        for _, node in state.root.walk():
            for name in [name for name, record in node.files.items() if oid_of(record) in objects]:
                state.drop_file(node, name)
            if node.tree in objects:
                state.invalidate_tree(node)
        # what is left may be of several snapshots, of which none has all
        self.relied_on = None
        self._doubt(Marks(), "objects are missing in the store")

    def forget_all(self) -> None:
        """Takes nothing for stored, also not what is kept for the next process; raises `IoError`."""
        self._wait_for_keeping()
        self.state.clear()
        self.relied_on = None
        if self._kept_at is not None:
            with os_errors(self._kept_at), contextlib.suppress(FileNotFoundError):
                os.unlink(self._kept_at)
        self._doubt(Marks(), "nothing in the store is relied on any more")

    def doubt(self, paths: Iterable[RelPath]) -> None:
        """Has the next look be at some names, whatever the clock says."""
        marks = Marks()
        for path in paths:
            above, _, name = path.rpartition(b"/")
            node = self.state.root.directory(above)
            if node is not None:
                marks.add(node, name)
        self._clock.put_back(marks)

    def close(self) -> None:
        """Keeps what is known for the next process."""
        self._wait_for_keeping()
        self._keep()

    def capture(
        self, settings: CaptureSettings, forced: tuple[RelPath, ...], batch: ObjectBatch, call: Call
    ) -> Snapshot:
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
        forced = tuple(sorted(set(forced)))
        taken = Marks()
        try:
            walker = self._look(settings, forced, taken, call)
            if walker is None:
                return self._unchanged(forced)
            learnt: list[tuple[DirectoryNode, bytes]] = []
            try:
                trees = self._store(walker, learnt, taken, batch, call)
            except BaseException:
                # what was read may not be stored
                for node, name in learnt:
                    self.state.drop_file(node, name)
                raise
        except BaseException:
            self._doubt(taken, _CUT_SHORT)
            raise
        for node, tree in trees.items():
            node.tree = tree
        self.state.pack_all_but((*walker.visited, *dict.fromkeys(node for node, _ in learnt)))
        self._not_kept += len(learnt) + len(trees)
        assert self.state.root.tree is not None
        assert self._rules is not None
        self.captured = Snapshot(self.state.root.tree, self.state.coverage(self._rules, forced))
        # also when a later look fails: what is remembered is taken for stored
        self.relied_on = self.captured.tree
        if self._not_kept >= _WORTH_KEEPING:
            # nobody waits for that; the next look does, should it come at once
            self._keeping = threading.Thread(target=self._keep, name="snapd-keep", daemon=True)
            self._keeping.start()
        return self.captured

    def drift(
        self,
        base: ObjectId,
        read_tree: Callable[[ObjectId], tuple[TreeEntry, ...]],
        settings: CaptureSettings,
        call: Call,
        *,
        forced: tuple[RelPath, ...],
        max_files: int,
        max_bytes: int,
    ) -> Drift:
        """How the work tree differs from a snapshot, without taking another: nothing is stored.

        Args:
            base: the snapshot's tree.
            read_tree: gives the entries of a stored tree.
            settings: as for `capture`.
            call: what this is for.
            forced: as for `capture`; those of the snapshot.
            max_files: differing files to report, at most.
            max_bytes: bytes of contents to read, at most.

        Raises:
            StoreCorrupt, IoError, InvalidParams, Cancelled: see there.
        """
        taken = Marks()
        try:
            walker = self._look(settings, tuple(sorted(set(forced))), taken, call)
            if walker is not None:
                self.state.update_coverage(walker.visited)
            with os_errors(b"."):
                unfinished = walker is not None and walker.unfinished
                return DriftFinder(self._root, self.state, read_tree, max_files, max_bytes, unfinished).find(base)
        except BaseException:
            self._doubt(taken, _CUT_SHORT)
            raise

    def _doubt(self, taken: Marks, why: str) -> None:
        """Has the next look be at everything."""
        taken.doubt(why)
        self._clock.put_back(taken)
        self.captured = None

    def _unchanged(self, forced: tuple[RelPath, ...]) -> Snapshot:
        """The snapshot, where nothing changed; what is not captured may have been found out without taking one."""
        assert self.state.root.tree is not None
        assert self._rules is not None
        snapshot = Snapshot(self.state.root.tree, self.state.coverage(self._rules, forced))
        if self.captured != snapshot:
            self.captured = snapshot
        return snapshot

    def _wait_for_keeping(self) -> None:
        if self._keeping is not None:
            self._keeping.join()
            self._keeping = None

    def _keep(self) -> None:
        if self._kept_at is None or not self._not_kept or self.relied_on is None or self._rules is None:
            return
        try:
            save(self._kept_at, self.state, self.relied_on, digest(self._rules.tracked, self._forced))
            self._not_kept = 0
        except SnapdError as error:
            # the next process reads a little more
            logger.warning("what is known of the work tree could not be kept: %s", error)
        # what was worth keeping took large work
        give_back()

    # -- looking

    def _look(self, settings: CaptureSettings, forced: tuple[RelPath, ...], taken: Marks, call: Call) -> Walker | None:
        """Brings the memory up to date, but for what has to be read; None where nothing can have changed."""
        self._wait_for_keeping()
        # before other processes watch anything: the next `take` reports what an overflow loses from here on
        marks = self._take(taken)
        lister: ListerPool[Visit] | None = None
        # the processes start while this one reads the rules and the index
        if self._rules is None and needs_lister(path for path, _ in self.state.root.walk()):
            lister = start_lister(self._root, self._clock)
        try:
            rules = self._source.read(settings.exclude)
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
        changed, doubted = self._doubted(rules, forced, settings)
        everything = marks.everything or changed
        if not everything and not marks and not doubted and not self.state.linked and self.state.is_settled:
            return None
        self._rules, self._settings, self._forced = rules, settings, forced
        walker = Walker(
            self._root,
            self._device,
            self._clock,
            NameClassifier(
                self._hidden,
                settings.max_file_size,
                self.state,
                RuleEvaluator(rules, self._source, forced),
                seed,
            ),
            call,
            lister,
        )
        for _ in range(_ROUNDS):
            if doubted or not everything:
                walker.walk_marked(Marks() if everything else marks, doubted)
            if everything:
                self._look_at_everything(walker, marks.why or _OTHER_RULES)
            doubted = frozenset()
            marks = self._take(taken)
            if self._clock.exact:
                everything = marks.everything
                if not marks and not walker.raced:
                    return walker
            elif everything and not walker.raced and walker.held_still():
                return walker
            else:
                # also where the watches ran out in the middle of a look at what was marked
                everything = True
        self._clock.put_back(marks)
        walker.unfinished = True
        return walker

    def _look_at_everything(self, walker: Walker, why: str) -> None:
        # where nothing is watched each look is one: whoever wants to know is told by the status
        level = logging.INFO if self._clock.exact else logging.DEBUG
        logger.log(level, "looking at all files: %s", why)
        self.full_look = FullLook(time.time_ns() // 1_000_000, why)
        walker.walk_everything()

    def _seed(self) -> SeededFiles | None:
        """What the project's own git knows and the store now has."""
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
        """What may be captured now and was not, or the contrary, for reasons that lie outside of it.

        Returns:
            Whether that may be any path, by what the verdicts of directories tell; and the paths of which they do not.
        """
        before = self._rules
        if before is None:
            return True, frozenset()
        changed = self._source.nested_changed() or settings != self._settings
        doubted = frozenset(forced).symmetric_difference(self._forced)
        if rules is not before:
            changed = changed or (rules.prefix, rules.texts) != (before.prefix, before.texts)
            doubted |= differing(rules.tracked, before.tracked)
        if self.captured is None or len(doubted) >= _MANY:
            # a look that failed may have judged some of it by other rules
            self.state.invalidate_rules()
            return True, frozenset()
        return changed, doubted

    # -- storing

    def _store(
        self, walker: Walker, learnt: list[tuple[DirectoryNode, bytes]], taken: Marks, batch: ObjectBatch, call: Call
    ) -> dict[DirectoryNode, ObjectId]:
        reader = Reader(self._root, walker.classifier.limit, batch, call)
        # a look that stored nothing (`drift`) may have left some, in directories that this one did not visit
        asked = tuple(self.state.unread)
        for _ in range(_ROUNDS):
            if not self._read(reader, learnt):
                break
            # what went away between the look and the read may be there by another name
            marks = self._take(taken)
            if marks.everything:
                self._look_at_everything(walker, marks.why)
            else:
                walker.walk_marked(marks, ())
        else:
            self._read(reader, learnt)
        self.state.update_coverage((*walker.visited, *asked, *(node for node, _ in learnt)))
        failpoint("capture.trees")
        trees = self._trees(batch, call)
        call.check()
        failpoint("capture.commit")
        batch.commit()
        failpoint("capture.taken")
        return trees

    def _read(self, reader: Reader, learnt: list[tuple[DirectoryNode, bytes]]) -> bool:
        """Reads what is unread; whether some of it was gone."""
        state = self.state
        gone = False
        with contextlib.closing(reader.read_all(state)) as all_found:
            for node, found in all_found:
                for name, what in found:
                    if what is None:
                        state.drop_file(node, name)
                        gone = True
                    elif isinstance(what, SkipReason):
                        state.put_other(node, name, what)
                        if what is SkipReason.UNSTABLE:
                            self._clock.put_back(Marks(names={node: {name}}))
                    else:
                        state.put_read_file(node, name, what)
                        learnt.append((node, name))
        return gone

    def _trees(self, batch: ObjectBatch, call: Call) -> dict[DirectoryNode, ObjectId]:
        """The trees that have to be computed, children before what is above them."""
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
            # of all empty trees the root's alone has to be stored: a commit names it
            batch.encoded_tree(b"")
        return trees
