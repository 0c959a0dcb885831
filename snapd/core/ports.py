"""What the core needs of the rooms that touch the disk; `store` and `worktree` provide it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .model import RecordKind

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from .answers import SettingInUse
    from .call import Call
    from .checkup import Checkup
    from .drift import Drift
    from .history import (
        Event,
        Intent,
        Operated,
        OperationId,
        Session,
        SessionId,
        SnapshotId,
        Span,
        Step,
        StepId,
        StepQuery,
        Summary,
        Tally,
        Undone,
    )
    from .model import (
        CaptureSettings,
        Entry,
        FileOutcome,
        FullLook,
        ObjectId,
        RelPath,
        Snapshot,
        TreeEntry,
    )
    from .plan import Plan, Standing
    from .retention import Limits, Retention


class ObjectBatch(Protocol):
    """Objects that are stored together; a context manager that discards what was not committed."""

    def __enter__(self) -> ObjectBatch: ...

    def __exit__(self, *_: object) -> None: ...

    def blob(self, data: bytes) -> ObjectId:
        """Adds a file's bytes."""

    def blob_stream(self, size: int, chunks: Iterator[bytes]) -> ObjectId:
        """Adds a large file's bytes, piece by piece."""

    @property
    def packing(self) -> str:
        """The module whose `packed_blob` makes, in any process, of a file's bytes its id and what is stored."""

    def packed_blob(self, oid: ObjectId, packed: bytes) -> None:
        """Adds a file's bytes, given as what `packing` made of them."""

    def encoded_tree(self, data: bytes) -> ObjectId:
        """Adds a directory, given as the bytes of its tree object."""

    def commit(self) -> None:
        """Stores all that was added; durable at the latest when the next snapshot is recorded."""


class Blobs(Protocol):
    """The bytes of files, by their ids."""

    def read_blob(self, oid: ObjectId) -> bytes:
        """The bytes of a file; raises `StoreCorrupt`."""

    def read_small_blob(self, oid: ObjectId, most: int) -> bytes | None:
        """The bytes of a file, None where it has more than `most`; raises `StoreCorrupt`."""

    def blob_size(self, oid: ObjectId) -> int:
        """The size of a file, bytes; raises `StoreCorrupt`."""

    def blob_chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """The bytes of a file, in pieces; raises `StoreCorrupt` before the last one where they are damaged."""


class Condemned(Protocol):
    """Contents that are to go from a store, and where they stand."""

    @property
    def contents(self) -> frozenset[ObjectId]:
        """The blobs."""

    def standing(self) -> dict[RelPath, frozenset[ObjectId]]:
        """All paths where they stand in any snapshot or event, ordered, with the versions there."""

    def snapshots(self) -> int:
        """How many recorded snapshots have any of them."""

    def located(self, tree: ObjectId) -> tuple[tuple[RelPath, ObjectId], ...]:
        """Where they stand in a tree."""

    def is_in_any(self, path: RelPath) -> bool:
        """Whether a file or directory is in any snapshot, or in what an event is about, with contents or without."""

    def is_linked(self) -> bool:
        """Whether the user's own git has any of them in a file that it shares with the store: there they stay."""

    def take_out(self) -> None:
        """Has all snapshots and events be without them, durably and all at once."""


class Store(Blobs, Protocol):
    """The objects of a workspace's snapshots, and which snapshots there are."""

    def check_present(self) -> None:
        """Raises `StoreCorrupt` where the store was deleted or replaced."""

    def batch(self) -> ObjectBatch:
        """A set of objects to be stored together."""

    def adopt(self, directories: Sequence[bytes], wanted: Collection[ObjectId]) -> frozenset[ObjectId]:
        """Takes objects over from other git `objects` directories, durably; gives those wanted that are stored now."""

    def read_tree(self, oid: ObjectId) -> tuple[TreeEntry, ...]:
        """The entries of a directory; raises `StoreCorrupt`."""

    def entry_in(self, tree: ObjectId, name: bytes) -> TreeEntry | None:
        """What a directory has under a name, if anything; asked for many, it is read once. Raises `StoreCorrupt`."""

    def differing(self, old: ObjectId, new: ObjectId) -> list[tuple[TreeEntry | None, TreeEntry | None]]:
        """The entries in which two directories differ, each before and after; raises `StoreCorrupt`."""

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
        """Records a snapshot, and makes it durable with all that was stored before."""

    @property
    def timeline(self) -> Timeline:
        """The sessions, steps and operations."""

    def identify(self, snapshot: Snapshot) -> SnapshotId:
        """Which snapshot it is, for an event."""

    def load(self, snapshot: SnapshotId) -> Snapshot:
        """The snapshot that an event names; raises `StoreCorrupt`."""

    def tell(self, event: Event, snapshot: Snapshot | None = None, kind: RecordKind = RecordKind.TRACK) -> None:
        """Adds an event to the timeline, and records the snapshot that is its `head`: both or neither, durably."""

    def intend(self, intent: Intent) -> None:
        """Keeps durably what is about to be done to the work tree."""

    def intent(self) -> Intent | None:
        """What was kept so and is not done with."""

    def forget_intent(self) -> None:
        """Says that it is done with."""

    def discard(self) -> frozenset[ObjectId]:
        """Gives up objects that were added since the last snapshot was recorded; gives their ids."""

    def expire(self, limits: Limits, keep: ObjectId | None, call: Call) -> tuple[int, int]:
        """Drops what is beyond the limits, but for one tree, and packs the rest; gives how many, and the bytes."""

    def expire_behind(self, limits: Limits, keep: ObjectId | None, call: Call) -> int:
        """The same as long as the call goes on, and packs later; gives how many."""

    def condemned(self, paths: Collection[RelPath], call: Call) -> Condemned:
        """What is to go with some files, and where it stands."""

    @property
    def is_unpurged(self) -> bool:
        """Whether a purge was cut short, so that there may be contents still that nothing refers to."""

    def purge(self, condemned: Condemned | None, call: Call) -> int:
        """Takes contents out of every snapshot and event; None for what a purge before left; gives the bytes freed."""

    def finish_erasing(self) -> None:
        """Ends an `erase` that failed halfway; costs nothing where there was none. Raises `IoError`: it fails still."""

    def erase(self, call: Call) -> int:
        """Drops all snapshots, sessions and operations, and all that they held; gives the bytes freed."""

    def counts(self) -> tuple[int, int]:
        """How many snapshots and sessions there are."""

    def bytes_on_disk(self) -> int:
        """What the store takes, bytes."""

    def check(self, call: Call, *, quick: bool, alone: bool) -> Checkup:
        """Checks all of it against its names, and all that is named for being there; changes nothing.

        Args:
            call: what this is for.
            quick: read no objects but records and events.
            alone: whether nobody writes meanwhile; else what is found may have moved in that moment.
        """

    def repair(
        self, directories: tuple[bytes, ...], work_tree: Callable[[RelPath], bytes | None], call: Call
    ) -> Checkup:
        """Repairs what can be repaired; gives what was wrong.

        Args:
            directories: absolute `objects` directories that may have what is lost; only read.
            work_tree: gives the bytes of a file, None where there is none.
            call: what this is for; may be cancelled until the first file is put aside.
        """

    def close(self) -> None:
        """Lets another process own the store."""

    @property
    def path(self) -> str:
        """Where it lies."""


class Timeline(Protocol):
    """The sessions, steps and operations of a workspace, as `Store.record` was told of them."""

    @property
    def head(self) -> SnapshotId | None:
        """The work tree, by the last event."""

    @property
    def next_seq(self) -> int:
        """The number of the next event."""

    def session(self, session_id: SessionId) -> Session | None:
        """A session by its name."""

    def sessions(self) -> tuple[Session, ...]:
        """All sessions, in the order in which they were first begun."""

    def step(self, step_id: StepId) -> Step | None:
        """A step by its name."""

    def steps(self, session_id: SessionId) -> tuple[Step, ...]:
        """The steps of a session, in the order in which they were begun."""

    def session_page(self, after: int | None, limit: int | None) -> tuple[tuple[Session, ...], int | None]:
        """Up to `limit` sessions, as `sessions` has them, from where a page ended; and where this one ended."""

    def step_page(
        self, session_id: SessionId, after: int | None, limit: int | None
    ) -> tuple[tuple[Step, ...], int | None]:
        """Up to `limit` steps, as `steps` has them, from where a page ended; and where this one ended."""

    def find_steps(self, wanted: StepQuery, limit: int | None) -> tuple[Step, ...]:
        """Up to `limit` steps that are asked for, the one that was begun last first."""

    def parts(self, step_id: StepId) -> tuple[Step, ...]:
        """The steps that were begun as parts of a step, in that order, whatever their session; not parts of parts."""

    def open_steps(self) -> tuple[Step, ...]:
        """The steps that are open, of all sessions, in the order in which they were begun."""

    def spans(self, step_id: StepId, *, spoken_for: bool = False) -> tuple[Span, ...]:
        """The spans that have a step among their `steps`, in their order.

        As here and in `events`, a step that was left stands among the `steps` once somebody spoke for it.

        Args:
            step_id: the step.
            spoken_for: as if somebody spoke for it.
        """

    def beside(self, step_id: StepId) -> tuple[StepId, ...]:
        """The other steps in spans that a step is in, be it as one that was left."""

    def operation(self, operation_id: OperationId) -> Operated | None:
        """An operation by its name."""

    def redoable(self, session_id: SessionId) -> tuple[Undone, ...]:
        """What can be done again of a session's steps, in the order in which that is to be: the last taken back first.

        A step of which parts were taken back one after the other is among them several times.
        """

    def undone(self, step_id: StepId) -> tuple[Undone, ...]:
        """What was taken back of a step and not done again, in the order of time, be it that it still can be or not."""

    def tally(self, session_id: SessionId) -> Tally:
        """What can be done in a session."""

    def keep_summary(self, step_id: StepId, summary: Summary, next_seq: int) -> None:
        """Keeps what a step itself changed, unless something happened since: it follows from the rest, and may be lost.

        It is dropped when a step ends that was open beside it: who wrote what may look different then.

        Args:
            step_id: the step.
            summary: what it changed.
            next_seq: as it was when that was found out.
        """

    def events(self, before: int | None, limit: int) -> tuple[Event, ...]:
        """The latest events with a `seq` below one, or of all, the newest first; so many at most."""

    def supposing(self) -> AbstractContextManager[None]:
        """Makes room for events that only might happen: what `suppose` adds is forgotten when the block ends.

        Whoever else asks something meanwhile waits, so that the block is to be short.
        """

    def suppose(self, event: Event) -> None:
        """Answers from now on as if an event had happened, until the `supposing` block ends; writes nothing."""

    def reserve(self, count: int) -> int:
        """Numbers for notifications that were never given out, not even before a crash: the first of so many."""


class TextDiffer(Protocol):
    """Compares texts, none of them binary, wherever that is done.

    Its methods raise `Cancelled` when the request is taken back, and `IoError` where it cannot be done.
    """

    def line_changes(self, old: bytes, new: bytes, call: Call) -> tuple[int, int]:
        """Lines added and deleted, as `text.line_changes` counts them."""

    def hunks(self, old: bytes, new: bytes, call: Call) -> bytes:
        """The hunks of a unified diff, as `text.hunks` writes them."""


class Policy(Protocol):
    """Which settings hold for a workspace, at the moment of asking."""

    @property
    def capture(self) -> CaptureSettings:
        """What is captured."""

    @property
    def kept(self) -> Retention:
        """What is kept for how long."""

    def enabled(self, client: Hashable) -> bool:
        """Whether a client that has the workspace open wants snapshots at all."""

    def in_use(self, client: Hashable) -> tuple[SettingInUse, ...]:
        """All settings, as that client sees them, but for what the folder's own file adds."""

    @property
    def problem(self) -> str | None:
        """What is wrong with the user's file, whose last good values hold then; None where it is all right."""


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
        forced: tuple[RelPath, ...],
        max_files: int,
        max_bytes: int,
        call: Call,
    ) -> Drift:
        """How the folder differs from a snapshot by now, nothing being stored; raises `WorkspaceGone`.

        Args:
            base: the snapshot's tree.
            read_tree: gives the entries of a stored tree.
            settings: what is captured.
            forced: ignored paths that are captured all the same: those of the snapshot.
            max_files: differing files that are told, at most.
            max_bytes: contents that are read, at most.
            call: what this is for.
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

    def standing(self, path: RelPath) -> Standing | None:
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
