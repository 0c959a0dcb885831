"""The folder whose files are captured and restored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterator, Mapping

    from snapd.core.call import Call
    from snapd.core.model import (
        CaptureSettings,
        Drift,
        DriftQuery,
        Entry,
        FileOutcome,
        FullLook,
        ObjectId,
        Origin,
        RelPath,
        Snapshot,
        UncapturedChange,
    )
    from snapd.core.plan import CapturedFile, Plan

    from .store import ObjectBatch, OpenBlobs


class WorkTree(Protocol):
    """The folder whose files are captured and restored."""

    @property
    def root(self) -> bytes:
        """Absolute and canonical."""

    def capture(
        self, settings: CaptureSettings, forced: tuple[RelPath, ...], batch: ObjectBatch, call: Call
    ) -> Snapshot:
        """Captures the folder; raises `WorkspaceGone`."""

    def drift(self, query: DriftQuery, call: Call) -> Drift:
        """Finds how the folder differs from a snapshot, and stores nothing; raises `WorkspaceGone`."""

    @property
    def watcher(self) -> str:
        """What reports changes: "inotify", "watchdog" or "none"."""

    @property
    def watcher_reason(self) -> str | None:
        """Why a better watcher is not used; None if there is no better one."""

    @property
    def origins(self) -> Mapping[RelPath, tuple[Origin, ...]]:
        """The names that files and directories had before, as of the last capture; see `Origins`."""

    def own_excludes(self) -> tuple[tuple[str, ...], str | None]:
        """The patterns that the folder's own file adds to the settings, the last valid ones; and what is wrong now."""

    @property
    def unreadable_rules(self) -> tuple[bytes, ...]:
        """The files with ignore rules, and of the project's git, that the last capture could not read."""

    @property
    def full_look(self) -> FullLook | None:
        """The latest look at all files; None before the first."""

    def listen(self, on_change: Callable[[], None]) -> None:
        """Has `on_change` called, in a thread of its own, soon after something may have changed."""

    def stop_listening(self) -> None:
        """Ends `listen`; waits until `on_change` is not running, so `on_change` must not call it."""

    def captured(self, path: RelPath) -> CapturedFile | None:
        """The captured file at a path, as of the last capture."""

    def is_directory(self, path: RelPath) -> bool:
        """Whether there is a directory that is not ignored, as of the last capture."""

    def foreign_below(self, path: RelPath) -> Iterator[RelPath]:
        """What lies in a directory and was not captured, at any depth, as of the last capture."""

    def holds_store(self, path: RelPath) -> bool:
        """Whether the store lies in a directory or below it: that directory must keep its name."""

    def uncaptured_changes(self) -> tuple[UncapturedChange, ...]:
        """What looks have noticed of files that no snapshot has, since `settle_uncaptured`, ordered by path."""

    def settle_uncaptured(self) -> None:
        """Forgets what happened so far to files that no snapshot has."""

    def is_ignored(self, path: RelPath) -> bool:
        """Whether a file at a path is ignored, itself or with a directory above, as of the last capture."""

    def captured_below(self, path: RelPath) -> Iterator[RelPath]:
        """The captured files below a directory, as of the last capture."""

    def directories_below(self, path: RelPath) -> Iterator[RelPath]:
        """The directories below a directory that are not ignored, as of the last capture."""

    def occupant(self, path: RelPath) -> os.stat_result | None:
        """The `lstat` result of what the disk has at a path right now, captured or not; None for nothing."""

    @property
    def tree(self) -> ObjectId | None:
        """A tree with all objects that the work tree takes for stored; None if there is no such tree."""

    def count(self) -> int:
        """The number of captured files, as of the last capture."""

    def object_directories(self) -> tuple[bytes, ...]:
        """The absolute `objects` directories of the project's own git repository, if it has one."""

    def elsewhere(
        self, paths: Collection[RelPath], open_blobs: OpenBlobs, /
    ) -> Iterator[tuple[bytes | None, Mapping[RelPath, Entry]]]:
        """What other branches of the project's git, and its stash, have at some paths; raises `IoError`.

        Gives the name of each branch, None for an entry of the stash, with the files there; at most 50 of each.
        """

    def content(self, path: RelPath, most: int) -> bytes | None:
        """Reads a file as it is right now, captured or not.

        Args:
            path: the file, or a symlink, whose target is read as its bytes.
            most: bytes; a larger file is not read.

        Returns:
            The bytes; None if there is no such file, or it cannot be read.
        """

    def apply(self, plan: Plan, chunks: Callable[[ObjectId], Iterator[bytes]], call: Call) -> tuple[FileOutcome, ...]:
        """Carries out a plan."""

    def sweep(
        self,
        directories: Collection[RelPath],
        entries: Collection[Entry],
        chunks: Callable[[ObjectId], Iterator[bytes]],
        call: Call,
    ) -> None:
        """Removes the temporary files of an interrupted `apply`.

        Args:
            directories: where they may be.
            entries: what they may hold, as a whole or in part; a file with other bytes is kept and gets captured.
            chunks: gives the bytes of a blob.
            call: the request.
        """

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
        """Writes files outside of the folder.

        Args:
            plan: writes, and empty directories to make; it replaces and deletes nothing.
            directory: an absolute path to write to.
            store: the store's directory, beside and in which nothing is written.
            chunks: gives the bytes of a blob.
            call: the request.
            into_empty: whether the directory must be empty or absent.

        Returns:
            The size of all files, bytes.
        """

    def forget(self, objects: frozenset[ObjectId]) -> None:
        """Stops taking some objects for stored: the next capture reads their files again."""

    def forget_all(self) -> None:
        """Stops taking any object for stored."""

    def check_present(self) -> None:
        """Raises `WorkspaceGone` if the folder is no longer the one that was opened."""

    def close(self) -> None:
        """Closes the folder."""
