"""Brings a snapshot back, or some files of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.operations.ignored_targets import wanted_by_patches, wanted_by_restore
from snapd.core.operations.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from snapd.core.call import Call
    from snapd.core.model import ObjectId, Outcome, RelPath, Snapshot
    from snapd.core.operations.planner import Planner
    from snapd.core.operations.writer import Request, Writer
    from snapd.core.plan import Plan
    from snapd.core.ports.log import SnapshotLog
    from snapd.core.ports.objects import Objects
    from snapd.core.timeline.model import Operated


class Restore:
    """Restores snapshots of one workspace.

    Args:
        writer: changes the work tree.
        objects: holds the snapshots.
        log: knows which snapshots there are.
    """

    def __init__(self, writer: Writer, objects: Objects, log: SnapshotLog) -> None:
        self._writer = writer
        self._objects = objects
        self._log = log

    def restore(self, tree: ObjectId, request: Request, call: Call) -> Outcome:
        """Makes the work tree what a snapshot was, after a snapshot of what is there now.

        Args:
            tree: the snapshot.
            request: how it is asked; a conflict is a file changed since the last snapshot.
            call: the request; may be cancelled until the first file is moved.

        Raises:
            UnknownSnapshot, StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
        """
        with self._writer.turn(call):
            target = Target(self._objects, self._log.find(tree))

            def make_plan(planner: Planner, before: Snapshot) -> tuple[Plan, Operated]:
                return planner.restore(target, call), self._writer.operation("restore", before)

            def wanted(before: Snapshot) -> Iterator[RelPath]:
                return wanted_by_restore(self._objects, before.tree, tree)

            return self._writer.operate(make_plan, target.snapshot.coverage.forced, wanted, request, call)

    def revert(self, patches: Sequence[tuple[ObjectId, Sequence[RelPath]]], request: Request, call: Call) -> Outcome:
        """Brings some files back, each from the first patch that names it.

        Args:
            patches: trees of snapshots, each with the files to take from it.
            request: as of `restore`.
            call: as of `restore`.

        Raises:
            PathOutsideWorkspace: a name leads through a symlink.
            UnknownSnapshot, StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
        """
        with self._writer.turn(call):
            targets = [(Target(self._objects, self._log.find(tree)), names) for tree, names in patches]
            forced = tuple({path for target, _ in targets for path in target.snapshot.coverage.forced})

            def make_plan(planner: Planner, before: Snapshot) -> tuple[Plan, Operated]:
                return planner.revert(targets, call), self._writer.operation("revert", before)

            def wanted(_: Snapshot) -> Iterator[RelPath]:
                return wanted_by_patches(self._objects, patches)

            return self._writer.operate(make_plan, forced, wanted, request, call)
