"""Moves one directory as a whole, if what is in it is still what the plan saw."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.core.paths import folders_above, parents
from snapd.failpoints import failpoint
from snapd.worktree.fs.opening import open_directory
from snapd.worktree.fs.rename import rename_no_replace
from snapd.worktree.fs.stable_read import signature

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.core.model import RelPath
    from snapd.core.plan import Delete, MoveDirectory, Plan, Write


class DirectoryMove:
    """A directory to move, with the files of the plan that are in it.

    Args:
        root: descriptor of the workspace.
        move: from where to where.
        deletes: the files in it, under their old names.
        writes: the same files, under their new names.
    """

    def __init__(self, root: int, move: MoveDirectory, deletes: list[Delete], writes: list[Write]) -> None:
        self._root = root
        self.move = move
        self.deletes = deletes
        self.writes = writes
        self._identity: tuple[int, int] | None = None

    @property
    def paths(self) -> set[RelPath]:
        """The files, under both names."""
        return {delete.path for delete in self.deletes} | {write.path for write in self.writes}

    @property
    def directories(self) -> set[RelPath]:
        """The directory, and those in it that have files of the plan."""
        inside = folders_above(delete.path for delete in self.deletes)
        return inside.difference(parents(self.move.old))

    def is_as_planned(self) -> bool:
        """Whether the directory holds what the plan saw, and can be renamed: it is no mount point."""
        try:
            descriptor = open_directory(self._root, self.move.old)
        except OSError:
            return False
        try:
            status = os.fstat(descriptor)
            self._identity = status.st_dev, status.st_ino
            above = open_directory(self._root, self.move.old.rpartition(b"/")[0])
            try:
                is_mounted = os.fstat(above).st_dev != status.st_dev
            finally:
                os.close(above)
            return not is_mounted and not self._changed(descriptor)
        except OSError:
            return False
        finally:
            os.close(descriptor)

    def rename(self, open_or_make: Callable[[RelPath], int]) -> bool:
        """Renames the directory.

        Args:
            open_or_make: opens the directory above its new path.

        Returns:
            False if another directory has its name by now; that stays where it was.

        Raises:
            OSError: nothing moved.
        """
        failpoint("apply.move_directory")
        source = open_directory(self._root, self.move.old.rpartition(b"/")[0])
        try:
            target = open_or_make(self.move.new.rpartition(b"/")[0])
            try:
                old, new = (path.rpartition(b"/")[2] for path in (self.move.old, self.move.new))
                rename_no_replace(source, old, target, new)
                status = os.stat(new, dir_fd=target, follow_symlinks=False)
                if (status.st_dev, status.st_ino) != self._identity:
                    rename_no_replace(target, new, source, old)
                    return False
                return True
            finally:
                os.close(target)
        finally:
            os.close(source)

    def changed_meanwhile(self) -> set[RelPath]:
        """The files, under their old names, that somebody changed before or while the directory moved."""
        try:
            descriptor = open_directory(self._root, self.move.new)
        except OSError:
            return {delete.path for delete in self.deletes}
        try:
            return self._changed(descriptor)
        finally:
            os.close(descriptor)

    def _changed(self, descriptor: int) -> set[RelPath]:
        """The files, under their old names, that are not what the plan saw."""
        expected: dict[RelPath, dict[bytes, Delete]] = {}
        for planned in self.deletes:
            above, _, name = planned.path.rpartition(b"/")
            expected.setdefault(above[len(self.move.old) + 1 :], {})[name] = planned
        changed = {planned.path for planned in self.deletes}
        for inside, wanted in expected.items():
            try:
                directory = open_directory(descriptor, inside)
            except OSError:
                continue
            try:
                with os.scandir(directory) as entries:
                    for entry in entries:
                        delete = wanted.get(os.fsencode(entry.name))
                        if delete and signature(entry.stat(follow_symlinks=False)) == delete.captured.signature:
                            changed.remove(delete.path)
            except OSError:
                continue
            finally:
                os.close(directory)
        return changed


def directory_moves(root: int, plan: Plan) -> list[DirectoryMove]:
    """The moves of a plan, each with its files; those only that can be done."""
    old = {move.old: move for move in plan.moves}
    if not old:
        return []
    deletes: dict[MoveDirectory, list[Delete]] = {}
    writes = {write.path: write for write in plan.writes}
    for delete in plan.deletes:
        move = _move_above(delete.path, old)
        if move is not None:
            deletes.setdefault(move, []).append(delete)
    found = (
        DirectoryMove(root, move, inside, [writes[move.there(delete.path)] for delete in inside])
        for move, inside in deletes.items()
    )
    return [move for move in found if move.is_as_planned()]


def _move_above(path: RelPath, old: dict[RelPath, MoveDirectory]) -> MoveDirectory | None:
    while (cut := path.rfind(b"/")) >= 0:
        path = path[:cut]
        if path in old:
            return old[path]
    return None
