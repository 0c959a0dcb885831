"""A workspace that is open: the one place where its snapshots are taken, compared and brought back.

One writer at a time; reads of what is stored run beside it.
"""

from __future__ import annotations

import stat
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from .errors import FileNotInSnapshot, PathOutsideWorkspace
from .filediff import FileDelta, describe
from .model import CaptureSettings, Outcome, RecordKind, Snapshot
from .paths import parents, shown
from .planning import Planner
from .target import Target
from .trees import changes, file_at, files
from .unified import unified

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from .call import Call
    from .model import Change, Entry, ObjectId, OnConflict, RelPath, Skip
    from .plan import Plan
    from .ports import Store, WorkTree

PAGE_BYTES = 32 << 20
"""Contents (bytes) that one page of file differences holds at most, unless a single file has more."""

_DAY_SECONDS = 86400.0
_LOCK_POLL_SECONDS = 0.1


@attrs.frozen
class Tracked:
    """A snapshot was taken because a client asked.

    Attributes:
        tree: its id.
        previous: the tree of the one before it, None where it is the first.
        skipped: what was there and was not captured.
    """

    tree: ObjectId
    previous: ObjectId | None
    skipped: tuple[Skip, ...]


@attrs.frozen
class Reverted:
    """An operation changed the work tree.

    Attributes:
        kind: "restore" or "revert".
        outcome: what it did.
    """

    kind: str
    outcome: Outcome


@attrs.frozen
class DeltaPage:
    """Some of the files that differ.

    Attributes:
        deltas: ordered by path.
        to: the tree compared with, so that the next page compares with the same.
        after: the last path of this page where there are more, else None.
    """

    deltas: tuple[FileDelta, ...]
    to: ObjectId
    after: RelPath | None


@attrs.frozen
class NamePage:
    """Some of the names in a snapshot; `after` as in `DeltaPage`."""

    paths: tuple[RelPath, ...]
    after: RelPath | None


@attrs.frozen
class FileContent:
    """A file of a snapshot: its exact bytes and its mode."""

    mode: int
    data: bytes


@attrs.frozen
class Status:
    """What is known of a workspace without looking at its files.

    Attributes:
        files: captured files, as of the last look.
        last: the tree of the newest snapshot, None where there is none.
        store_path: where the store lies.
        store_bytes: what it takes.
    """

    files: int
    last: ObjectId | None
    store_path: str
    store_bytes: int


class Workspace:
    """One folder under snapd's care.

    Args:
        project_id: the name of its store.
        work_tree: the folder.
        store: where its snapshots are.
        settings: what is captured; may be replaced at any time.
        retention_days: how long snapshots are kept at least.
    """

    def __init__(
        self,
        project_id: str,
        work_tree: WorkTree,
        store: Store,
        settings: CaptureSettings,
        retention_days: float,
    ) -> None:
        self.project_id = project_id
        self.settings = settings
        self.retention_days = retention_days
        self._work_tree = work_tree
        self._store = store
        self._writer = threading.Lock()
        self._files: int | None = None
        self._listeners: list[Callable[[Tracked | Reverted], None]] = []

    @property
    def root(self) -> bytes:
        """The folder, absolute and canonical."""
        return self._work_tree.root

    def listen(self, listener: Callable[[Tracked | Reverted], None]) -> None:
        """Has every event told, in order, from the thread that caused it."""
        self._listeners.append(listener)

    def check_present(self) -> None:
        """Raises `WorkspaceGone` where the folder is no longer the one that was opened."""
        self._work_tree.check_present()

    def close(self) -> None:
        """Lets go of the folder and the store, when the operation under way is done."""
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
            self._tell(tracked)
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
            parts.append(unified(self._store, change))
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
        moved = self._store.renames(old, tree) if renames else {}
        # a file that left or entered what is asked about was deleted or added, as far as that goes
        moved = {path: source for path, source in moved.items() if _is_among(path, only) and _is_among(source, only)}
        gone = set(moved.values())
        found: list[FileDelta] = []
        size = 0
        for change in self._changes(old, tree, only, call):
            if (after is not None and change.path <= after) or change.path in gone:
                continue
            if (limit is not None and len(found) >= limit) or size >= PAGE_BYTES:
                return DeltaPage(tuple(found), tree, found[-1].path)
            source = moved.get(change.path)
            before = change.old if source is None else file_at(self._store.read_tree, old, source)
            delta = describe(self._store, attrs.evolve(change, old=before), contents, source)
            if found and size + delta.size > PAGE_BYTES:
                return DeltaPage(tuple(found), tree, found[-1].path)
            found.append(delta)
            size += delta.size
            call.progress("comparing", len(found))
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
        for path, _ in files(self._store.read_tree, tree):
            call.check()
            if (after is not None and path <= after) or not wanted(path):
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
        return Status(count, last, self._store.path, self._store.bytes_on_disk())

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
        self._tell(Reverted(kind, outcome))
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
            return self._store.expire(time.time() - days * _DAY_SECONDS, self._work_tree.tree)

    # -- inside

    @contextmanager
    def _writing(self, call: Call) -> Iterator[None]:
        while not self._writer.acquire(timeout=_LOCK_POLL_SECONDS):
            call.check()
        try:
            call.check()
            yield
        finally:
            self._writer.release()

    def _capture(self, forced: tuple[RelPath, ...], kind: RecordKind, call: Call) -> Snapshot:
        snapshot = self._look(forced, call)
        self._record(snapshot, kind)
        return snapshot

    def _look(self, forced: tuple[RelPath, ...], call: Call) -> Snapshot:
        self._store.check_present()
        with self._store.batch() as batch:
            snapshot = self._work_tree.capture(self.settings, forced, batch, call)
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

    def _changes(self, old: ObjectId, new: ObjectId, only: Sequence[RelPath], call: Call) -> Iterator[Change]:
        wanted = frozenset(only)
        for change in changes(self._store.read_tree, old, new):
            call.check()
            if _is_among(change.path, wanted):
                yield change

    def _tell(self, event: Tracked | Reverted) -> None:
        for listener in self._listeners:
            listener(event)


def _is_among(path: RelPath, only: Collection[RelPath]) -> bool:
    """Whether a path is one of those asked for, or below one; none are named where all are."""
    return not only or path in only or any(above in only for above in parents(path))
