"""Applies a plan: stages all new files, then moves them into place one by one; follows no symlink.

A full disk shows while staging, when the work tree is still unchanged. Files that differ from what the plan saw stay.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TypeVar

import attrs

from snapd.failpoints import failpoint
from snapd.model.call import Call
from snapd.model.errors import Interrupted, error_from_os_error, os_errors
from snapd.model.paths import parents
from snapd.model.plan import Delete, Plan, Write
from snapd.model.snapshot import FileOutcome, ObjectId, RelPath
from snapd.worktree.fs.directories import opened_directory, set_permissions
from snapd.worktree.fs.system import can_sync_together, rename_no_replace

from .directories import TROUBLE, DirectoryChanges, DirectoryMove, MovedDirectories, MovePairs, directory_moves
from .files import NewFile, NewFiles, group_by_file, in_parallel, replace, take_away

_IN_THE_WAY = (errno.ENOTDIR, errno.ELOOP, errno.EEXIST, errno.EISDIR, errno.ENOTEMPTY)
_T = TypeVar("_T")


class Applier:
    """Applies one plan to a work tree; `umask` limits the permissions of restored files."""

    def __init__(self, root: int, umask: int, chunks: Callable[[ObjectId], Iterator[bytes]]) -> None:
        self._root = root
        self._umask = umask
        self._chunks = chunks
        self._outcomes: dict[RelPath, FileOutcome] = {}
        self._call = Call()
        self._new: NewFiles
        self._directories: DirectoryChanges
        self._places: dict[RelPath, RelPath] = {}
        self._moved = MovedDirectories()
        self._replaced: set[RelPath] = set()
        self._torn: set[RelPath] = set()

    def apply(self, plan: Plan, call: Call) -> tuple[FileOutcome, ...]:
        """Applies the plan and returns the outcome for each of its files, ordered by path.

        Raises `Interrupted` if part of it was applied (recovery applies the rest), or another error if nothing was
        changed.
        """
        # a plan kept for recovery comes from the disk, which may have damaged it
        plan.check()
        self._outcomes = {outcome.path: outcome for outcome in plan.settled}
        self._call = call
        self._replaced = {write.path for write in plan.writes if write.captured is not None}
        self._directories = DirectoryChanges(self._root, plan, call)
        self._new = NewFiles(self._root, self._umask, self._chunks, plan, call)
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
            # nothing may be staged in a directory that moves, nor take its new name
            leaving.update(above for move in moves for above in move.directories)
            moved = {write.path for move in moves for write in move.writes}
            self._stage_all([write for write in plan.writes if write.path not in moved], leaving, staged)
            coming = {move.move.new for move in moves}
            with os_errors(b"."):
                for path in plan.make_directories:
                    call.check()
                    if coming.isdisjoint(parents(path)):
                        self._directories.make_ahead((path, *parents(path)), leaving)
            failpoint("apply.commit")
            call.commit()
        except BaseException:
            for item in staged:
                self._new.discard(item)
            self._directories.take_back()
            raise
        try:
            pairs = MovePairs(plan)
            left = self._move_directories(moves, pairs.blocked(self._outcomes))
            self._stage_all(left, leaving, staged)
            self._move_all(plan, pairs, staged, call)
        except Interrupted:
            # recovery stages them again
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
        """Keeps what no snapshot has where it is."""
        self._outcomes.update((delete.path, FileOutcome(delete.path, "kept", reason)) for delete in move.deletes)

    def _move_all(self, plan: Plan, pairs: MovePairs, staged: Sequence[NewFile], call: Call) -> None:
        blocked = pairs.blocked(self._outcomes)
        self._outcomes |= blocked
        edits = self._moved.edits
        replaced = {item.write.path: edits[item.write.path] for item in staged if item.write.path in edits}
        settled = self._outcomes.keys() | pairs.deferred | {delete.path for delete in replaced.values()}
        now = [delete for delete in plan.deletes if delete.path not in settled]
        self._for_each(self._attempt_deletes, group_by_file(now, lambda delete: delete.captured))
        staying = self._directories.remove(self._moved.emptied(plan))
        missing = [path for path in plan.make_directories if self._directories.make_or_error(path) is not None]
        for item in staged:
            if item.write.path in self._outcomes:
                self._new.discard(item)
        ready = [
            attrs.evolve(item, write=self._moved.adapted(item.write))
            for item in sorted(staged, key=lambda item: item.write.path)
            if item.write.path not in self._outcomes
        ]
        self._for_each(self._attempt_moves, group_by_file(ready, lambda item: item.write.captured))
        for path, delete in replaced.items():
            outcome = attrs.evolve(self._outcomes[path], path=delete.path)
            self._outcomes[delete.path] = outcome if outcome.is_left else FileOutcome(delete.path, "deleted")
        if self._delete_last(plan, pairs, call):
            # without those that are gone: a file may have such a name by now
            staying = self._directories.remove(staying)
        for path, error in staying.items():
            # another program may have put files there
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                self._fail(path, error)
            elif path in self._torn:
                self._outcomes[path] = FileOutcome(path, "kept", "directoryNotEmpty")
        for path in missing:
            # again: moving a file into one makes it; and a file in the way has been reported
            why = self._directories.make_or_error(path)
            if why is not None and path not in self._outcomes:
                self._fail(path, why)
        for path, permissions in self._directories.narrowed():
            self._attempt(path, partial(set_permissions, self._root, path, permissions))
        self._directories.sync()

    # -- staging

    def _stage_all(self, writes: Sequence[Write], leaving: set[RelPath], staged: list[NewFile]) -> None:
        def progress(done: int) -> None:
            self._call.progress("preparing", done, len(writes))

        if self._new.is_together:
            for done, write in enumerate(writes):
                progress(done)
                self.stage(write, leaving, staged)
            self._new.sync()
        else:
            in_parallel(lambda write: self.stage(write, leaving, staged), writes, progress)

    def stage(self, write: Write, leaving: set[RelPath], staged: list[NewFile]) -> None:
        """Writes a new file next to its final place."""
        self._call.check()
        try:
            directory = self._place(write.path, leaving)
            failpoint("apply.stage")
            staged.append(self._new.write(write, directory))
        except OSError as error:
            if error.errno in TROUBLE:
                raise error_from_os_error(error, write.path) from error
            self._fail(write.path, error)

    def _place(self, path: RelPath, leaving: set[RelPath]) -> RelPath:
        """Returns the directory to stage a new file in; creates the file's own directory if possible."""
        above = path.rpartition(b"/")[0]
        place = self._places.get(above)
        if place is None:
            made = self._directories.make_ahead(parents(path), leaving)
            place = above if made else self._directories.nearest(path, leaving)
            self._places[above] = place
        return place

    # -- moving into place

    def _move_directories(self, moves: Sequence[DirectoryMove], blocked: Collection[RelPath]) -> list[Write]:
        """Moves whole directories; returns the writes of those that must be moved file by file."""
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
            if not move.rename(self._directories.open_or_make):
                return False
        except OSError:
            # some file systems and mount points refuse it; other problems show at each file
            return False
        failpoint("apply.directory_moved")
        self._moved.add(move)
        self._directories.changed.update(path.rpartition(b"/")[0] for path in (move.move.old, move.move.new))
        changed = {move.move.there(path) for path in move.changed_meanwhile()}
        gone = [delete.path for delete in move.deletes if delete.path not in self._replaced]
        done = [(path, move.move.there(path), "deleted") for path in gone]
        done += [(write.path, write.path, "merged" if write.merged else "restored") for write in move.writes]
        for path, there, outcome in done:
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
            if not self._attempt(item.write.path, lambda item=item: self.move(item)):  # type: ignore[misc]
                self._new.discard(item)

    def move(self, item: NewFile) -> None:
        """Moves a staged file into place."""
        path = item.write.path
        above, _, name = path.rpartition(b"/")
        failpoint("apply.move")
        with self._new.directory_of(item) as source:
            target = self._directories.open_or_make(above)
            try:
                if item.write.captured is None:
                    rename_no_replace(source, item.name, target, name)
                    moved = True
                else:
                    moved = replace(source, item.name, target, name, item.write.captured)
            finally:
                os.close(target)
        if moved:
            self._directories.changed.add(above)
            self._outcomes[path] = FileOutcome(path, "merged" if item.write.merged else "restored")
        else:
            self._outcomes[path] = FileOutcome(path, "conflict", "changedMeanwhile")
            self._new.discard(item)

    # -- deleting

    def _attempt_deletes(self, deletes: Sequence[Delete]) -> None:
        for delete in deletes:
            self._call.check()
            self._attempt(delete.path, partial(self.delete, delete))

    def delete(self, delete: Delete) -> None:
        """Deletes a file if it still is as captured."""
        above, _, name = self._moved.place_of(delete.path).rpartition(b"/")
        failpoint("apply.delete")
        with opened_directory(self._root, above) as descriptor:
            taken = take_away(descriptor, name, delete.captured)
        self._directories.changed.add(above)
        if taken:
            self._outcomes[delete.path] = FileOutcome(delete.path, "deleted")
        else:
            self._outcomes[delete.path] = FileOutcome(delete.path, "conflict", "changedMeanwhile")

    def _delete_last(self, plan: Plan, pairs: MovePairs, call: Call) -> bool:
        """Deletes the old names of moved files; returns whether there are any."""
        waited = [
            delete for delete in plan.deletes if delete.path in pairs.deferred and delete.path not in self._outcomes
        ]
        for delete in waited:
            call.check()
            if (why := pairs.blocker(delete.path, self._outcomes)) is not None:
                self._outcomes[delete.path] = why
            else:
                self._attempt(delete.path, partial(self.delete, delete))
        return bool(waited)

    # -- helpers

    def _for_each(self, work: Callable[[Sequence[_T]], None], groups: Sequence[Sequence[_T]]) -> None:
        """Changes names, each group in one thread; on a local file system, one thread for all is faster."""
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
