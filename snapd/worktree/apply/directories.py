"""Makes, removes and moves directories for a plan, and determines which changes depend on others.

A moved file is written under its new name before the old one is deleted, so it always exists under one of them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import attrs

from snapd.failpoints import failpoint
from snapd.model.call import Call
from snapd.model.errors import FULL, os_errors
from snapd.model.paths import folders_above, parents
from snapd.model.plan import Delete, LinkedFiles, MoveDirectory, Plan, Write
from snapd.model.snapshot import FileOutcome, RelPath
from snapd.worktree.fs.directories import open_directory, opened_directory, set_permissions
from snapd.worktree.fs.stable_read import lstat_at, signature
from snapd.worktree.fs.system import can_sync_together, rename_no_replace, sync_together

from .files import TOGETHER_FROM, in_parallel

TROUBLE = FULL | {errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""Errors of the disk or the process, not of one file."""


class DirectoryChanges:
    """Makes and removes the directories of one plan, and syncs those in which names changed, `changed`."""

    def __init__(self, root: int, plan: Plan, call: Call) -> None:
        self._root = root
        self._permissions = dict(plan.permissions)
        self._call = call
        self.made: list[RelPath] = []
        self.changed: set[RelPath] = set()

    def make_ahead(self, directories: Sequence[RelPath], leaving: set[RelPath]) -> bool:
        """Makes directories, innermost first, before any file is moved: if the disk is full, nothing must change.

        Returns whether they all exist and stay: `leaving` files may have one of their names. Raises `OSError` only for
        `TROUBLE`.
        """
        if not leaving.isdisjoint(directories):
            return False
        if not directories or self._is_there(directories[0]):
            return True
        try:
            for path in reversed(directories):
                self.make(path)
        except OSError as error:
            if error.errno in TROUBLE:
                raise
            return False
        return True

    def _is_there(self, path: RelPath) -> bool:
        try:
            os.close(open_directory(self._root, path))
        except OSError as error:
            if error.errno in TROUBLE:
                raise
            return False
        return True

    def nearest(self, path: RelPath, leaving: set[RelPath]) -> RelPath:
        """Returns the nearest directory above a path that exists and will still exist when the file is moved."""
        for above in parents(path):
            if above not in leaving and self._is_there(above):
                return above
        return b""

    def open_or_make(self, path: RelPath) -> int:
        """Opens a directory; makes it and those above it where they are missing."""
        try:
            # it mostly exists, and checking each part takes calls that grow with the square of the depth
            return open_directory(self._root, path)
        except FileNotFoundError:
            for above in (*reversed(parents(path)), path):
                self.make(above)
            return open_directory(self._root, path)

    def make(self, path: RelPath) -> None:
        """Makes a directory with its planned permissions."""
        above, _, name = path.rpartition(b"/")
        descriptor = open_directory(self._root, above)
        try:
            failpoint("apply.make_directory")
            permissions = self._permissions.get(path)
            os.mkdir(name, 0o777 if permissions is None else 0o700, dir_fd=descriptor)
            if permissions is not None:
                # files are written into it until the end
                set_permissions(self._root, path, permissions | 0o700)
        except FileExistsError:
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                raise
        else:
            self.changed.add(above)
            self.made.append(path)
        finally:
            os.close(descriptor)

    def take_back(self) -> None:
        """Removes the directories that were made."""
        # inner ones first: threads added them in any order
        for path in sorted(self.made, reverse=True):
            above, _, name = path.rpartition(b"/")
            # a directory that another program has used or moved since stays
            with contextlib.suppress(OSError), opened_directory(self._root, above) as descriptor:
                os.rmdir(name, dir_fd=descriptor)

    def narrowed(self) -> Iterator[tuple[RelPath, int]]:
        """Yields the new directories with final permissions that do not allow writing files into them."""
        for path in self.made:
            permissions = self._permissions.get(path, 0o700)
            if permissions & 0o700 != 0o700:
                yield path, permissions

    def make_or_error(self, path: RelPath) -> OSError | None:
        """Makes a directory and those above it; returns the error if that fails."""
        try:
            os.close(self.open_or_make(path.rpartition(b"/")[0]))
            self.make(path)
        except OSError as error:
            return error
        return None

    def remove(self, paths: Iterable[RelPath]) -> dict[RelPath, OSError]:
        """Removes empty directories; returns those that stay, and why."""
        staying: dict[RelPath, OSError] = {}
        for path in paths:
            self._call.check()
            error = self._remove(path)
            if error is not None:
                staying[path] = error
        return staying

    def _remove(self, path: RelPath) -> OSError | None:
        above, _, name = path.rpartition(b"/")
        try:
            descriptor = open_directory(self._root, above)
        except OSError:
            return None
        try:
            failpoint("apply.remove_directory")
            os.rmdir(name, dir_fd=descriptor)
            self.changed.add(above)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return error
        else:
            return None
        finally:
            os.close(descriptor)

    def sync(self) -> None:
        """Makes the names in the changed directories durable; raises `StorageFull`, `IoError`, `Interrupted`."""
        paths = sorted(self.changed)
        rest: Sequence[RelPath] = paths
        if len(paths) >= TOGETHER_FROM and can_sync_together(self._root):
            with os_errors(b"."):
                failpoint("apply.names_all")
            if sync_together(self._root):
                device = os.fstat(self._root).st_dev
                rest = [path for path in paths if self._device_of(path) not in (device, None)]
        in_parallel(self._sync_directory, rest, lambda _: self._call.check())

    def _device_of(self, path: RelPath) -> int | None:
        """Returns the device of a directory; None if the path is no longer one."""
        try:
            with opened_directory(self._root, path) as descriptor:
                return os.fstat(descriptor).st_dev
        except OSError:
            return None

    def _sync_directory(self, path: RelPath) -> None:
        try:
            descriptor = open_directory(self._root, path)
        except OSError:
            return
        try:
            with os_errors(path):
                failpoint("apply.names")
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


class DirectoryMove:
    """A directory or file to move, with the files of the plan in it: `deletes` by old, `coming` by new names.

    `writes` are those of `coming` that the move puts in place; `edits` is what the plan saw of its other changes.
    """

    def __init__(self, root: int, move: MoveDirectory, deletes: list[Delete], coming: list[Write]) -> None:
        self._root = root
        self.move = move
        self.deletes = deletes
        there = {move.there(delete.path): delete for delete in deletes}
        same = {write.path for write in coming if (at := there.get(write.path)) and at.captured.entry == write.entry}
        # the plan compared the contents of what no snapshot has
        self.writes = coming if move.uncaptured else [write for write in coming if write.path in same]
        self.edits = {} if move.uncaptured else {path: at for path, at in there.items() if path not in same}
        self._identity: tuple[int, int] | None = None

    @property
    def paths(self) -> set[RelPath]:
        """The files, by both names."""
        return {delete.path for delete in self.deletes} | {write.path for write in self.writes}

    @property
    def directories(self) -> set[RelPath]:
        """The directory, those in it that have files of the plan, and its new name."""
        inside = folders_above(delete.path for delete in self.deletes)
        return {self.move.new, *inside.difference(parents(self.move.old))}

    def is_as_planned(self) -> bool:
        """Returns whether the directory holds what the plan saw and is no mount point."""
        try:
            status = lstat_at(self._root, self.move.old)
            if status is None:
                return False
            self._identity = status.st_dev, status.st_ino
            with opened_directory(self._root, self.move.old.rpartition(b"/")[0]) as above:
                is_mounted = os.fstat(above).st_dev != status.st_dev
            return not is_mounted and not self._changed(self.move.old, status)
        except OSError:
            return False

    def rename(self, open_or_make: Callable[[RelPath], int]) -> bool:
        """Renames the directory; returns False if another one has the name by now, raises `OSError` on failure."""
        failpoint("apply.move_directory")
        with opened_directory(self._root, self.move.old.rpartition(b"/")[0]) as source:
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

    def changed_meanwhile(self) -> set[RelPath]:
        """Returns the files, by old names, that another program changed before or during the move."""
        try:
            status = lstat_at(self._root, self.move.new)
            if status is not None:
                return self._changed(self.move.new, status)
        except OSError:
            pass
        return {delete.path for delete in self.deletes}

    def _changed(self, place: RelPath, status: os.stat_result) -> set[RelPath]:
        """Returns the files, by old names, that are not what the plan saw."""
        if not stat.S_ISDIR(status.st_mode):
            return {
                planned.path
                for planned in self.deletes
                if planned.path != self.move.old or not signature(status).same_content(planned.captured.signature)
            }
        with opened_directory(self._root, place) as descriptor:
            return self._changed_in(descriptor)

    def _changed_in(self, descriptor: int) -> set[RelPath]:
        expected: dict[RelPath, dict[bytes, Delete]] = {}
        for planned in self.deletes:
            above, _, name = planned.path.rpartition(b"/")
            expected.setdefault(above[len(self.move.old) + 1 :], {})[name] = planned
        changed = {planned.path for planned in self.deletes}
        for inside, planned_by_name in expected.items():
            with (
                contextlib.suppress(OSError),
                opened_directory(descriptor, inside) as directory,
                os.scandir(directory) as entries,
            ):
                for entry in entries:
                    delete = planned_by_name.get(os.fsencode(entry.name))
                    if delete and signature(entry.stat(follow_symlinks=False)) == delete.captured.signature:
                        changed.remove(delete.path)
        return changed


class MovedDirectories:
    """What has moved, by old names, and `edits`: what moved along and is still to be changed, by new names."""

    def __init__(self) -> None:
        self.edits: dict[RelPath, Delete] = {}
        self.old_names: dict[RelPath, MoveDirectory] = {}

    def add(self, moved: DirectoryMove) -> None:
        """Records a finished move."""
        self.edits |= moved.edits
        self.old_names[moved.move.old] = moved.move

    def place_of(self, path: RelPath) -> RelPath:
        """Returns where a file to delete is by now."""
        move = _move_of(path, self.old_names)
        return path if move is None else move.there(path)

    def adapted(self, write: Write) -> Write:
        """Returns a write as it is to be done now: what it replaces moved along, or made room for it."""
        if write.path in self.edits:
            return attrs.evolve(write, captured=self.edits[write.path].captured)
        return attrs.evolve(write, captured=None) if write.path in self.old_names else write

    def emptied(self, plan: Plan) -> list[RelPath]:
        """Returns the directories to remove, where they are by now."""
        moves = {path: _move_of(path, self.old_names) for path in plan.remove_directories}
        needed = folders_above([*(write.path for write in plan.writes), *plan.make_directories])
        needed.update(plan.make_directories)
        places = {path: self.place_of(path) for path, move in moves.items() if move is None or not move.uncaptured}
        return [place for path, place in places.items() if moves[path] is None or place not in needed]


def directory_moves(root: int, plan: Plan) -> list[DirectoryMove]:
    """Returns the moves of a plan, each with its files."""
    if not plan.moves:
        return []
    old, new = ({path: move for move in plan.moves for path in [getattr(move, end)]} for end in ("old", "new"))
    deletes: dict[MoveDirectory | None, list[Delete]] = {}
    writes: dict[MoveDirectory | None, list[Write]] = {}
    for delete in plan.deletes:
        deletes.setdefault(_move_of(delete.path, old), []).append(delete)
    for write in plan.writes:
        if write.captured is None:
            writes.setdefault(_move_of(write.path, new), []).append(write)
        elif write.path in old:
            # it makes room for what the plan writes in its place
            deletes.setdefault(old[write.path], []).append(Delete(write.path, write.captured))
    return [DirectoryMove(root, move, deletes.get(move, []), writes.get(move, [])) for move in plan.moves]


def _move_of(path: RelPath, moves: dict[RelPath, MoveDirectory]) -> MoveDirectory | None:
    return next((moves[at] for at in (path, *parents(path)) if at in moves), None)


class MovePairs:
    """The dependencies between the changes of a plan."""

    def __init__(self, plan: Plan) -> None:
        self._linked = LinkedFiles.of(plan.linked)
        self._writes = {write.path for write in plan.writes}
        self._deletes = {delete.path for delete in plan.deletes}
        self._needing: dict[RelPath, list[RelPath]] = {}
        # a file may need a directory whose name another file has now
        for path, above in _below(self._writes, self._deletes):
            self._needing.setdefault(above, []).append(path)
        # or replace a folder, whose files must go first
        for path, above in _below(self._deletes, self._writes):
            self._needing.setdefault(path, []).append(above)
        moved = self._deletes.intersection(path for group in plan.linked for path in group)
        made = self._writes.union(plan.make_directories) if moved else set()
        above_made = folders_above(made)
        self.deferred = {path for path in moved if path not in above_made and made.isdisjoint(parents(path))}
        """Deletes that can wait until all is written: nothing new needs their names."""

    def blocked(self, outcomes: Mapping[RelPath, FileOutcome]) -> dict[RelPath, FileOutcome]:
        """Returns the outcomes of changes to skip, given those of the writes that failed to stage."""
        skipped: dict[RelPath, FileOutcome] = {}
        waiting = [outcome for outcome in outcomes.values() if outcome.outcome == "failed"]
        while waiting:
            outcome = waiting.pop()
            also = [attrs.evolve(outcome, path=other) for other in self._linked.others(outcome.path)]
            if outcome.path in self._deletes:
                # the file stays, so what needs its name cannot be written
                also += [FileOutcome(path, "failed", "inTheWay") for path in self._needing.get(outcome.path, ())]
            for other in also:
                is_planned = other.path in self._writes or other.path in self._deletes
                if is_planned and other.path not in outcomes and other.path not in skipped:
                    skipped[other.path] = other
                    waiting.append(other)
        return skipped

    def blocker(self, path: RelPath, outcomes: Mapping[RelPath, FileOutcome]) -> FileOutcome | None:
        """Returns the outcome of a deferred delete that must be skipped because a related change was; else None."""
        for other in self._linked.others(path):
            outcome = outcomes.get(other)
            if outcome is not None and outcome.is_left:
                return attrs.evolve(outcome, path=path)
        return None


def _below(paths: set[RelPath], others: set[RelPath]) -> Iterator[tuple[RelPath, RelPath]]:
    """Pairs each path with each of the others that is above it."""
    # fast in the usual case: there is none
    candidates = others & folders_above(paths)
    if candidates:
        yield from ((path, above) for path in paths for above in candidates.intersection(parents(path)))
