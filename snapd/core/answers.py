"""The results that a workspace returns to requests."""

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
    """A part of a list; `after` is where the next page starts, None on the last page."""

    views: tuple[View, ...]
    after: int | None


@attrs.frozen
class ExportOutcome:
    """What an export wrote.

    `files` counts files and symlinks.

    Attributes:
        size: bytes of all contents; a symlink counts with its target.
    """

    files: int
    size: int


@attrs.frozen
class SessionOrigin:
    """Where a fetched session came from.

    Attributes:
        remote: the address, without a password.
        host: the machine that added to it last.
    """

    remote: str
    host: str


@attrs.frozen
class SessionView:
    """A session, with what can be done in it.

    Attributes:
        undoable: how many of its steps can be undone.
        redoable: how many of the undone steps can be redone.
        origin: None for a session of this folder.
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
        files: what it changed, including its parts; None while it is open.
        uncaptured: changes of files that no snapshot has, made while the step was open.
    """

    step: Step
    agent: str | None
    files: tuple[FileSummary, ...] | None
    uncaptured: tuple[UncapturedChange, ...] = ()


@attrs.frozen
class MessageView:
    """A message, and what the agent did in its turn.

    Attributes:
        steps: how many steps name it.
        files: how many files these steps and their parts changed.
        additions: lines added by them.
        deletions: lines deleted by them.
        state: "undone" if all steps that changed something were undone, "partly" if only some of it was.
    """

    message: Message
    steps: int
    files: int
    additions: int
    deletions: int
    state: Literal["applied", "partly", "undone"]


@attrs.frozen
class FormerHistory:
    """A history that a folder may adopt.

    Attributes:
        folder: the former path of the history's folder.
        store: the directory of the history.
        why: the folder was "moved" from there, or another one had its path and was "replaced".
    """

    folder: str
    store: str
    why: Literal["moved", "replaced"]


@attrs.frozen
class News:
    """What others did to the work of a session since its agent was last notified.

    Attributes:
        undone: its steps that were undone, as a whole or in part.
        redone: its steps that were redone.
        files: the files of its steps that others changed and that differ from then, ordered by path.
        former: the histories that the folder may adopt; the user is notified of them once in a session.
    """

    undone: tuple[StepView, ...] = ()
    redone: tuple[StepView, ...] = ()
    files: tuple[FileSummary, ...] = ()
    former: tuple[FormerHistory, ...] = ()


@attrs.frozen
class TakenView:
    """A snapshot as recorded.

    Attributes:
        changed: how many files differ from the snapshot before it; None for the first, or if not requested.
        agent: the agent of the session.
        operation: None if there is none, or it was interrupted.
    """

    taken: SnapshotRecord
    changed: int | None
    agent: str | None
    operation: OperationKind | None


@attrs.frozen
class UndoResult:
    """The result of an undo or a redo.

    Attributes:
        steps: those undone or redone, in that order.
        operations: the other operations undone or redone, in that order.
    """

    outcome: Outcome
    steps: tuple[StepView, ...]
    operations: tuple[Operation, ...]


@attrs.frozen
class DeltaPage:
    """Some of the files that differ.

    Attributes:
        deltas: ordered by path.
        to: the tree compared with, so that the next page compares with the same one.
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
    """The exact bytes and mode of a file in a snapshot."""

    mode: int
    data: bytes


@attrs.frozen
class Status:
    """The state of a workspace, as known without a look at its files.

    Attributes:
        files: how many files the last capture found.
        watcher: what reports changes: "inotify", "watchdog" or "none".
        watcher_reason: why a better watcher is not used; None if there is no better one.
        full_look: the latest look at all files; None before the first.
        last: the tree of the newest snapshot; None if there is none.
        folder_excludes: patterns that the folder's own file adds to those of the settings.
        folder_problem: what is wrong with that file, while the last valid patterns stay in force; None if it is valid.
        unreadable_rules: files with ignore rules, and of the project's git, that the last capture could not read.
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
