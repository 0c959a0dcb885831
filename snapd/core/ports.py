"""What the core needs of the rooms that touch the disk; `store` and `worktree` provide it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from .call import Call
    from .model import (
        CaptureSettings,
        Entry,
        FileOutcome,
        ObjectId,
        RecordKind,
        RelPath,
        Snapshot,
        TreeEntry,
    )
    from .plan import Plan, Standing


class ObjectBatch(Protocol):
    """Objects that are stored together; a context manager that discards what was not committed."""

    def __enter__(self) -> ObjectBatch: ...

    def __exit__(self, *_: object) -> None: ...

    def blob(self, data: bytes) -> ObjectId:
        """Adds a file's bytes."""

    def blob_stream(self, size: int, chunks: Iterator[bytes]) -> ObjectId:
        """Adds a large file's bytes, piece by piece."""

    def tree(self, entries: Iterable[TreeEntry]) -> ObjectId:
        """Adds a directory."""

    def commit(self) -> None:
        """Stores all that was added, durably."""


class Store(Protocol):
    """The objects of a workspace's snapshots, and which snapshots there are."""

    def check_present(self) -> None:
        """Raises `StoreCorrupt` where the store was deleted or replaced."""

    def batch(self) -> ObjectBatch:
        """A set of objects to be stored together."""

    def read_tree(self, oid: ObjectId) -> tuple[TreeEntry, ...]:
        """The entries of a directory; raises `StoreCorrupt`."""

    def read_blob(self, oid: ObjectId) -> bytes:
        """The bytes of a file; raises `StoreCorrupt`."""

    def blob_size(self, oid: ObjectId) -> int:
        """The size of a file, bytes; raises `StoreCorrupt`."""

    def blob_chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """The bytes of a file, in pieces; raises `StoreCorrupt` before the last one where they are damaged."""

    def renames(self, old: ObjectId, new: ObjectId) -> dict[RelPath, RelPath]:
        """The old path of each file that was moved, by its new one."""

    def merge(self, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
        """The three-way merge of a file, stored; None where the changes overlap."""

    def find(self, tree: ObjectId) -> Snapshot:
        """The latest snapshot with this tree; raises `UnknownSnapshot`."""

    def knows(self, tree: ObjectId) -> bool:
        """Whether there is a snapshot with this tree."""

    @property
    def last(self) -> ObjectId | None:
        """The tree of the newest snapshot that somebody asked for, or that an operation left behind."""

    def append(self, snapshot: Snapshot, kind: RecordKind) -> None:
        """Records a snapshot, durably."""

    def expire(self, before: float, keep: ObjectId | None) -> tuple[int, int]:
        """Drops snapshots older than a time (seconds since 1970), but for one; gives how many, and the bytes freed."""

    def bytes_on_disk(self) -> int:
        """What the store takes, bytes."""

    def close(self) -> None:
        """Lets another process own the store."""

    @property
    def path(self) -> str:
        """Where it lies."""


class WorkTree(Protocol):
    """The folder whose files are captured and restored."""

    @property
    def root(self) -> bytes:
        """Absolute and canonical."""

    def capture(
        self, settings: CaptureSettings, forced: tuple[RelPath, ...], batch: ObjectBatch, call: Call
    ) -> Snapshot:
        """Captures what is there; raises `WorkspaceGone`."""

    def standing(self, path: RelPath) -> Standing | None:
        """The captured file at a path, as of the last capture."""

    def is_directory(self, path: RelPath) -> bool:
        """Whether a directory that is not ignored is there, as of the last capture."""

    def holds_foreign(self, path: RelPath) -> bool:
        """Whether something uncaptured lies in a directory or below it, as of the last capture."""

    def captured_below(self, path: RelPath) -> Iterator[RelPath]:
        """The captured files below a directory, as of the last capture."""

    def directories_below(self, path: RelPath) -> Iterator[RelPath]:
        """The directories below a directory that are not ignored, as of the last capture."""

    def occupant(self, path: RelPath) -> os.stat_result | None:
        """What the disk has at a path right now, captured or not."""

    @property
    def tree(self) -> ObjectId | None:
        """The tree of the last capture, whose objects it takes for stored."""

    def count(self) -> int:
        """The number of captured files, as of the last capture."""

    def apply(self, plan: Plan, chunks: Callable[[ObjectId], Iterator[bytes]], call: Call) -> tuple[FileOutcome, ...]:
        """Carries out a plan."""

    def check_present(self) -> None:
        """Raises `WorkspaceGone` where the folder is no longer the one that was opened."""

    def close(self) -> None:
        """Lets go of the folder."""
