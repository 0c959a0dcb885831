"""Applies a plan: writes all new files aside first, then moves them into place, one by one.

It writes nothing in place and follows no symlink. It leaves and reports a file that is no longer what the plan saw. If
the disk is full, that shows while it writes aside, and the work tree is unchanged.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeVar

import attrs

from snapd.failpoints import failpoint
from snapd.model.call import Call
from snapd.model.errors import FULL, Interrupted, from_os_error, os_errors
from snapd.model.paths import parents
from snapd.model.plan import Delete, Plan, Write
from snapd.model.snapshot import FileOutcome, ObjectId, RelPath
from snapd.worktree.fs.directories import open_directory, opened_directory, set_permissions
from snapd.worktree.fs.rename import rename_no_replace
from snapd.worktree.fs.syncing import can_sync_together, sync_together

from .directory_move import DirectoryMove, MovedDirectories, MovePairs, directory_moves
from .new_files import TOGETHER_FROM, NewFile, NewFiles, by_file, in_parallel
from .swap import replace, take_away

_IN_THE_WAY = (errno.ENOTDIR, errno.ELOOP, errno.EEXIST, errno.EISDIR, errno.ENOTEMPTY)
_T = TypeVar("_T")
_TROUBLE = FULL | {errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""Errors of the disk or the process, not of the file at which they show."""


class Applier:
    """Applies one plan to a work tree.

    Args:
        root: descriptor of the workspace.
        umask: of the user; limits the permissions of restored files.
        chunks: returns a blob's bytes.
    """

    def __init__(self, root: int, umask: int, chunks: Callable[[ObjectId], Iterator[bytes]]) -> None:
        self._root = root
        self._umask = umask
        self._chunks = chunks
        self._outcomes: dict[RelPath, FileOutcome] = {}
        self._touched: set[RelPath] = set()
        self._made: list[RelPath] = []
        self._call = Call()
        self._new: NewFiles
        self._places: dict[RelPath, RelPath] = {}
        self._moved = MovedDirectories()
        self._replaced: set[RelPath] = set()
        self._torn: set[RelPath] = set()

    def apply(self, plan: Plan, call: Call) -> tuple[FileOutcome, ...]:
        """Applies the plan.

        Args:
            plan: what to do.
            call: may be cancelled until the first file is moved.

        Returns:
            The outcome for each file of the plan, ordered by path.

        Raises:
            StorageFull, StoreCorrupt, IoError, Cancelled: nothing was changed.
            Interrupted: part of the plan was applied; recovery applies the rest.
        """
        # a plan kept for after a crash comes from the disk, which may have damaged it
        plan.check()
        self._outcomes = {outcome.path: outcome for outcome in plan.settled}
        self._touched = set()
        self._made = []
        self._call = call
        self._places = {}
        self._replaced = {write.path for write in plan.writes if write.captured is not None}
        self._new = NewFiles(self._root, self._umask, self._chunks, call, len(plan.writes), dict(plan.permissions))
        try:
            self._carry_out(plan, call)
        finally:
            self._new.close()
        return tuple(sorted(self._outcomes.values(), key=lambda outcome: outcome.path))

    def _carry_out(self, plan: Plan, call: Call) -> None:
        leaving = {delete.path for delete in plan.deletes}
        staged: list[NewFile] = []
        try:
            moves = self._ready(directory_moves(self._root, plan))
            # nothing may be written aside in a directory that moves, nor may its new name be taken
            leaving.update(above for move in moves for above in move.directories)
            moved = {write.path for move in moves for write in move.writes}
            self._stage_all([write for write in plan.writes if write.path not in moved], leaving, staged)
            coming = {move.move.new for move in moves}
            with os_errors(b"."):
                for path in plan.make_directories:
                    call.check()
                    if coming.isdisjoint(parents(path)):
                        self._make_ahead((path, *parents(path)), leaving)
            failpoint("apply.commit")
            call.commit()
        except BaseException:
            for item in staged:
                self._new.discard(item)
            # inner ones first: the threads that made them noted them in any order
            for path in sorted(self._made, reverse=True):
                self._unmake_directory(path)
            raise
        try:
            pairs = MovePairs(plan)
            left = self._move_directories(moves, pairs.blocked(self._outcomes))
            self._stage_all(left, leaving, staged)
            self._move_all(plan, pairs, staged, call)
        except Interrupted:
            # recovery writes them again
            for item in staged:
                self._new.discard(item)
            raise

    def _ready(self, moves: Sequence[DirectoryMove]) -> list[DirectoryMove]:
        ready = [move for move in moves if move.is_as_planned()]
        for move in moves:
            if move.move.uncaptured and move not in ready:
                self._keep(move, "changedMeanwhile")
        return ready

    def _keep(self, move: DirectoryMove, reason: str) -> None:
        """Leaves what no snapshot has where it is."""
        self._outcomes.update((delete.path, FileOutcome(delete.path, "kept", reason)) for delete in move.deletes)

    def _move_all(self, plan: Plan, pairs: MovePairs, staged: Sequence[NewFile], call: Call) -> None:
        blocked = pairs.blocked(self._outcomes)
        self._outcomes |= blocked
        edits = self._moved.edits
        replaced = {item.write.path: edits[item.write.path] for item in staged if item.write.path in edits}
        settled = self._outcomes.keys() | pairs.deferred | {delete.path for delete in replaced.values()}
        now = [delete for delete in plan.deletes if delete.path not in settled]
        self._for_each(self._attempt_deletes, by_file(now, lambda delete: delete.captured))
        staying = self._remove_directories(self._moved.emptied(plan), call)
        missing = [path for path in plan.make_directories if self._why_no_directory(path) is not None]
        for item in staged:
            if item.write.path in self._outcomes:
                self._new.discard(item)
        ready = [
            attrs.evolve(item, write=self._moved.adapted(item.write))
            for item in sorted(staged, key=lambda item: item.write.path)
            if item.write.path not in self._outcomes
        ]
        self._for_each(self._attempt_moves, by_file(ready, lambda item: item.write.captured))
        for path, delete in replaced.items():
            outcome = attrs.evolve(self._outcomes[path], path=delete.path)
            self._outcomes[delete.path] = outcome if outcome.is_left else FileOutcome(delete.path, "deleted")
        if self._delete_last(plan, pairs, call):
            # not those that are gone: by now, a file may have the name of one
            staying = self._remove_directories(staying, call)
        for path, error in staying.items():
            # it may have files of somebody else
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                self._fail(path, error)
            elif path in self._torn:
                self._outcomes[path] = FileOutcome(path, "kept", "directoryNotEmpty")
        for path in missing:
            # again: moving a file into one makes it; and a file in the way has been reported
            why = self._why_no_directory(path)
            if why is not None and path not in self._outcomes:
                self._fail(path, why)
        for path in self._made:
            permissions = self._new.permissions.get(path, 0o700)
            if permissions & 0o700 != 0o700:
                self._attempt(path, lambda: set_permissions(self._root, path, permissions))  # noqa: B023
        self._sync()

    # -- writing aside

    def _stage_all(self, writes: Sequence[Write], leaving: set[RelPath], staged: list[NewFile]) -> None:
        def progress(done: int) -> None:
            self._call.progress("preparing", done, len(writes))

        if self._new.is_together:
            for done, write in enumerate(writes):
                progress(done)
                self._stage(write, leaving, staged)
            self._new.sync()
        else:
            in_parallel(lambda write: self._stage(write, leaving, staged), writes, progress)

    def _stage(self, write: Write, leaving: set[RelPath], staged: list[NewFile]) -> None:
        self._call.check()
        try:
            directory = self._place(write.path, leaving)
            failpoint("apply.stage")
            staged.append(self._new.write(write, directory))
        except OSError as error:
            if error.errno in _TROUBLE:
                raise from_os_error(error, write.path) from error
            self._fail(write.path, error)

    def _place(self, path: RelPath, leaving: set[RelPath]) -> RelPath:
        """The directory to write a new file to; makes that which the file belongs in, if it can."""
        above = path.rpartition(b"/")[0]
        place = self._places.get(above)
        if place is None:
            place = above if self._make_ahead(parents(path), leaving) else self._nearest(path, leaving)
            self._places[above] = place
        return place

    def _make_ahead(self, directories: Sequence[RelPath], leaving: set[RelPath]) -> bool:
        """Makes directories before any file is moved: if the disk has no room for them, nothing must change.

        Args:
            directories: innermost first.
            leaving: files that go first, and may have one of their names.

        Returns:
            Whether they are all there and stay.

        Raises:
            OSError: the disk or the process is in trouble; other problems are reported later.
        """
        if not leaving.isdisjoint(directories):
            return False
        if not directories or self._is_there(directories[0]):
            return True
        try:
            for path in reversed(directories):
                self._make_directory(path)
        except OSError as error:
            if error.errno in _TROUBLE:
                raise
            return False
        return True

    def _is_there(self, path: RelPath) -> bool:
        try:
            os.close(open_directory(self._root, path))
        except OSError as error:
            if error.errno in _TROUBLE:
                raise
            return False
        return True

    def _nearest(self, path: RelPath, leaving: set[RelPath]) -> RelPath:
        """The nearest directory above a path that exists now and will still exist when the file is moved."""
        for above in parents(path):
            if above not in leaving and self._is_there(above):
                return above
        return b""

    # -- moving into place

    def _move_directories(self, moves: Sequence[DirectoryMove], blocked: Collection[RelPath]) -> list[Write]:
        """Moves directories as a whole; gives the writes of those that have to be moved file by file."""
        left: list[Write] = []
        for move in moves:
            self._call.check()
            if not self._move_directory(move, blocked):
                if move.move.uncaptured:
                    self._keep(move, "onlyCopy")
                self._torn.add(move.move.old)
                left += (write for write in move.writes if write.path not in blocked)
        return left

    def _move_directory(self, move: DirectoryMove, blocked: Collection[RelPath]) -> bool:
        if not move.paths.isdisjoint(blocked):
            return False
        try:
            if not move.rename(self._open_or_make):
                return False
        except OSError:
            # some file systems and mount points refuse it; what else is wrong shows at each file
            return False
        failpoint("apply.directory_moved")
        self._moved.add(move)
        self._touched.update(path.rpartition(b"/")[0] for path in (move.move.old, move.move.new))
        changed = {move.move.there(path) for path in move.changed_meanwhile()}
        gone = [delete.path for delete in move.deletes if delete.path not in self._replaced]
        found = [(path, move.move.there(path), "deleted") for path in gone]
        found += [(write.path, write.path, "merged" if write.merged else "restored") for write in move.writes]
        for path, there, outcome in found:
            if there in changed:
                self._outcomes[path] = FileOutcome(path, "conflict", "changedMeanwhile")
            elif there not in move.edits:
                self._outcomes[path] = FileOutcome(path, outcome)  # type: ignore[arg-type]
        if move.move.uncaptured and not move.writes:
            self._outcomes[move.move.new] = move.move.outcome
        return True

    def _attempt_moves(self, items: Sequence[NewFile]) -> None:
        for item in items:
            self._call.check()
            if not self._attempt(item.write.path, lambda item=item: self._move(item)):  # type: ignore[misc]
                self._new.discard(item)

    def _move(self, item: NewFile) -> None:
        path = item.write.path
        above, _, name = path.rpartition(b"/")
        failpoint("apply.move")
        with self._new.directory_of(item) as source:
            target = self._open_or_make(above)
            try:
                if item.write.captured is None:
                    rename_no_replace(source, item.name, target, name)
                    moved = True
                else:
                    moved = replace(source, item.name, target, name, item.write.captured)
            finally:
                os.close(target)
        if moved:
            self._touched.add(above)
            self._outcomes[path] = FileOutcome(path, "merged" if item.write.merged else "restored")
        else:
            self._outcomes[path] = FileOutcome(path, "conflict", "changedMeanwhile")
            self._new.discard(item)

    def _open_or_make(self, path: RelPath) -> int:
        """Opens a directory; makes it, and those above it, only where it is missing."""
        try:
            # mostly it exists, and checking one by one takes a number of calls that grows with the square of the depth
            return open_directory(self._root, path)
        except FileNotFoundError:
            for above in (*reversed(parents(path)), path):
                self._make_directory(above)
            return open_directory(self._root, path)

    def _make_directory(self, path: RelPath) -> None:
        above, _, name = path.rpartition(b"/")
        descriptor = open_directory(self._root, above)
        try:
            failpoint("apply.make_directory")
            permissions = self._new.permissions.get(path)
            os.mkdir(name, 0o777 if permissions is None else 0o700, dir_fd=descriptor)
            if permissions is not None:
                # until the end, files are written into it
                set_permissions(self._root, path, permissions | 0o700)
        except FileExistsError:
            found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if not stat.S_ISDIR(found.st_mode):
                raise
        else:
            self._touched.add(above)
            self._made.append(path)
        finally:
            os.close(descriptor)

    def _unmake_directory(self, path: RelPath) -> None:
        above, _, name = path.rpartition(b"/")
        # a directory that somebody has used or moved since is theirs
        with contextlib.suppress(OSError), opened_directory(self._root, above) as descriptor:
            os.rmdir(name, dir_fd=descriptor)

    def _why_no_directory(self, path: RelPath) -> OSError | None:
        """Makes a directory and those above it; returns the error if that fails."""
        try:
            os.close(self._open_or_make(path.rpartition(b"/")[0]))
            self._make_directory(path)
        except OSError as error:
            return error
        return None

    # -- taking away

    def _attempt_deletes(self, deletes: Sequence[Delete]) -> None:
        for delete in deletes:
            self._call.check()
            self._attempt(delete.path, lambda delete=delete: self._delete(delete))  # type: ignore[misc]

    def _delete(self, delete: Delete) -> None:
        above, _, name = self._moved.place_of(delete.path).rpartition(b"/")
        failpoint("apply.delete")
        descriptor = open_directory(self._root, above)
        try:
            taken = take_away(descriptor, name, delete.captured)
        finally:
            os.close(descriptor)
        self._touched.add(above)
        if taken:
            self._outcomes[delete.path] = FileOutcome(delete.path, "deleted")
        else:
            self._outcomes[delete.path] = FileOutcome(delete.path, "conflict", "changedMeanwhile")

    def _delete_last(self, plan: Plan, pairs: MovePairs, call: Call) -> bool:
        """Deletes the files that others are moved away from; gives whether there are any."""
        waited = [
            delete for delete in plan.deletes if delete.path in pairs.deferred and delete.path not in self._outcomes
        ]
        for delete in waited:
            call.check()
            if (why := pairs.blocker(delete.path, self._outcomes)) is not None:
                self._outcomes[delete.path] = why
            else:
                self._attempt(delete.path, lambda delete=delete: self._delete(delete))  # type: ignore[misc]
        return bool(waited)

    def _remove_directories(self, paths: Iterable[RelPath], call: Call) -> dict[RelPath, OSError]:
        """Removes directories that are empty; gives those that stay, and why."""
        staying: dict[RelPath, OSError] = {}
        for path in paths:
            call.check()
            error = self._remove_directory(path)
            if error is not None:
                staying[path] = error
        return staying

    def _remove_directory(self, path: RelPath) -> OSError | None:
        """Removes a directory if it is empty; gives why it stays, None if it is gone."""
        above, _, name = path.rpartition(b"/")
        try:
            descriptor = open_directory(self._root, above)
        except OSError:
            return None
        try:
            failpoint("apply.remove_directory")
            os.rmdir(name, dir_fd=descriptor)
            self._touched.add(above)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return error
        else:
            return None
        finally:
            os.close(descriptor)

    # -- helpers

    def _for_each(self, work: Callable[[Sequence[_T]], None], groups: Sequence[Sequence[_T]]) -> None:
        """Changes names, each group in one thread.

        A local file system changes a name in its memory: one thread is quicker than several that wait for the
        interpreter. Another one may ask its server for each name.
        """
        if can_sync_together(self._root):
            for group in groups:
                work(group)
        else:
            in_parallel(work, groups, lambda _: self._call.check())

    def _attempt(self, path: RelPath, step: Callable[[], None]) -> bool:
        try:
            step()
        except FileNotFoundError:
            self._outcomes[path] = FileOutcome(path, "conflict", "changedMeanwhile")
            return False
        except OSError as error:
            self._fail(path, error)
            return False
        return True

    def _fail(self, path: RelPath, error: OSError) -> None:
        reason = "inTheWay" if error.errno in _IN_THE_WAY else errno.errorcode.get(error.errno or 0, "unknown")
        self._outcomes[path] = FileOutcome(path, "failed", reason)

    def _sync(self) -> None:
        paths = sorted(self._touched)
        rest: Sequence[RelPath] = paths
        if len(paths) >= TOGETHER_FROM and can_sync_together(self._root):
            with os_errors(b"."):
                failpoint("apply.names_all")
            if sync_together(self._root):
                device = os.fstat(self._root).st_dev
                rest = [path for path in paths if self._device_of(path) not in (device, None)]
        in_parallel(self._sync_directory, rest, lambda _: self._call.check())

    def _device_of(self, path: RelPath) -> int | None:
        """The file system of a directory; None if it is none any more."""
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
