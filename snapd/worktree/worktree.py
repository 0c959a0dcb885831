"""The work tree of an open workspace: captured, looked at, and changed by plans, below one held descriptor."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from snapd.core.errors import IoError, WorkspaceGone, WorkspaceRefused, from_os_error, os_errors
from snapd.core.plan import CapturedFile
from snapd.watch.choose import open_clock
from snapd.worktree.apply.applier import Applier
from snapd.worktree.apply.recovery import sweep
from snapd.worktree.fs.stable_read import lstat_at
from snapd.worktree.ignore.rules import RuleSource, workspace_excludes
from snapd.worktree.snapshot.classifier import OWN_TEMPORARY
from snapd.worktree.snapshot.scanner import Scanner
from snapd.worktree.state.file_state import entry_of, signature_of

from .repair_sources import content, own_object_directories

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from snapd.core.call import Call
    from snapd.core.model import (
        CaptureSettings,
        Drift,
        Entry,
        FileOutcome,
        FullLook,
        ObjectId,
        RelPath,
        Snapshot,
        TreeEntry,
    )
    from snapd.core.plan import Plan
    from snapd.core.ports.objects import ObjectBatch
    from snapd.core.ports.project import Adopt, OpenBlobs
    from snapd.watch.choose import WatcherSetting
    from snapd.worktree.ignore.rules import GitUser


class WorkTree:
    """A folder whose files are captured and restored.

    Args:
        root: absolute and canonical.
        user: whose git configuration says what is ignored everywhere.
        umask: of the user, for restored files.
        hidden: a directory below the root that is never captured (a store inside the workspace), if any.
        watcher: what the user wants to be told by, if anything.

    Raises:
        WorkspaceRefused: it is not a directory.
        IoError: it cannot be opened.
    """

    def __init__(
        self, root: bytes, user: GitUser, umask: int, hidden: RelPath | None, watcher: WatcherSetting = "auto"
    ) -> None:
        self.root = root
        self._umask = umask
        self._stuck: tuple[RelPath, ...] = ()
        try:
            self._descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (NotADirectoryError, FileNotFoundError) as error:
            raise WorkspaceRefused(f"{os.fsdecode(root)} is not a directory", path=os.fsdecode(root)) from error
        except OSError as error:
            raise from_os_error(error, root) from error
        status = os.fstat(self._descriptor)
        self.identity = (status.st_dev, status.st_ino)
        rules = RuleSource(root, self._descriptor, user)
        self._clock = open_clock(watcher, root, self._descriptor, OWN_TEMPORARY.fullmatch)
        self._scanner = Scanner(self._descriptor, status.st_dev, rules, hidden, self._clock)

    def close(self) -> None:
        """Lets go of the folder."""
        self._scanner.close()
        self._clock.close()
        os.close(self._descriptor)

    @property
    def watcher(self) -> str:
        """What says that something may have changed: "inotify", "watchdog" or "none"."""
        return self._clock.kind

    @property
    def watcher_reason(self) -> str | None:
        """Why that is not the best that there is, where it is not and the user did not want it so."""
        return self._clock.reason

    @property
    def full_look(self) -> FullLook | None:
        """The latest look at all files; None where there was none yet."""
        return self._scanner.full_look

    def attach(self, path: str, knows: Callable[[ObjectId], bool], adopt: Adopt, open_blobs: OpenBlobs) -> None:
        """Starts from what an earlier process knew, with the store that it was about; see `Scanner.attach`."""
        self._scanner.attach(path, knows, adopt, open_blobs)

    def check_present(self) -> None:
        """Raises `WorkspaceGone` where the folder is no longer the one that was opened."""
        try:
            status = os.lstat(self.root)
        except OSError as error:
            raise WorkspaceGone(f"{os.fsdecode(self.root)} is gone", path=os.fsdecode(self.root)) from error
        if (status.st_dev, status.st_ino) != self.identity or not stat.S_ISDIR(status.st_mode):
            raise WorkspaceGone(f"{os.fsdecode(self.root)} was replaced", path=os.fsdecode(self.root))

    @contextmanager
    def _present(self) -> Iterator[None]:
        """Raises `WorkspaceGone` where the folder was not there before, or is not any more after, come what may."""
        self.check_present()
        try:
            yield
        except IoError:
            self.check_present()
            raise
        self.check_present()

    def capture(
        self, settings: CaptureSettings, forced: tuple[RelPath, ...], batch: ObjectBatch, call: Call
    ) -> Snapshot:
        """Captures what is there; see `Scanner.capture`.

        Raises:
            WorkspaceGone: the folder is not there any more: that is no deletion of its files.
        """
        with self._present():
            # a file that could not be changed may be let go of by a call that no clock is told of (`chattr`)
            self._scanner.doubt(self._stuck)
            return self._scanner.capture(settings, forced, batch, call)

    def forget(self, objects: frozenset[ObjectId]) -> None:
        """Takes objects for not stored; see `Scanner.forget`."""
        self._scanner.forget(objects)

    def forget_all(self) -> None:
        """Takes nothing for stored; see `Scanner.forget_all`."""
        self._scanner.forget_all()

    def drift(
        self,
        base: ObjectId,
        read_tree: Callable[[ObjectId], tuple[TreeEntry, ...]],
        settings: CaptureSettings,
        call: Call,
        *,
        forced: tuple[RelPath, ...],
        max_files: int,
        max_bytes: int,
    ) -> Drift:
        """How the folder differs from a snapshot by now; see `Scanner.drift`.

        Raises:
            WorkspaceGone: the folder is not there any more.
        """
        with self._present():
            return self._scanner.drift(
                base, read_tree, settings, call, forced=forced, max_files=max_files, max_bytes=max_bytes
            )

    def own_excludes(self) -> tuple[str, ...]:
        """The patterns in the folder's own file; raises as `rules.workspace_excludes`."""
        return tuple(workspace_excludes(self._descriptor))

    def listen(self, told: Callable[[], None]) -> None:
        """Has `told` called soon after something may have changed; see `Clock.listen`."""
        self._clock.listen(told)

    def stop_listening(self) -> None:
        """The contrary; see `Clock.stop_listening`."""
        self._clock.stop_listening()

    def captured(self, path: RelPath) -> CapturedFile | None:
        """The captured file at a path, as of the last capture."""
        record = self._scanner.state.root.file(path)
        return None if record is None else CapturedFile(entry_of(record), signature_of(record))

    def is_directory(self, path: RelPath) -> bool:
        """Whether there was a directory that is not ignored, as of the last capture."""
        return self._scanner.state.root.directory(path) is not None

    def holds_foreign(self, path: RelPath) -> bool:
        """Whether something that is not captured lay in a directory or below it, as of the last capture."""
        node = self._scanner.state.root.directory(path)
        return node is not None and any(below.others for _, below in node.walk())

    def is_ignored(self, path: RelPath) -> bool:
        """Whether a file there is passed over as ignored, or with an ignored directory, as of the last capture."""
        return self._scanner.state.root.ignores(path)

    def captured_below(self, path: RelPath) -> Iterator[RelPath]:
        """The captured files below a directory, as of the last capture."""
        node = self._scanner.state.root.directory(path)
        if node is not None:
            for above, below in node.walk(path):
                prefix = above + b"/" if above else b""
                yield from (prefix + name for name in below.files)

    def directories_below(self, path: RelPath) -> Iterator[RelPath]:
        """The directories below a directory that are not ignored, as of the last capture."""
        node = self._scanner.state.root.directory(path)
        if node is not None:
            yield from (below for below, _ in node.walk(path) if below != path)

    @property
    def tree(self) -> ObjectId | None:
        """The tree of the last capture, of this process or an earlier one, whose objects it takes for stored."""
        return self._scanner.relied_on

    def count(self) -> int:
        """The number of captured files and symlinks, as of the last capture."""
        return self._scanner.state.count

    def occupant(self, path: RelPath) -> os.stat_result | None:
        """What the disk has at a path right now, captured or not; None where nothing or no directory leads there."""
        with os_errors(path):
            return lstat_at(self._descriptor, path)

    def object_directories(self) -> tuple[bytes, ...]:
        """Where the project's own git has its objects; see `salvage.own_object_directories`."""
        return own_object_directories(self.root)

    def content(self, path: RelPath, most: int) -> bytes | None:
        """The bytes that the disk has at a path right now, captured or not; see `salvage.content`."""
        return content(self._descriptor, path, most)

    def apply(self, plan: Plan, chunks: Callable[[ObjectId], Iterator[bytes]], call: Call) -> tuple[FileOutcome, ...]:
        """Carries out a plan; see `Applier.apply`."""
        self.check_present()
        outcomes = Applier(self._descriptor, self._umask, chunks).apply(plan, call)
        self._stuck = tuple(file.path for file in outcomes if file.outcome in ("conflict", "failed"))
        return outcomes

    def sweep(
        self,
        directories: Collection[RelPath],
        entries: Collection[Entry],
        chunks: Callable[[ObjectId], Iterator[bytes]],
        call: Call,
    ) -> None:
        """Clears away what an `apply` that was killed left aside; see `leftovers.sweep`."""
        self.check_present()
        sweep(self._descriptor, directories, entries, chunks, call)
