"""What a workspace answers to requests."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import attrs

from snapd.core.compare.file_diff import FileDelta
from snapd.model.handover import SignatureStatus
from snapd.model.snapshot import FullLook, ObjectId, Outcome, RelPath, UncapturedChange
from snapd.model.snapshot_records import SnapshotRecord
from snapd.model.timeline import FileSummary, Message, Operation, OperationKind, Session, Step

View = TypeVar("View")


@attrs.frozen
class Page(Generic[View]):
    """A part of a list.

    Attributes:
        views: what is on this page.
        after: where the next page starts; None on the last page.
    """

    views: tuple[View, ...]
    after: int | None


@attrs.frozen
class ExportOutcome:
    """What an export wrote.

    Attributes:
        files: how many files and symlinks.
        size: of their contents, bytes; of a symlink, its target counts.
    """

    files: int
    size: int


@attrs.frozen
class SessionOrigin:
    """Where a fetched session came from.

    Attributes:
        remote: the address that it was fetched from, without a password.
        host: the machine that added to it last.
    """

    remote: str
    host: str


@attrs.frozen
class SessionView:
    """A session, with what can be done in it.

    Attributes:
        session: the session.
        undoable: how many of its steps can be taken back.
        redoable: how many of the steps that were taken back can be done again.
        origin: where it came from; None for a session of this folder.
        taken_over: who took it over after the folder handed it over, and where that was seen; None if nobody did.
        signature: of a fetched session; None if it is not signed.
    """

    session: Session
    undoable: int
    redoable: int
    origin: SessionOrigin | None = None
    taken_over: SessionOrigin | None = None
    signature: SignatureStatus | None = None


@attrs.frozen
class StepView:
    """A step, with the agent of its session and what it changed.

    Attributes:
        step: the step.
        agent: the agent of its session.
        files: what it changed, its parts included; None while it is open.
        uncaptured: what happened meanwhile to files that no snapshot has.
    """

    step: Step
    agent: str | None
    files: tuple[FileSummary, ...] | None
    uncaptured: tuple[UncapturedChange, ...] = ()


@attrs.frozen
class MessageView:
    """A message, and what the agent did in its turn.

    Attributes:
        message: the message.
        steps: how many steps name it.
        files: how many files these steps and their parts changed.
        additions: lines added by them.
        deletions: lines deleted by them.
        state: "undone" if all steps that changed something were taken back, "partly" if not all of it was.
    """

    message: Message
    steps: int
    files: int
    additions: int
    deletions: int
    state: Literal["applied", "partly", "undone"]


@attrs.frozen
class FormerHistory:
    """A history that a folder may take as its own.

    Attributes:
        folder: the path that the folder of the history had.
        store: the directory of the history.
        why: the folder was "moved" from there, or another one had its path and was "replaced".
    """

    folder: str
    store: str
    why: Literal["moved", "replaced"]


@attrs.frozen
class News:
    """What others did to the work of a session since its agent was last told.

    Attributes:
        undone: its steps that were taken back, as a whole or in part.
        redone: its steps that were done again.
        files: the files of its steps that somebody else changed and that are not as they were then, ordered by path.
        former: the histories that the folder may take, which the user is to hear of once in a session.
    """

    undone: tuple[StepView, ...] = ()
    redone: tuple[StepView, ...] = ()
    files: tuple[FileSummary, ...] = ()
    former: tuple[FormerHistory, ...] = ()


@attrs.frozen
class TakenView:
    """A snapshot as it was taken.

    Attributes:
        taken: the snapshot, and why it was taken.
        changed: how many files are different in the snapshot before it; None for the first, or if nobody asked.
        agent: the agent of the session.
        operation: the kind of the operation; None where there is none, or it was cut off.
    """

    taken: SnapshotRecord
    changed: int | None
    agent: str | None
    operation: OperationKind | None


@attrs.frozen
class UndoResult:
    """What an undo or a redo did.

    Attributes:
        outcome: what became of the files.
        steps: the steps, in the order in which they were taken back or done again.
        operations: the other operations that were taken back or done again, in that order.
    """

    outcome: Outcome
    steps: tuple[StepView, ...]
    operations: tuple[Operation, ...]


@attrs.frozen
class DeltaPage:
    """Some of the files that differ.

    Attributes:
        deltas: ordered by path.
        to: the tree compared with, so that the next page compares with the same tree.
        after: the last path of this page; None on the last page.
    """

    deltas: tuple[FileDelta, ...]
    to: ObjectId
    after: RelPath | None


@attrs.frozen
class NamePage:
    """Some of the names in a snapshot; `after` as in `DeltaPage`."""

    paths: tuple[RelPath, ...]
    after: RelPath | None


@attrs.frozen
class FileContent:
    """A file of a snapshot: its exact bytes and its mode."""

    mode: int
    data: bytes


@attrs.frozen
class Status:
    """What is known of a workspace without a look at its files.

    Attributes:
        files: how many files the last capture found.
        watcher: what reports changes: "inotify", "watchdog" or "none".
        watcher_reason: why a better watcher is not used; None if there is no better one.
        full_look: the latest look at all files; None before the first.
        last: the tree of the newest snapshot; None if there is none.
        store_path: the directory of the store.
        store_bytes: the size of the store.
        folder_excludes: patterns that the folder's own file adds to those of the settings.
        folder_problem: what is wrong with that file, while the last valid patterns hold; None if it is all right.
        unreadable_rules: the files that say what is ignored, and had no effect on the last capture.
    """

    files: int
    watcher: str
    watcher_reason: str | None
    full_look: FullLook | None
    last: ObjectId | None
    store_path: str
    store_bytes: int
    folder_excludes: tuple[str, ...]
    folder_problem: str | None
    unreadable_rules: tuple[bytes, ...]
