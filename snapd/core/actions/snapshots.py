"""Takes snapshots and lists them, restores files from them, and exports them."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from snapd.core.actions.compare import KnownSnapshots
from snapd.core.answers import ExportOutcome, FileContent, NamePage, Page, Status, TakenView
from snapd.core.feed import TrackNotice
from snapd.core.operations.patch import FileGoal, Patch, Target
from snapd.core.operations.runner import OperationOptions, Request, Runner
from snapd.core.operations.uncaptured import Obstacles
from snapd.core.operations.writer import Writer
from snapd.model.call import Call
from snapd.model.errors import FileNotInSnapshot, PathOutsideWorkspace, UnknownSnapshot
from snapd.model.paths import parents, shown
from snapd.model.plan import Plan, Write
from snapd.model.snapshot import EMPTY_TREE, Change, Entry, FileOutcome, ObjectId, Outcome, RelPath, Snapshot
from snapd.model.snapshot_records import SnapshotRecord, SnapshotRecordQuery
from snapd.model.trees import changes, count_files, file_at, files
from snapd.store.object_store import ObjectStore
from snapd.store.store import Store
from snapd.worktree.worktree import WorkTree

_ON_A_PAGE = 200
_CANDIDATES = 10
"""The maximum number of hashes in an error."""


class Snapshots:
    """The snapshots of one workspace.

    Methods that read a snapshot raise `UnknownSnapshot` if none has that tree. `restore` and `revert` may be cancelled
    until the first file is moved.
    """

    def __init__(self, writer: Writer, store: Store, known: KnownSnapshots, runner: Runner) -> None:
        self._writer = writer
        self._runner = runner
        self._known = known
        self._work_tree = writer.work_tree
        self._store = store

    def track(self, forced: Iterable[RelPath], call: Call) -> TrackNotice:
        """Takes a snapshot of the work tree, with some ignored paths; it is durable on return.

        The call may be cancelled until the snapshot is recorded. Raises `PathOutsideWorkspace` if a forced path leads
        through a symlink.
        """
        with self._writer.turn(call):
            paths = tuple(forced)
            self._work_tree.check_present()
            for path in paths:
                self._check_no_symlink_above(path)
            previous = self._store.last
            snapshot = self._writer.look(paths, call)
            self._store.record(snapshot, "track")
            tracked = TrackNotice(snapshot.tree, previous, snapshot.coverage.skipped)
            self._writer.notify_snapshot(tracked)
        return tracked

    def file_at(self, tree: ObjectId, path: RelPath) -> FileContent:
        """Reads a file of a snapshot.

        Raises `FileNotInSnapshot` if the snapshot lacks it; `data["skipped"]` says whether the capture skipped it.
        """
        objects, snapshot = self._known.of(tree)
        entry = file_at(objects.entry_in, tree, path)
        if entry is None:
            skipped = any(path == skip.path or path.startswith(skip.path + b"/") for skip in snapshot.coverage.skipped)
            raise FileNotInSnapshot(
                f"{shown(path)} is not in snapshot {tree.hex()}", file=shown(path), hash=tree.hex(), skipped=skipped
            )
        return FileContent(entry.mode, objects.read_blob(entry.oid))

    def names(
        self, tree: ObjectId, call: Call, wanted: Callable[[RelPath], bool], after: RelPath | None, limit: int | None
    ) -> NamePage:
        """Lists the files of a snapshot that satisfy `wanted`, ordered by path, after the end of the previous page."""
        objects, _ = self._known.of(tree)
        names: list[RelPath] = []
        for path, _ in files(objects.read_tree, tree, after=after):
            call.check()
            if not wanted(path):
                continue
            if limit is not None and len(names) >= limit:
                return NamePage(tuple(names), names[-1])
            names.append(path)
        return NamePage(tuple(names), None)

    def entry(self, tree: ObjectId, path: RelPath) -> Entry | None:
        """Returns a file of a snapshot; None if the snapshot lacks it."""
        objects, _ = self._known.of(tree)
        return file_at(objects.entry_in, tree, path)

    def status(self) -> Status:
        """Returns the state without a look at the files; never waits for an operation. Raises `WorkspaceGone`."""
        self._work_tree.check_present()
        excludes, problem = self._work_tree.rules.of_folder()
        last = self._store.last
        count = self._writer.files
        if count is None:
            count = count_files(self._store.read_tree, last) if last is not None else 0
        return Status(
            files=count,
            watcher=self._work_tree.clock.kind,
            watcher_reason=self._work_tree.clock.reason,
            full_look=self._work_tree.scanner.full_look,
            last=last,
            store_path=self._store.path,
            store_bytes=self._store.bytes_on_disk(),
            folder_excludes=excludes,
            folder_problem=problem,
            unreadable_rules=self._work_tree.unreadable_rules,
            git_reason=self._writer.git.reason() if self._writer.settings.git_state else None,
        )

    def taken(
        self, wanted: SnapshotRecordQuery, below: int | None, limit: int, call: Call, *, counts: bool
    ) -> Page[TakenView]:
        """Lists snapshots, the newest first, below the number where the previous page ended.

        `counts` says whether to count the files that changed.
        """
        timeline = self._store.timeline
        result = timeline.taken(wanted, below, limit + 1)
        views = []
        for taken in result[:limit]:
            call.check()
            session = None if taken.session_id is None else timeline.session(taken.session_id)
            operated = None if taken.operation_id is None else timeline.operation(taken.operation_id)
            views.append(
                TakenView(
                    taken,
                    self._changed(taken) if counts else None,
                    None if session is None else session.agent,
                    None if operated is None else operated.kind,
                )
            )
        if wanted.prefix and len(result) <= limit:
            views += self._fetched(wanted.prefix)
        return Page(tuple(views), result[limit - 1].place if len(result) > limit else None)

    def beginning(self, prefix: str, call: Call) -> ObjectId:
        """Returns the one snapshot whose hash begins with some digits.

        Raises `UnknownSnapshot` if there is none, or several; `candidates` lists these.
        """
        trees: set[str] = set()
        page = self.taken(SnapshotRecordQuery(prefix, None), None, _ON_A_PAGE, call, counts=False)
        while True:
            trees |= {view.taken.tree.hex() for view in page.views}
            if page.after is None or len(trees) > _CANDIDATES:
                break
            page = self.taken(SnapshotRecordQuery(prefix, None), page.after, _ON_A_PAGE, call, counts=False)
        if not trees:
            raise UnknownSnapshot(f"no snapshot of this folder begins with {prefix!r}", hash=prefix)
        if len(trees) > 1:
            shown = sorted(trees)[:_CANDIDATES]
            more = ", ..." if len(trees) > len(shown) else ""
            raise UnknownSnapshot(
                f"several snapshots begin with {prefix!r}: {', '.join(shown)}{more}",
                hint="give more digits",
                hash=prefix,
                candidates=shown,
            )
        return bytes.fromhex(trees.pop())

    def _fetched(self, prefix: str) -> list[TakenView]:
        """Returns matches in fetched sessions that the folder does not have, each once."""
        views: dict[ObjectId, TakenView] = {}
        for _, session, step, snapshot in self._known.fetched(prefix):
            is_end = snapshot is step.to and step.ended is not None
            at = step.ended if is_end and step.ended is not None else step.started
            names = (session.session_id, step.step_id)
            taken = SnapshotRecord(0, 0, "end" if is_end else "begin", snapshot, at, False, *names)
            if not self._store.knows(snapshot.tree):
                views.setdefault(snapshot.tree, TakenView(taken, None, session.agent, None))
        return list(views.values())

    def _changed(self, taken: SnapshotRecord) -> int | None:
        previous = self._store.timeline.taken_before(taken.place)
        return None if previous is None else sum(1 for _ in self._store.changes(previous.tree, taken.tree))

    def restore(self, tree: ObjectId, options: OperationOptions, call: Call) -> Outcome:
        """Restores the work tree to a snapshot, after a snapshot of the current one.

        A file that changed since the last snapshot conflicts.
        """
        with self._writer.turn(call):
            target = Target(self._store, self._known.here(tree, call))
            seen = self._writer.capture_now(call)

            # most often, nothing else is captured
            @cache
            def differing(now: ObjectId) -> list[Change]:
                outcome = []
                for change in changes(self._store.read_tree, now, tree, differing=self._store.differing):
                    call.check()
                    outcome.append(change)
                return outcome

            request = Request(
                kind="restore",
                options=options,
                seen=seen,
                writes=(change.path for change in differing(seen.tree) if change.old is None),
                patch=lambda prepared: _restoring(target, differing(prepared.before.tree), prepared.before),
                forced=target.snapshot.coverage.forced,
            )
            return self._runner.carry_out(request, call)

    def revert(
        self, patches: Sequence[tuple[ObjectId, Sequence[RelPath]]], options: OperationOptions, call: Call
    ) -> Outcome:
        """Restores some files, each from the first pair of a tree and paths that names it.

        Raises `PathOutsideWorkspace` if a name leads through a symlink.
        """
        with self._writer.turn(call):
            targets = [(Target(self._store, self._known.here(tree, call)), names) for tree, names in patches]
            request = Request(
                kind="revert",
                options=options,
                seen=self._writer.capture_now(call),
                writes=(path for target, names in targets for name in names for path in target.files(name)),
                patch=lambda prepared: _reverting(targets, self._work_tree, prepared.before, call),
                forced=[path for target, _ in targets for path in target.snapshot.coverage.forced],
            )
            return self._runner.carry_out(request, call)

    def export(self, tree: ObjectId, directory: bytes, only: Sequence[RelPath] | None, call: Call) -> ExportOutcome:
        """Writes a snapshot, or some files and directories of it, to another folder, with modes and symlinks.

        `directory` is absolute, and empty or absent unless `only` is given. Raises `InvalidParams` if it is not empty,
        or exports may not write there; and `IoError` if a file exists or its name is invalid for the file system. After
        an error, nothing of the export is left, or the error names what is.
        """
        objects, snapshot = self._known.of(tree)
        plan = Plan(
            writes=tuple(self._writes(objects, tree, only, call)),
            make_directories=snapshot.coverage.empty_dirs,
        )
        size = self._work_tree.export(
            plan, directory, self._store.path, objects.blob_chunks, call, into_empty=only is None
        )
        return ExportOutcome(len(plan.writes), size)

    def _writes(
        self, objects: ObjectStore, tree: ObjectId, only: Sequence[RelPath] | None, call: Call
    ) -> Iterator[Write]:
        if only is not None and not only:
            # an empty set would select everything
            return
        for change in changes(objects.read_tree, EMPTY_TREE, tree, only=only or ()):
            call.check()
            assert change.new is not None
            yield Write(change.path, change.new, None)

    def _check_no_symlink_above(self, path: RelPath) -> None:
        for above in parents(path):
            occupant = self._work_tree.occupant(above)
            if occupant is not None and stat.S_ISLNK(occupant.st_mode):
                raise PathOutsideWorkspace(f"{shown(path)} leads through the symlink {shown(above)}", file=shown(path))


def _restoring(target: Target, differing: Iterable[Change], now: Snapshot) -> Patch:
    goals = [FileGoal(change.path, target, change.new) for change in differing]
    empty_then, empty_now = (set(snapshot.coverage.empty_dirs) for snapshot in (target.snapshot, now))
    removed = []
    for path in empty_now - empty_then:
        for directory in (path, *parents(path)):
            if target.has_directory(directory) or target.protection(directory, is_directory=True) is not None:
                break
            removed.append((directory, target))
    return Patch(goals, made=empty_then - empty_now, removed=removed)


def _reverting(
    patches: Sequence[tuple[Target, Iterable[RelPath]]], work_tree: WorkTree, now: Snapshot, call: Call
) -> Patch:
    """Returns how to restore some files and directories, each from the first snapshot for which it is named."""
    goals: dict[RelPath, FileGoal] = {}
    settled: dict[RelPath, FileOutcome] = {}
    # what earlier snapshots restore: a path must not be a folder for one and a file for another
    files: set[RelPath] = set()
    folders: set[RelPath] = set()
    for target, names in patches:
        coming = []
        for path in (path for name in dict.fromkeys(names) for path in _expanded(target, name, work_tree)):
            call.check()
            if path in goals or path in settled:
                continue
            goal = FileGoal(path, target, target.entry(path))
            if goal.wanted is not None and (path in folders or not files.isdisjoint(parents(path))):
                settled[path] = FileOutcome(path, "skipped", "clash")
                continue
            goals[path] = goal
            if goal.wanted is not None:
                coming.append(path)
        files.update(coming)
        folders.update(above for path in coming for above in parents(path))
    obstacles = Obstacles(work_tree, now)
    for goal in list(goals.values()):
        call.check()
        link = obstacles.link_above(goal.path)
        if link is None or link in goals:
            continue
        if goal.wanted is None:
            raise PathOutsideWorkspace(
                f"{shown(goal.path)} leads through the symlink {shown(link)}", file=shown(goal.path)
            )
        if work_tree.captured(link) is not None:
            # it makes room for the folder that the snapshot has there
            goals[link] = FileGoal(link, goal.target, None)
    return Patch(list(goals.values()), list(settled.values()))


def _expanded(target: Target, name: RelPath, work_tree: WorkTree) -> list[RelPath]:
    """Returns the files that a name stands for; a directory is all files in it, then and now."""
    then = list(target.files(name))
    if work_tree.captured(name) is not None:
        return [name, *(path for path in then if path != name)]
    now = set(work_tree.captured_below(name)) if work_tree.is_directory(name) else set()
    if then == [name]:
        return [*sorted(now), name]
    return sorted(now.union(then)) or [name]
