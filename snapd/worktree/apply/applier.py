"""Applies a plan: writes all new files aside first, then moves them into place, one by one.

It writes nothing in place and follows no symlink. It leaves and reports a file that is no longer what the plan saw. If
the disk is full, that shows while it writes aside, and the work tree is unchanged.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, TypeVar

import attrs

from snapd.core.call import Call
from snapd.core.errors import FULL, Interrupted, from_os_error, os_errors
from snapd.core.model import EXECUTABLE, SYMLINK, FileOutcome
from snapd.core.paths import parents
from snapd.failpoints import failpoint
from snapd.worktree.fs.directories import HeldDirectories, open_directory
from snapd.worktree.fs.rename import rename_no_replace

from .move_pairs import MovePairs
from .swap import replace, take_away

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from snapd.core.model import Entry, ObjectId, RelPath, Signature
    from snapd.core.plan import Delete, Plan, Write

_IN_THE_WAY = (errno.ENOTDIR, errno.ELOOP, errno.EEXIST, errno.EISDIR, errno.ENOTEMPTY)
_TROUBLE = FULL | {errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""Errors of the disk or the process, not of the file at which they show."""
_AT_ONCE = 8
_PARALLEL_FROM = 16
"""From this many files on, threads are worth their start."""
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_T = TypeVar("_T")


@attrs.frozen
class _Staged:
    """A file written aside: its write, and the directory and name that it has for now."""

    write: Write
    directory: RelPath
    name: bytes


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
        # finds the files written aside even after somebody moved their directory
        self._staging = HeldDirectories(root)

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
        try:
            self._carry_out(plan, call)
        finally:
            self._staging.close()
        return tuple(sorted(self._outcomes.values(), key=lambda outcome: outcome.path))

    def _carry_out(self, plan: Plan, call: Call) -> None:
        leaving = {delete.path for delete in plan.deletes}
        staged: list[_Staged] = []
        try:
            _in_parallel(
                lambda write: self._stage(write, leaving, staged),
                plan.writes,
                lambda done: call.progress("preparing", done, len(plan.writes)),
            )
            with os_errors(b"."):
                for path in plan.make_directories:
                    call.check()
                    self._make_ahead((path, *parents(path)), leaving)
            failpoint("apply.commit")
            call.commit()
        except BaseException:
            for item in staged:
                self._discard(item)
            # inner ones first: the threads that made them noted them in any order
            for path in sorted(self._made, reverse=True):
                self._unmake_directory(path)
            raise
        try:
            self._move_all(plan, staged, call)
        except Interrupted:
            # recovery writes them again
            for item in staged:
                self._discard(item)
            raise

    def _move_all(self, plan: Plan, staged: Sequence[_Staged], call: Call) -> None:
        pairs = MovePairs(plan)
        blocked = pairs.blocked(self._outcomes)
        self._outcomes |= blocked
        for delete in plan.deletes:
            call.check()
            if delete.path not in blocked and delete.path not in pairs.deferred:
                self._attempt(delete.path, lambda delete=delete: self._delete(delete))  # type: ignore[misc]
        staying = self._remove_directories(plan.remove_directories, call)
        missing = [path for path in plan.make_directories if self._why_no_directory(path) is not None]
        for item in sorted(staged, key=lambda item: item.write.path):
            call.check()
            if item.write.path in blocked or not self._attempt(item.write.path, lambda item=item: self._move(item)):  # type: ignore[misc]
                self._discard(item)
        if self._delete_last(plan, pairs, blocked, call):
            # not those that are gone: by now, a file may have the name of one
            staying = self._remove_directories(staying, call)
        for path, error in staying.items():
            # it may have files of somebody else
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                self._fail(path, error)
        for path in missing:
            # again: moving a file into one makes it; and a file in the way has been reported
            why = self._why_no_directory(path)
            if why is not None and path not in self._outcomes:
                self._fail(path, why)
        self._sync()

    # -- writing aside

    def _stage(self, write: Write, leaving: set[RelPath], staged: list[_Staged]) -> None:
        self._call.check()
        name = b".snapd-tmp-" + secrets.token_hex(8).encode()
        try:
            self._make_ahead(parents(write.path), leaving)
            directory = self._nearest(write.path, leaving)
            failpoint("apply.stage")
            with self._staging.open(directory) as descriptor:
                self._write_aside(write, descriptor, name)
        except OSError as error:
            if error.errno in _TROUBLE:
                raise from_os_error(error, write.path) from error
            self._fail(write.path, error)
            return
        staged.append(_Staged(write, directory, name))

    def _make_ahead(self, directories: Sequence[RelPath], leaving: set[RelPath]) -> None:
        """Makes directories before any file is moved: if the disk has no room for them, nothing must change.

        Args:
            directories: innermost first.
            leaving: files that go first, and may have one of their names.

        Raises:
            OSError: the disk or the process is in trouble; other problems are reported later.
        """
        if not leaving.isdisjoint(directories) or not directories or self._is_there(directories[0]):
            return
        try:
            for path in reversed(directories):
                self._make_directory(path)
        except OSError as error:
            if error.errno in _TROUBLE:
                raise

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

    def _write_aside(self, write: Write, directory: int, name: bytes) -> None:
        replaced = write.captured.signature if write.captured else None
        try:
            self._write_new(write.entry, replaced, directory, name)
        except BaseException:
            _unlink(directory, name)
            raise

    def _write_new(self, entry: Entry, replaced: Signature | None, directory: int, name: bytes) -> None:
        failpoint("apply.write")
        if entry.mode == SYMLINK:
            os.symlink(b"".join(self._chunks(entry.oid)), name, dir_fd=directory)
            return
        descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=directory)
        try:
            for chunk in self._chunks(entry.oid):
                self._call.check()
                view = memoryview(chunk)
                while view:
                    view = view[os.write(descriptor, view) :]
            os.fchmod(descriptor, self._permissions(entry.mode, replaced))
            failpoint("apply.sync")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _permissions(self, mode: int, replaced: Signature | None) -> int:
        """644 or 755, limited by the umask and the permissions of the replaced file."""
        wanted = (0o755 if mode == EXECUTABLE else 0o644) & ~self._umask
        if replaced is not None and stat.S_ISREG(replaced.mode):
            readable = stat.S_IMODE(replaced.mode) & 0o666
            wanted &= readable | (readable & 0o444) >> 2
        return wanted

    # -- moving into place

    def _move(self, item: _Staged) -> None:
        path = item.write.path
        above, _, name = path.rpartition(b"/")
        self._make_parents(path)
        failpoint("apply.move")
        with self._staging.open(item.directory) as source:
            target = open_directory(self._root, above)
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
            self._discard(item)

    def _make_parents(self, path: RelPath) -> None:
        try:
            # mostly they exist, and checking one by one takes a number of calls that grows with the square of the depth
            os.close(open_directory(self._root, path.rpartition(b"/")[0]))
        except FileNotFoundError:
            pass
        else:
            return
        for above in reversed(parents(path)):
            self._make_directory(above)

    def _make_directory(self, path: RelPath) -> None:
        above, _, name = path.rpartition(b"/")
        descriptor = open_directory(self._root, above)
        try:
            failpoint("apply.make_directory")
            os.mkdir(name, 0o777, dir_fd=descriptor)
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
        with contextlib.suppress(OSError):
            descriptor = open_directory(self._root, above)
            try:
                os.rmdir(name, dir_fd=descriptor)
            finally:
                os.close(descriptor)

    def _why_no_directory(self, path: RelPath) -> OSError | None:
        """Makes a directory and those above it; returns the error if that fails."""
        try:
            self._make_parents(path)
            self._make_directory(path)
        except OSError as error:
            return error
        return None

    # -- taking away

    def _delete(self, delete: Delete) -> None:
        above, _, name = delete.path.rpartition(b"/")
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

    def _delete_last(self, plan: Plan, pairs: MovePairs, blocked: Collection[RelPath], call: Call) -> bool:
        """Deletes the files that others are moved away from; gives whether there are any."""
        waited = [delete for delete in plan.deletes if delete.path in pairs.deferred and delete.path not in blocked]
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

    def _discard(self, item: _Staged) -> None:
        try:
            with self._staging.open(item.directory) as descriptor:
                _unlink(descriptor, item.name)
        except OSError:
            return

    def _sync(self) -> None:
        _in_parallel(self._sync_directory, sorted(self._touched), lambda _: self._call.check())

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


def _in_parallel(work: Callable[[_T], None], items: Sequence[_T], progress: Callable[[int], None]) -> None:
    """Does some work on each item, on many items in threads: a disk syncs eight files in the time of three.

    If one fails, or `progress` does, it starts no other and waits for those under way.
    """
    if len(items) < _PARALLEL_FROM:
        for done, item in enumerate(items):
            progress(done)
            work(item)
        return
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="snapd-apply") as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                progress(done)
        except BaseException:
            for future in futures:
                future.cancel()
            raise


def _unlink(directory: int, name: bytes) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return
