"""Takes snapshots, and reads what they hold."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from snapd.core.answers import FileContent, NamePage, Status
from snapd.core.errors import FileNotInSnapshot, InvalidParams, PathOutsideWorkspace
from snapd.core.feed.events import Tracked
from snapd.core.model import RecordKind
from snapd.core.paths import parents, shown
from snapd.core.trees import file_at, files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from snapd.core.call import Call
    from snapd.core.model import Entry, ObjectId, RelPath
    from snapd.core.operations.writer import Writer
    from snapd.core.ports.store import Store


class Snapshots:
    """The snapshots of one workspace.

    Methods that read a snapshot raise `UnknownSnapshot` if none has that tree, and `StoreCorrupt` if an object
    is missing or damaged.

    Args:
        writer: captures the work tree.
        store: holds the snapshots.
    """

    def __init__(self, writer: Writer, store: Store) -> None:
        self._writer = writer
        self._work_tree = writer.work_tree
        self._store = store

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
                self._check_no_symlink_above(path)
            previous = self._store.last
            snapshot = self._writer.capture(paths, RecordKind.TRACK, call)
            tracked = Tracked(snapshot.tree, previous, snapshot.coverage.skipped)
            self._writer.notify_snapshot(tracked)
        return tracked

    def file_at(self, tree: ObjectId, path: RelPath) -> FileContent:
        """Reads a file of a snapshot.

        Raises:
            FileNotInSnapshot: the snapshot lacks the file; `data["skipped"]` says whether the capture skipped it.
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
        """Lists the files of a snapshot, ordered by path.

        Args:
            tree: the snapshot.
            call: the request.
            wanted: says whether to list a path.
            after: the path where the page before ended; None for the first page.
            limit: names on this page, at most.
        """
        self._store.find(tree)
        names: list[RelPath] = []
        for path, _ in files(self._store.read_tree, tree, after=after):
            call.check()
            if not wanted(path):
                continue
            if limit is not None and len(names) >= limit:
                return NamePage(tuple(names), names[-1])
            names.append(path)
        return NamePage(tuple(names), None)

    def entry(self, tree: ObjectId, path: RelPath) -> Entry | None:
        """Looks a file up in a snapshot; None where the snapshot lacks it."""
        self._store.find(tree)
        return file_at(self._store.entry_in, tree, path)

    def status(self) -> Status:
        """Says what is known without a look at the files; never waits for an operation that runs.

        Raises:
            WorkspaceGone: the folder was moved, deleted or replaced.
        """
        self._work_tree.check_present()
        excludes, problem = self._folder_excludes()
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

    def _folder_excludes(self) -> tuple[tuple[str, ...], str | None]:
        """The patterns of the folder's own file, and what is wrong with that file."""
        try:
            return self._work_tree.own_excludes(), None
        except InvalidParams as error:
            return (), error.message

    def _check_no_symlink_above(self, path: RelPath) -> None:
        for above in parents(path):
            occupant = self._work_tree.occupant(above)
            if occupant is not None and stat.S_ISLNK(occupant.st_mode):
                raise PathOutsideWorkspace(f"{shown(path)} leads through the symlink {shown(above)}", file=shown(path))
