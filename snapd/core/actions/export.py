"""Writes a snapshot to another folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.answers import Exported
from snapd.core.model import EMPTY_TREE
from snapd.core.plan import Plan, Write
from snapd.core.trees import changes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from snapd.core.call import Call
    from snapd.core.model import ObjectId, RelPath
    from snapd.core.ports.store import Store
    from snapd.core.ports.work_tree import WorkTree


class Export:
    """Exports snapshots of one workspace; changes neither the workspace nor the store.

    Args:
        work_tree: writes the files.
        store: holds the snapshots.
    """

    def __init__(self, work_tree: WorkTree, store: Store) -> None:
        self._work_tree = work_tree
        self._store = store

    def export(self, tree: ObjectId, directory: bytes, only: Sequence[RelPath] | None, call: Call) -> Exported:
        """Writes the files of a snapshot, with their modes, the symlinks, and the empty directories.

        Args:
            tree: the snapshot.
            directory: where to, absolute: empty or absent, unless `only` is given.
            only: the files and directories to write; None for all. The others may be there already.
            call: the request; may be cancelled at any time.

        Raises:
            UnknownSnapshot: there is no such snapshot.
            InvalidParams: the directory is not empty, or lies where no export may write.
            StoreCorrupt: an object is missing or damaged.
            IoError: a file is there already, or its name is none for that file system; or the system has trouble.
            StorageFull, Cancelled: as they say.
                After each of these, nothing of the export is left, or the error names what is.
        """
        snapshot = self._store.find(tree)
        plan = Plan(
            writes=tuple(self._writes(tree, only, call)),
            make_directories=snapshot.coverage.empty_dirs,
        )
        size = self._work_tree.export(
            plan, directory, self._store.path, self._store.blob_chunks, call, into_empty=only is None
        )
        return Exported(len(plan.writes), size)

    def _writes(self, tree: ObjectId, only: Sequence[RelPath] | None, call: Call) -> Iterator[Write]:
        if only is not None and not only:
            # to the walk, it would mean all
            return
        for change in changes(self._store.read_tree, EMPTY_TREE, tree, only=only or ()):
            call.check()
            assert change.new is not None
            yield Write(change.path, change.new, None)
