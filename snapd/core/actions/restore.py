"""Brings a snapshot back, or some files of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.operations.ignored_targets import wanted_by_patches, wanted_by_restore
from snapd.core.operations.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.core.call import Call
    from snapd.core.model import ObjectId, Outcome, RelPath
    from snapd.core.operations.options import OperationOptions
    from snapd.core.operations.writer import Writer
    from snapd.core.ports.log import SnapshotLog
    from snapd.core.ports.objects import Objects


class Restore:
    """Restores snapshots of one workspace.

    An operation may be cancelled until the first file is moved. If it raises `UnknownSnapshot`, `StoreCorrupt`,
    `StorageFull`, `WorkspaceGone`, `IoError` or `Cancelled`, nothing was changed.

    Args:
        writer: changes the work tree.
        objects: holds the snapshots.
        log: knows which snapshots there are.
    """

    def __init__(self, writer: Writer, objects: Objects, log: SnapshotLog) -> None:
        self._writer = writer
        self._objects = objects
        self._log = log

    def restore(self, tree: ObjectId, options: OperationOptions, call: Call) -> Outcome:
        """Makes the work tree what a snapshot was, after a snapshot of the work tree as it is now.

        A conflict is a file that changed since the last snapshot.
        """
        with self._writer.turn(call):
            target = Target(self._objects, self._log.find(tree))
            seen = self._writer.seen(call)
            wanted = wanted_by_restore(self._objects, seen.tree, tree)
            prepared = self._writer.prepare(seen, wanted, options, call, forced=target.snapshot.coverage.forced)
            plan = prepared.planner.restore(target, call)
            return self._writer.carry_out(prepared, plan, self._writer.operation("restore", seen), call)

    def revert(
        self, patches: Sequence[tuple[ObjectId, Sequence[RelPath]]], options: OperationOptions, call: Call
    ) -> Outcome:
        """Brings some files back, each from the first patch that names it.

        Args:
            patches: trees of snapshots, each with the files to take from it.
            options: as of `restore`.
            call: the request.

        Raises:
            PathOutsideWorkspace: a name leads through a symlink; nothing was changed.
        """
        with self._writer.turn(call):
            targets = [(Target(self._objects, self._log.find(tree)), names) for tree, names in patches]
            forced = {path for target, _ in targets for path in target.snapshot.coverage.forced}
            seen = self._writer.seen(call)
            wanted = wanted_by_patches(self._objects, patches)
            prepared = self._writer.prepare(seen, wanted, options, call, forced=forced)
            plan = prepared.planner.revert(targets, call)
            return self._writer.carry_out(prepared, plan, self._writer.operation("revert", seen), call)
