"""The work tree of an open workspace: captures it and applies plans to it, below one open descriptor."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager

from snapd.model.call import Call
from snapd.model.errors import IoError, WorkspaceGone, WorkspaceRefused, error_from_os_error, os_errors
from snapd.model.paths import parents
from snapd.model.plan import CapturedFile, Plan
from snapd.model.snapshot import (
    CaptureSettings,
    Drift,
    DriftQuery,
    Entry,
    FileOutcome,
    FormerName,
    ObjectId,
    RelPath,
    Snapshot,
)
from snapd.store.object_store import ObjectBatch
from snapd.watch.choose import WatcherSetting, open_clock
from snapd.worktree.apply.applier import Applier
from snapd.worktree.apply.files import sweep
from snapd.worktree.export import export, opened_destination
from snapd.worktree.fs.stable_read import content, lstat_at
from snapd.worktree.ignore import GitUser, RuleSource
from snapd.worktree.snapshot.classifier import OWN_TEMPORARY
from snapd.worktree.snapshot.scanner import Scanner
from snapd.worktree.state.file_state import entry_of, signature_of
from snapd.worktree.state.nodes import DirectoryNode


class WorkTree:
    """A folder whose files are captured and restored; raises `WorkspaceRefused` if it is none, or `IoError`.

    `root` is absolute and canonical. `hidden` is a directory below it that is never captured (a store inside the
    workspace).
    """

    def __init__(
        self, root: bytes, user: GitUser, umask: int, hidden: RelPath | None, watcher: WatcherSetting = "auto"
    ) -> None:
        self.root = root
        self.umask = umask
        self.hidden = hidden
        self._stuck: tuple[RelPath, ...] = ()
        try:
            self.descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (NotADirectoryError, FileNotFoundError) as error:
            raise WorkspaceRefused(f"{os.fsdecode(root)} is not a directory", path=os.fsdecode(root)) from error
        except OSError as error:
            raise error_from_os_error(error, root) from error
        status = os.fstat(self.descriptor)
        self.identity = (status.st_dev, status.st_ino)
        self.rules = RuleSource(root, self.descriptor, user)
        self.clock = open_clock(watcher, root, self.descriptor, OWN_TEMPORARY.fullmatch)
        self.scanner = Scanner(self.descriptor, status.st_dev, self.rules, hidden, self.clock, umask)
        self.state = self.scanner.state

    def close(self) -> None:
        """Closes the folder and saves its state."""
        self.scanner.close()
        self.clock.close()
        os.close(self.descriptor)

    @property
    def origins(self) -> Mapping[RelPath, tuple[FormerName, ...]]:
        """The former names of what was moved, as of the last capture; see `Coverage`."""
        return self.state.coverage.origins

    def check_present(self) -> None:
        """Raises `WorkspaceGone` if the folder is no longer the one that was opened."""
        try:
            status = os.lstat(self.root)
        except OSError as error:
            raise WorkspaceGone(f"{os.fsdecode(self.root)} is gone", path=os.fsdecode(self.root)) from error
        if (status.st_dev, status.st_ino) != self.identity or not stat.S_ISDIR(status.st_mode):
            raise WorkspaceGone(f"{os.fsdecode(self.root)} was replaced", path=os.fsdecode(self.root))

    @contextmanager
    def _present(self) -> Iterator[None]:
        """Raises `WorkspaceGone` if the folder is not there before the block or after it."""
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
        """Captures the work tree, see `Scanner.capture`; raises `WorkspaceGone`: the files do not count as deleted."""
        with self._present():
            # a call that no clock sees (`chattr`) may have unblocked these files
            self.scanner.doubt(self._stuck)
            return self.scanner.capture(settings, forced, batch, call)

    def drift(self, query: DriftQuery, call: Call) -> Drift:
        """Compares the folder with a snapshot, see `Scanner.drift`; also raises `WorkspaceGone`."""
        with self._present():
            return self.scanner.drift(query, call)

    @property
    def unreadable_rules(self) -> tuple[RelPath, ...]:
        """The files with ignore rules, and of the project's git, that the last capture could not read."""
        captured = self.scanner.captured
        return () if captured is None else tuple(r.base for r in captured.coverage.rules if r.kind == "unreadable")

    def captured(self, path: RelPath) -> CapturedFile | None:
        """Returns the captured file at a path, as of the last capture."""
        record = self.state.root.file(path)
        return None if record is None else CapturedFile(entry_of(record), signature_of(record))

    def is_directory(self, path: RelPath) -> bool:
        """Returns whether there was a directory that is not ignored, as of the last capture."""
        return self.state.root.directory(path) is not None

    def _directories(self, path: RelPath) -> Iterator[tuple[RelPath, DirectoryNode]]:
        """Yields a directory that is not ignored and those below it."""
        node = self.state.root.directory(path)
        return iter(()) if node is None else node.walk(path)

    def foreign_below(self, path: RelPath) -> Iterator[RelPath]:
        """Yields what was in or below a directory and not captured, as of the last capture."""
        for above, node in self._directories(path):
            prefix = above + b"/" if above else b""
            yield from (prefix + name for name in node.others)

    def holds_store(self, path: RelPath) -> bool:
        """Returns whether the store is in or below a directory, which must then keep its name."""
        return self.hidden is not None and path in (self.hidden, *parents(self.hidden))

    def is_ignored(self, path: RelPath) -> bool:
        """Returns whether a file there, or a directory above it, is ignored, as of the last capture."""
        return self.state.root.ignores(path)

    def captured_below(self, path: RelPath) -> Iterator[RelPath]:
        """Yields the captured files below a directory, as of the last capture."""
        for above, node in self._directories(path):
            prefix = above + b"/" if above else b""
            yield from (prefix + name for name in node.files)

    def directories_below(self, path: RelPath) -> Iterator[RelPath]:
        """Yields the directories below a directory that are not ignored, as of the last capture."""
        return (below for below, _ in self._directories(path) if below != path)

    def occupant(self, path: RelPath) -> os.stat_result | None:
        """Returns the current status of a path, captured or not; None if nothing is there."""
        with os_errors(path):
            return lstat_at(self.descriptor, path)

    def content(self, path: RelPath, most: int) -> bytes | None:
        """Returns the current bytes of a file, captured or not; see `stable_read.content`."""
        return content(self.descriptor, path, most)

    def apply(self, plan: Plan, chunks: Callable[[ObjectId], Iterator[bytes]], call: Call) -> tuple[FileOutcome, ...]:
        """Applies a plan; see `Applier.apply`."""
        self.check_present()
        outcomes = Applier(self.descriptor, self.umask, chunks).apply(plan, call)
        self._stuck = tuple(file.path for file in outcomes if file.outcome in ("conflict", "failed"))
        return outcomes

    def export(
        self,
        plan: Plan,
        directory: bytes,
        store: str,
        chunks: Callable[[ObjectId], Iterator[bytes]],
        call: Call,
        *,
        into_empty: bool,
    ) -> int:
        """Writes files outside of the folder; see `export.export` and `export.opened_destination`."""
        opened = opened_destination(directory, self.root, self.is_ignored, os.fsencode(store), into_empty=into_empty)
        with opened as (descriptor, path):
            return export(descriptor, path, plan, self.umask, chunks, call)

    def sweep(
        self,
        directories: Collection[RelPath],
        entries: Collection[Entry],
        chunks: Callable[[ObjectId], Iterator[bytes]],
        call: Call,
    ) -> None:
        """Removes the staged files of a killed `apply`; see `files.sweep`."""
        self.check_present()
        sweep(self.descriptor, directories, entries, chunks, call)
