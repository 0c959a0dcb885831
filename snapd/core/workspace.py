"""A workspace that is open: the one place where its snapshots are taken, compared and brought back.

One writer at a time; reads of what is stored run beside it.
"""

from __future__ import annotations

import stat
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .answers import DeltaPage, FileContent, NamePage, Reverted, Status, Tracked
from .errors import FileNotInSnapshot, PathOutsideWorkspace
from .feed import ChangeFeed, Telling
from .filediff import describe
from .model import Outcome, RecordKind
from .paths import parents, shown
from .planning import Planner
from .target import Target
from .trees import changes, file_at, files, is_among
from .unified import unified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .answers import Event
    from .call import Call
    from .filediff import FileDelta
    from .model import CaptureSettings, Change, Entry, ObjectId, OnConflict, RelPath, Snapshot
    from .plan import Plan
    from .ports import Store, TextDiffer, WorkTree

PAGE_BYTES = 32 << 20
"""Contents (bytes) that one page of file differences holds at most, unless a single file has more."""

_DAY_SECONDS = 86400.0
_LOCK_POLL_SECONDS = 0.1


class Workspace:
    """One folder under snapd's care.

    Args:
        project_id: the name of its store.
        work_tree: the folder.
        store: where its snapshots are.
        settings: what is captured; may be replaced at any time.
        retention_days: how long snapshots are kept at least.
        texts: compares texts.
    """

    def __init__(
        self,
        project_id: str,
        work_tree: WorkTree,
        store: Store,
        settings: CaptureSettings,
        retention_days: float,
        texts: TextDiffer,
    ) -> None:
        self.project_id = project_id
        self.settings = settings
        self.retention_days = retention_days
        self.texts = texts
        self._work_tree = work_tree
        self._store = store
        self._writer = threading.Lock()
        self._files: int | None = None
        self._renames: tuple[ObjectId, ObjectId, dict[RelPath, RelPath]] | None = None
        self._listeners: list[Callable[[Event], None]] = []
        self._troubled: list[Callable[[Exception], None]] = []
        self._telling = Telling(work_tree, store, texts, lambda: self.settings, self._writing, self._tell)
        self._feed = ChangeFeed(work_tree, self._telling, self._tell_trouble)

    @property
    def root(self) -> bytes:
        """The folder, absolute and canonical."""
        return self._work_tree.root

    def listen(self, listener: Callable[[Event], None], troubled: Callable[[Exception], None]) -> None:
        """Has every event told, in order, from the thread that caused it.

        Args:
            listener: told of each; that the work tree moved away only while that is wanted, see `watch_changes`.
            troubled: told why that cannot be told, once for the same reason: an error of snapd, or a defect.
        """
        self._listeners.append(listener)
        self._troubled.append(troubled)

    def watch_changes(self, wanted: bool) -> None:
        """Has it told, or no more, that the work tree moved away from the last snapshot; see `ChangeFeed.listen`.

        Raises:
            OSError, RuntimeError: there is no descriptor or no thread left for it.
        """
        self._feed.listen(wanted)

    def check_present(self) -> None:
        """Raises `WorkspaceGone` where the folder is no longer the one that was opened."""
        self._work_tree.check_present()

    def close(self) -> None:
        """Lets go of the folder and the store, when the operation under way is done."""
        # before: its thread may be waiting for its turn to write
        self._feed.close()
        with self._writer:
            self._work_tree.close()
            self._store.close()

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
        with self._writing(call):
            paths = tuple(forced)
            self._work_tree.check_present()
            for path in paths:
                self._check_way(path)
            previous = self._store.last
            snapshot = self._capture(paths, RecordKind.TRACK, call)
            tracked = Tracked(snapshot.tree, previous, snapshot.coverage.skipped)
            self._tell_snapshot(tracked)
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
            before = change.old if source is None else file_at(self._store.read_tree, old, source)
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
        entry = file_at(self._store.read_tree, tree, path)
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
        return file_at(self._store.read_tree, tree, path)

    def status(self) -> Status:
        """What is known without looking at the files; never waits for an operation under way.

        Raises:
            WorkspaceGone: the folder is no longer the one that was opened.
        """
        self._work_tree.check_present()
        last = self._store.last
        count = self._files
        if count is None:
            count = sum(1 for _ in files(self._store.read_tree, last)) if last is not None else 0
        return Status(
            count,
            self._work_tree.watcher,
            self._work_tree.watcher_reason,
            last,
            self._store.path,
            self._store.bytes_on_disk(),
        )

    # -- bringing back

    def restore(self, tree: ObjectId, on_conflict: OnConflict, dry_run: bool, call: Call) -> Outcome:
        """Makes the work tree what a snapshot was; what is there now is in a snapshot first.

        Args:
            tree: the snapshot.
            on_conflict: what to do with files changed since the last snapshot.
            dry_run: only say what would be done.
            call: the request; may be cancelled until the first file is moved.

        Raises:
            UnknownSnapshot, StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
        """
        with self._writing(call):
            target = Target(self._store, self._store.find(tree))
            forced = target.snapshot.coverage.forced
            return self._operate(
                "restore", lambda planner: planner.restore(target, call), forced, on_conflict, dry_run, call
            )

    def revert(
        self,
        patches: Sequence[tuple[ObjectId, Sequence[RelPath]]],
        on_conflict: OnConflict,
        dry_run: bool,
        call: Call,
    ) -> Outcome:
        """Brings some files back, each from the first patch that names it.

        Args:
            patches: trees of snapshots, each with the files to take from it.
            on_conflict: as in `restore`.
            dry_run: as in `restore`.
            call: as in `restore`.

        Raises:
            PathOutsideWorkspace: a name leads through a symlink.
            UnknownSnapshot, StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
        """
        with self._writing(call):
            targets = [(Target(self._store, self._store.find(tree)), names) for tree, names in patches]
            forced = tuple({path for target, _ in targets for path in target.snapshot.coverage.forced})
            return self._operate(
                "revert", lambda planner: planner.revert(targets, call), forced, on_conflict, dry_run, call
            )

    def _operate(
        self,
        kind: str,
        make_plan: Callable[[Planner], Plan],
        forced: tuple[RelPath, ...],
        on_conflict: OnConflict,
        dry_run: bool,
        call: Call,
    ) -> Outcome:
        before = self._look(forced, call)
        plan = make_plan(Planner(self._store, self._work_tree, before, self._store.last, on_conflict))
        if dry_run or (on_conflict == "fail" and plan.conflicts):
            # what was refused is not what the agent left: asked again, it has to be refused again
            self._record(before, RecordKind.LOOK)
            return Outcome(False, before.tree, before.tree, plan.foretold())
        self._record(before, RecordKind.BEFORE)
        if plan.is_empty:
            return Outcome(True, before.tree, before.tree, plan.foretold())
        results = self._work_tree.apply(plan, self._store.blob_chunks, call)
        # what somebody changed since the last snapshot and still has must not pass for what an agent left
        left_alone = any(result.outcome == "conflict" or result.reason == "changedSince" for result in results)
        after = self._capture(forced, RecordKind.PARTLY if left_alone else RecordKind.AFTER, call)
        outcome = Outcome(True, before.tree, after.tree, results)
        self._tell_snapshot(Reverted(kind, outcome))
        return outcome

    # -- housekeeping

    def cleanup(self, older_than_days: float | None, call: Call) -> tuple[int, int]:
        """Drops snapshots that are older than the retention.

        Args:
            older_than_days: instead of the workspace's own retention.
            call: the request.

        Returns:
            How many snapshots were dropped, and the bytes that this freed.

        Raises:
            StoreCorrupt, StorageFull, IoError: see there.
        """
        days = self.retention_days if older_than_days is None else older_than_days
        with self._writing(call):
            self._store.check_present()
            keep = self._work_tree.tree
            if keep is None:
                # nothing says which objects it takes for stored
                self._work_tree.forget_all()
            return self._store.expire(time.time() - days * _DAY_SECONDS, keep)

    # -- inside

    @contextmanager
    def _writing(self, call: Call) -> Iterator[None]:
        while not self._writer.acquire(timeout=_LOCK_POLL_SECONDS):
            call.check()
        try:
            call.check()
            yield
        except BaseException:
            # what could not be made durable may be needed by nobody any more, and must not be in the way next time
            self._work_tree.forget(self._store.discard())
            raise
        finally:
            self._writer.release()

    def _capture(self, forced: tuple[RelPath, ...], kind: RecordKind, call: Call) -> Snapshot:
        snapshot = self._look(forced, call)
        self._record(snapshot, kind)
        return snapshot

    def _look(self, forced: tuple[RelPath, ...], call: Call) -> Snapshot:
        self._store.check_present()
        try:
            with self._store.batch() as batch:
                snapshot = self._work_tree.capture(self.settings, forced, batch, call)
        except BaseException:
            # what the clock had told was given back to it, and it does not tell it twice
            self._feed.hear()
            raise
        self._files = self._work_tree.count()
        return snapshot

    def _record(self, snapshot: Snapshot, kind: RecordKind) -> None:
        if kind is not RecordKind.LOOK or not self._store.knows(snapshot.tree):
            self._store.append(snapshot, kind)

    def _check_way(self, path: RelPath) -> None:
        for above in parents(path):
            found = self._work_tree.occupant(above)
            if found is not None and stat.S_ISLNK(found.st_mode):
                raise PathOutsideWorkspace(f"{shown(path)} leads through the symlink {shown(above)}", file=shown(path))

    def _other(self, old: ObjectId, new: ObjectId | None, call: Call) -> ObjectId:
        snapshot = self._store.find(old)
        if new is not None:
            return self._store.find(new).tree
        with self._writing(call):
            return self._capture(snapshot.coverage.forced, RecordKind.LOOK, call).tree

    def _changes(
        self, old: ObjectId, new: ObjectId, only: Sequence[RelPath], call: Call, after: RelPath | None = None
    ) -> Iterator[Change]:
        for change in changes(self._store.read_tree, old, new, after=after, only=only):
            call.check()
            yield change

    def _moved(self, old: ObjectId, new: ObjectId) -> dict[RelPath, RelPath]:
        """What was renamed; kept for the next page, which asks for the same."""
        kept = self._renames
        if kept is None or kept[:2] != (old, new):
            kept = self._renames = (old, new, self._store.renames(old, new))
        return kept[2]

    def _tell_snapshot(self, event: Tracked | Reverted) -> None:
        self._telling.forget()
        self._tell(event)

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)

    def _tell_trouble(self, error: Exception) -> None:
        for troubled in self._troubled:
            troubled(error)
