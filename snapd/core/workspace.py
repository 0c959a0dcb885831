"""A workspace that is open: the one place where its snapshots are taken, compared and brought back.

One writer at a time; reads of what is stored run beside it.
"""

from __future__ import annotations

import stat
import time
from typing import TYPE_CHECKING

from snapd.core.actions.check import StoreCheck
from snapd.core.actions.history import History
from snapd.core.actions.purge import Purge
from snapd.core.actions.session_diff import NetPages
from snapd.core.actions.sessions import Sessions
from snapd.core.actions.step_changes import StepChanges
from snapd.core.actions.undo_parts import UndoParts
from snapd.core.actions.undo_planner import UndoPlanner
from snapd.core.actions.undo_steps import UndoSteps
from snapd.core.answers import DeltaPage, FileContent, NamePage, Status
from snapd.core.compare.file_diff import describe
from snapd.core.compare.unified import unified
from snapd.core.feed.events import Tracked
from snapd.core.operations.ignored_targets import wanted_by_patches, wanted_by_restore
from snapd.core.operations.target import Target
from snapd.core.operations.writer import Writer

from .errors import Cancelled, FileNotInSnapshot, InvalidParams, PathOutsideWorkspace, WorkspaceNotOpen
from .model import RecordKind
from .paths import parents, shown
from .trees import changes, file_at, files, is_among

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from snapd.core.compare.file_diff import FileDelta
    from snapd.core.feed.event_log import EventLog
    from snapd.core.operations.planner import Planner
    from snapd.core.operations.unsaved import Unsaved
    from snapd.core.operations.writer import Request
    from snapd.core.ports.differ import TextDiffer
    from snapd.core.ports.policy import Policy
    from snapd.core.ports.store import Store
    from snapd.core.ports.work_tree import WorkTree
    from snapd.core.timeline.model import Operated

    from .call import Call
    from .model import Change, Entry, ObjectId, Outcome, RelPath, Snapshot
    from .plan import Plan

PAGE_BYTES = 32 << 20
"""Contents (bytes) that one page of file differences holds at most, unless a single file has more."""


class Workspace:
    """One folder under snapd's care.

    Args:
        project_id: the name of its store.
        work_tree: the folder.
        store: where its snapshots are.
        policy: says what is captured, and what is kept for how long.
        texts: compares texts.
        unsaved: which files have unsaved text in an editor.

    Attributes:
        sessions: its sessions and their steps.
        undoing: takes steps back and does them again.
        piecemeal: takes back some files of a step, or some hunks.
        deeds: tells what steps changed.
        chronicle: tells the history.
        net_of: tells what the steps of a session changed together, see `NetPages.page`.
        checking: checks the store, and repairs it.
        purging: takes files out of all that was ever stored.
    """

    def __init__(
        self,
        project_id: str,
        work_tree: WorkTree,
        store: Store,
        policy: Policy,
        texts: TextDiffer,
        unsaved: Unsaved,
    ) -> None:
        self.project_id = project_id
        self.policy = policy
        self.texts = texts
        self._work_tree = work_tree
        self._store = store
        self._writer = Writer(work_tree, store, policy, texts, unsaved)
        self.deeds = StepChanges(store, texts)
        self.sessions = Sessions(self._writer, self.deeds)
        self.chronicle = History(store.timeline, self.deeds)
        tasks = UndoPlanner(self._writer, self.sessions, self.deeds)
        self.undoing = UndoSteps(self._writer, self.sessions, self.deeds, tasks)
        self.piecemeal = UndoParts(self._writer, self.sessions, self.deeds, tasks, texts)
        self.net_of = NetPages(store, self.deeds, self.sessions, texts).page
        self.checking = StoreCheck(self._writer)
        self.purging = Purge(self._writer)
        self._renames: tuple[ObjectId, ObjectId, dict[RelPath, RelPath]] | None = None

    @property
    def root(self) -> bytes:
        """The folder, absolute and canonical."""
        return self._work_tree.root

    @property
    def bulletin(self) -> EventLog:
        """What the workspace tells of by itself; that the work tree moved away only while that is wanted."""
        return self._writer.bulletin

    def listen_to_trouble(self, troubled: Callable[[Exception], None]) -> None:
        """Has it told why it cannot be told what changes, once for the same reason: an error of snapd, or a defect."""
        self._writer.listen(troubled)

    def watch_changes(self, wanted: bool) -> None:
        """Has it told, or no more, that the work tree moved away from the last snapshot; see `ChangeFeed.listen`.

        Raises:
            OSError, RuntimeError: there is no descriptor or no thread left for it.
        """
        self._writer.feed.listen(wanted)

    def check_present(self) -> None:
        """Says whether folder and store are still those that were opened.

        Raises:
            WorkspaceGone: the folder was moved, deleted or replaced.
            StoreCorrupt: the store was.
        """
        self._work_tree.check_present()
        self._store.check_present()

    def close(self) -> None:
        """Lets go of the folder and the store, when the operation under way is done."""
        self._writer.close()

    # -- taking

    def track(self, forced: Iterable[RelPath], call: Call) -> Tracked:
        """Takes a snapshot of the work tree.

        Args:
            forced: ignored paths to capture all the same.
            call: the request; may be cancelled until the snapshot is recorded.

        Returns:
            The snapshot, durable.

        Raises:
            PathOutsideWorkspace: a forced path leads through a symlink.
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, InvalidParams, Cancelled: there is no new snapshot.
        """
        with self._writer.turn(call):
            paths = tuple(forced)
            self._work_tree.check_present()
            for path in paths:
                self._check_way(path)
            previous = self._store.last
            snapshot = self._writer.capture(paths, RecordKind.TRACK, call)
            tracked = Tracked(snapshot.tree, previous, snapshot.coverage.skipped)
            self._writer.tell_snapshot(tracked)
        return tracked

    # -- comparing

    def changed(self, old: ObjectId, new: ObjectId | None, call: Call) -> tuple[Change, ...]:
        """What differs between a snapshot and another, or the work tree.

        Args:
            old: tree of the snapshot to start from.
            new: tree of the other, None for the work tree as it is.
            call: the request.

        Raises:
            UnknownSnapshot, StoreCorrupt: see there.
        """
        return tuple(self._changes(old, self._other(old, new, call), (), call))

    def diff(self, old: ObjectId, new: ObjectId | None, only: Sequence[RelPath], call: Call) -> str:
        """The unified diff between a snapshot and another, or the work tree.

        Args:
            old: as in `changed`.
            new: as in `changed`.
            only: files or directories; empty for all.
            call: the request.

        Raises:
            UnknownSnapshot, StoreCorrupt: see there.
        """
        parts = []
        for change in self._changes(old, self._other(old, new, call), only, call):
            parts.append(unified(self._store, change, self.texts, call))
            call.progress("comparing", len(parts))
        return "".join(parts)

    def deltas(
        self,
        old: ObjectId,
        new: ObjectId | None,
        call: Call,
        *,
        only: Sequence[RelPath] = (),
        contents: bool = True,
        renames: bool = False,
        after: RelPath | None = None,
        limit: int | None = None,
    ) -> DeltaPage:
        """Each file that differs, before and after.

        Args:
            old: as in `changed`.
            new: as in `changed`.
            call: the request.
            only: files or directories; empty for all.
            contents: whether the texts are wanted.
            renames: whether moved files are to be found and shown as one.
            after: the path where the page before ended.
            limit: files on this page, at most.

        Raises:
            UnknownSnapshot, StoreCorrupt: see there.
        """
        tree = self._other(old, new, call)
        moved = self._moved(old, tree) if renames else {}
        # a file that left or entered what is asked about was deleted or added, as far as that goes
        moved = {path: source for path, source in moved.items() if is_among(path, only) and is_among(source, only)}
        gone = set(moved.values())
        found: list[FileDelta] = []
        size = 0
        for change in self._changes(old, tree, only, call, after):
            path = change.path
            if path in gone:
                continue
            if (limit is not None and len(found) >= limit) or size >= PAGE_BYTES:
                return DeltaPage(tuple(found), tree, found[-1].path)
            source = moved.get(path)
            before = change.old if source is None else file_at(self._store.entry_in, old, source)
            delta = describe(
                self._store, path, before, change.new, self.texts, call, contents=contents, renamed_from=source
            )
            if found and size + delta.size > PAGE_BYTES:
                return DeltaPage(tuple(found), tree, found[-1].path)
            found.append(delta)
            size += delta.size
            call.progress("comparing", len(found))
        if renames:
            self._renames = None
        return DeltaPage(tuple(found), tree, None)

    # -- looking

    def file_at(self, tree: ObjectId, path: RelPath) -> FileContent:
        """A file as it was.

        Raises:
            UnknownSnapshot, StoreCorrupt: see there.
            FileNotInSnapshot: it was not there, or was skipped: `data["skipped"]` says so.
        """
        snapshot = self._store.find(tree)
        entry = file_at(self._store.entry_in, tree, path)
        if entry is None:
            skipped = any(path == skip.path or path.startswith(skip.path + b"/") for skip in snapshot.coverage.skipped)
            raise FileNotInSnapshot(
                f"{shown(path)} is not in snapshot {tree.hex()}", file=shown(path), hash=tree.hex(), skipped=skipped
            )
        return FileContent(entry.mode, self._store.read_blob(entry.oid))

    def names(
        self, tree: ObjectId, call: Call, wanted: Callable[[RelPath], bool], after: RelPath | None, limit: int | None
    ) -> NamePage:
        """The files of a snapshot, ordered by path.

        Args:
            tree: the snapshot.
            call: the request.
            wanted: which names are asked for.
            after: the path where the page before ended.
            limit: names on this page, at most.

        Raises:
            UnknownSnapshot, StoreCorrupt: see there.
        """
        self._store.find(tree)
        found: list[RelPath] = []
        for path, _ in files(self._store.read_tree, tree, after=after):
            call.check()
            if not wanted(path):
                continue
            if limit is not None and len(found) >= limit:
                return NamePage(tuple(found), found[-1])
            found.append(path)
        return NamePage(tuple(found), None)

    def entry(self, tree: ObjectId, path: RelPath) -> Entry | None:
        """What a snapshot has at a path.

        Raises:
            UnknownSnapshot, StoreCorrupt: see there.
        """
        self._store.find(tree)
        return file_at(self._store.entry_in, tree, path)

    def status(self) -> Status:
        """What is known without looking at the files; never waits for an operation under way.

        Raises:
            WorkspaceGone: the folder is no longer the one that was opened.
        """
        self._work_tree.check_present()
        excludes, problem = self._folder_file()
        last = self._store.last
        count = self._writer.files
        if count is None:
            count = sum(1 for _ in files(self._store.read_tree, last)) if last is not None else 0
        return Status(
            count,
            self._work_tree.watcher,
            self._work_tree.watcher_reason,
            self._work_tree.full_look,
            last,
            self._store.path,
            self._store.bytes_on_disk(),
            excludes,
            problem,
        )

    # -- bringing back

    def restore(self, tree: ObjectId, request: Request, call: Call) -> Outcome:
        """Makes the work tree what a snapshot was; what is there now is in a snapshot first.

        Args:
            tree: the snapshot.
            request: how it is asked; a conflict is a file changed since the last snapshot.
            call: the request; may be cancelled until the first file is moved.

        Raises:
            UnknownSnapshot, StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
        """
        with self._writer.turn(call):
            target = Target(self._store, self._store.find(tree))

            def make_plan(planner: Planner, before: Snapshot) -> tuple[Plan, Operated]:
                return planner.restore(target, call), self._writer.operation("restore", before)

            def wanted(before: Snapshot) -> Iterator[RelPath]:
                return wanted_by_restore(self._store, before.tree, tree)

            return self._writer.operate(make_plan, target.snapshot.coverage.forced, wanted, request, call)

    def revert(self, patches: Sequence[tuple[ObjectId, Sequence[RelPath]]], request: Request, call: Call) -> Outcome:
        """Brings some files back, each from the first patch that names it.

        Args:
            patches: trees of snapshots, each with the files to take from it.
            request: as in `restore`.
            call: as in `restore`.

        Raises:
            PathOutsideWorkspace: a name leads through a symlink.
            UnknownSnapshot, StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
        """
        with self._writer.turn(call):
            targets = [(Target(self._store, self._store.find(tree)), names) for tree, names in patches]
            forced = tuple({path for target, _ in targets for path in target.snapshot.coverage.forced})

            def make_plan(planner: Planner, before: Snapshot) -> tuple[Plan, Operated]:
                return planner.revert(targets, call), self._writer.operation("revert", before)

            def wanted(_: Snapshot) -> Iterator[RelPath]:
                return wanted_by_patches(self._store, patches)

            return self._writer.operate(make_plan, forced, wanted, request, call)

    # -- housekeeping

    def cleanup(self, older_than_days: float | None, call: Call) -> tuple[int, int]:
        """Drops what retention does not keep, and packs the rest.

        Args:
            older_than_days: instead of the workspace's own retention.
            call: the request; may be cancelled until the first snapshot goes.

        Returns:
            How many snapshots were dropped, and the bytes that this freed.

        Raises:
            StoreCorrupt, StorageFull, IoError, Cancelled: see there.
        """
        with self._writer.turn(call):
            self._store.check_present()
            return self._store.expire(self.policy.kept.limits(time.time(), older_than_days), self._relied_on(), call)

    def keep_house(self, now: float) -> int | None:
        """Does what there is to do of that while nobody wants anything; gives way at once to who does.

        Args:
            now: seconds since 1970.

        Returns:
            How many snapshots were dropped, None where somebody was at work, or has closed the workspace.

        Raises:
            StoreCorrupt, StorageFull, IoError: see there.
        """
        try:
            with self._writer.spare_turn() as call:
                self._store.check_present()
                return self._store.expire_in_background(self.policy.kept.limits(now), self._relied_on(), call)
        except (Cancelled, WorkspaceNotOpen):
            return None

    def _relied_on(self) -> ObjectId | None:
        """A tree that has to stay, since the memory of the work tree takes its objects for stored."""
        tree = self._work_tree.tree
        if tree is None:
            # nothing says which objects it takes for stored
            self._work_tree.forget_all()
        return tree

    # -- inside

    def _folder_file(self) -> tuple[tuple[str, ...], str | None]:
        """What the folder's own file excludes, and what is wrong with it."""
        try:
            return self._work_tree.own_excludes(), None
        except InvalidParams as error:
            return (), error.message

    def _check_way(self, path: RelPath) -> None:
        for above in parents(path):
            found = self._work_tree.occupant(above)
            if found is not None and stat.S_ISLNK(found.st_mode):
                raise PathOutsideWorkspace(f"{shown(path)} leads through the symlink {shown(above)}", file=shown(path))

    def _other(self, old: ObjectId, new: ObjectId | None, call: Call) -> ObjectId:
        snapshot = self._store.find(old)
        if new is not None:
            return self._store.find(new).tree
        with self._writer.turn(call):
            return self._writer.capture(snapshot.coverage.forced, RecordKind.LOOK, call).tree

    def _changes(
        self, old: ObjectId, new: ObjectId, only: Sequence[RelPath], call: Call, after: RelPath | None = None
    ) -> Iterator[Change]:
        store = self._store
        for change in changes(store.read_tree, old, new, after=after, only=only, differing=store.differing):
            call.check()
            yield change

    def _moved(self, old: ObjectId, new: ObjectId) -> dict[RelPath, RelPath]:
        """What was renamed; kept for the next page, which asks for the same."""
        kept = self._renames
        if kept is None or kept[:2] != (old, new):
            kept = self._renames = (old, new, self._store.renames(old, new))
        return kept[2]
