"""The folder whose files are captured and restored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import os
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
    from snapd.core.plan import CapturedFile, Plan

    from .objects import ObjectBatch


class WorkTree(Protocol):
    """The folder whose files are captured and restored."""

    @property
    def root(self) -> bytes:
        """Absolute and canonical."""

    def capture(
        self, settings: CaptureSettings, forced: tuple[RelPath, ...], batch: ObjectBatch, call: Call
    ) -> Snapshot:
        """Captures what is there; raises `WorkspaceGone`."""

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
        """How the folder differs from a snapshot by now, nothing being stored; raises `WorkspaceGone`.

        Args:
            base: the snapshot's tree.
            read_tree: gives the entries of a stored tree.
            settings: what to capture.
            call: the request.
            forced: ignored paths to capture all the same: those of the snapshot.
            max_files: differing files to report, at most.
            max_bytes: bytes of contents to read, at most.
        """

    @property
    def watcher(self) -> str:
        """What says that something may have changed: "inotify", "watchdog" or "none"."""

    @property
    def watcher_reason(self) -> str | None:
        """Why that is not the best that there is, where it is not."""

    def own_excludes(self) -> tuple[str, ...]:
        """Patterns that the folder's own file adds to the settings; raises `InvalidParams` where it is wrong."""

    @property
    def full_look(self) -> FullLook | None:
        """The latest look at all files; None where there was none yet."""

    def listen(self, told: Callable[[], None]) -> None:
        """Has `told` called, from a thread of its own, soon after something may have changed."""

    def stop_listening(self) -> None:
        """The contrary: when it returns, `told` is not running. Not to be called by `told`."""

    def captured(self, path: RelPath) -> CapturedFile | None:
        """The captured file at a path, as of the last capture."""

    def is_directory(self, path: RelPath) -> bool:
        """Whether a directory that is not ignored is there, as of the last capture."""

    def holds_foreign(self, path: RelPath) -> bool:
        """Whether something uncaptured lies in a directory or below it, as of the last capture."""

    def is_ignored(self, path: RelPath) -> bool:
        """Whether a file there is passed over as ignored, or with an ignored directory, as of the last capture."""

    def captured_below(self, path: RelPath) -> Iterator[RelPath]:
        """The captured files below a directory, as of the last capture."""

    def directories_below(self, path: RelPath) -> Iterator[RelPath]:
        """The directories below a directory that are not ignored, as of the last capture."""

    def occupant(self, path: RelPath) -> os.stat_result | None:
        """What the disk has at a path right now, captured or not."""

    @property
    def tree(self) -> ObjectId | None:
        """A tree that has all the objects which it takes for stored; None where there is no such tree."""

    def count(self) -> int:
        """The number of captured files, as of the last capture."""

    def object_directories(self) -> tuple[bytes, ...]:
        """The absolute `objects` directories of the project's own git; none where it has none."""

    def content(self, path: RelPath, most: int) -> bytes | None:
        """The bytes that the disk has at a path right now, captured or not.

        Args:
            path: the file, or a symlink, which has its target.
            most: a larger file is not read, bytes.

        Returns:
            None where there is no such file, or it cannot be read.
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
        """Clears away what an `apply` that was killed left aside.

        Args:
            directories: where it may be.
            entries: what that may have, as a whole or in part; whatever has other bytes is kept, and captured from now.
            chunks: gives a blob's bytes.
            call: what this is for.
        """

    def forget(self, objects: frozenset[ObjectId]) -> None:
        """Takes objects for not stored that were stored by a capture: what has them is read again."""

    def forget_all(self) -> None:
        """Takes nothing for stored."""

    def check_present(self) -> None:
        """Raises `WorkspaceGone` where the folder is no longer the one that was opened."""

    def close(self) -> None:
        """Lets go of the folder."""
