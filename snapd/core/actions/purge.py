"""Takes files out of all that was ever stored of a workspace: for a secret that was captured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import FileNotInSnapshot, InvalidParams
from snapd.core.feed.events import Tracked
from snapd.core.model import RecordKind
from snapd.core.paths import shown

if TYPE_CHECKING:
    from collections.abc import Collection

    from snapd.core.call import Call
    from snapd.core.model import ObjectId, RelPath
    from snapd.core.operations.writer import Writer

_NAMED = 5
"""How many files an error names."""


@attrs.frozen
class PurgedFile:
    """A file that is in no snapshot any more, or would not be.

    Attributes:
        path: where it was.
        versions: how many contents it had there, of those that go.
        size: of these, bytes.
        in_folder: whether one of them is in the folder now, and captured there.
    """

    path: RelPath
    versions: int
    size: int
    in_folder: bool


@attrs.frozen
class Purged:
    """What a purge did, or would do.

    Attributes:
        applied: whether it was done.
        files: that it was about.
        snapshots: how many snapshots became others, or went.
        sessions: how many sessions went.
        freed: bytes.
        linked: whether the user's own git has any of it in a file that it shared with the store: there it stays.
    """

    applied: bool
    files: tuple[PurgedFile, ...]
    snapshots: int
    sessions: int
    freed: int
    linked: bool


class Purge:
    """Purges a workspace.

    Args:
        writer: the one who may write.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def purge(self, paths: Collection[RelPath], dry_run: bool, call: Call) -> Purged:
        """Takes files out of every snapshot and every event.

        All contents go that they ever had, wherever these stand. A snapshot that had any becomes another one, under
        another id, and sessions go on with that.

        Args:
            paths: files and directories.
            dry_run: only say what would go.
            call: the request; may be cancelled until the first thing goes.

        Raises:
            FileNotInSnapshot: a file is in no snapshot; nothing was changed.
            InvalidParams: what would go is in the folder, and would be back with the next snapshot; nothing was
                changed.
            StoreCorrupt, StorageFull, IoError: nothing was changed; or they are in no snapshot any more, and some of
                their contents are on the disk still: the same request again removes them.
            Cancelled: nothing was changed.
        """
        store, work_tree = self._writer.store, self._writer.work_tree
        with self._writer.turn(call):
            store.check_present()
            purge_plan = store.purge_plan(paths, call)
            standing = purge_plan.standing()
            missing = [path for path in paths if not purge_plan.is_in_any(path)]
            if missing and not store.is_unpurged:
                raise FileNotInSnapshot(f"{shown(missing[0])} is in no snapshot", file=shown(missing[0]), skipped=False)
            look = self._writer.look((), call)
            here = [path for path, _ in purge_plan.located(look.tree)]
            files = []
            for path, versions in standing.items():
                call.check()
                size = sum(map(store.blob_size, versions))
                files.append(PurgedFile(path, len(versions), size, path in here))
            count = purge_plan.snapshots()
            linked = purge_plan.is_linked()
            if dry_run:
                self._writer.record(look, RecordKind.LOOK)
                return Purged(False, tuple(files), count, 0, 0, linked)
            if here:
                names = ", ".join(shown(path) for path in here[:_NAMED]) + (", ..." if len(here) > _NAMED else "")
                raise InvalidParams(
                    f"{names}: still in the folder, so the next snapshot would have it again",
                    hint="delete it, or ignore it and take it out of git's index, then purge again",
                    field="files",
                    files=[shown(path) for path in here],
                )
            # what was just looked at belongs to no snapshot, and need not be stored for this
            work_tree.forget(store.discard())
            previous = store.last
            try:
                freed = store.purge(purge_plan if standing else None, call)
            finally:
                # which objects there are, nothing but the store knows now
                work_tree.forget_all()
            self._tell(previous)
            return Purged(True, tuple(files), count, 0, freed, linked)

    def purge_all(self, dry_run: bool, call: Call) -> Purged:
        """Takes everything out: no snapshot, no session and no operation is left.

        Args:
            dry_run: as of `purge`.
            call: as of `purge`.

        Raises:
            StorageFull, IoError: nothing was changed; or some of it is on the disk still, and goes when the store is
                next opened.
            Cancelled: nothing was changed.
        """
        store = self._writer.store
        with self._writer.turn(call):
            store.check_present()
            snapshots, sessions = store.counts()
            if dry_run:
                return Purged(False, (), snapshots, sessions, 0, False)
            try:
                freed = store.erase(call)
            finally:
                self._writer.work_tree.forget_all()
            return Purged(True, (), snapshots, sessions, freed, False)

    def _tell(self, previous: ObjectId | None) -> None:
        """Tells of the last snapshot, where that is another one now."""
        store = self._writer.store
        if store.last is not None and store.last != previous:
            skipped = store.find(store.last).coverage.skipped
            self._writer.tell_snapshot(Tracked(store.last, previous, skipped))
