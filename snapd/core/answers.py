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
    """What an export wrote: files and symlinks, and the bytes of their contents and targets."""

    files: int
    size: int


@attrs.frozen
class SessionOrigin:
    """Where a fetched session came from: the address, without a password, and the machine that added to it last."""

    remote: str
    host: str


@attrs.frozen
class SessionView:
    """A session, with the numbers of its steps that can be undone and redone.

    `origin` is None for a session of this folder; `signature` is None for a session that is not signed. `taken_over` is
    who took it over after the folder handed it over, None if nobody did.
    """

    session: Session
    undoable: int
    redoable: int
    origin: SessionOrigin | None = None
    taken_over: SessionOrigin | None = None
    signature: SignatureStatus | None = None


@attrs.frozen
class StepView:
    """A step, with the agent of its session and what it and its parts changed; `files` is None while it is open.

    `uncaptured` are changes of files that no snapshot has, made while the step was open.
    """

    step: Step
    agent: str | None
    files: tuple[FileSummary, ...] | None
    uncaptured: tuple[UncapturedChange, ...] = ()


@attrs.frozen
class MessageView:
    """A message, the number of its steps, and what these and their parts changed.

    `state` is "undone" if all steps that changed something were undone, and "partly" if only some of it was.
    """

    message: Message
    steps: int
    files: int
    additions: int
    deletions: int
    state: Literal["applied", "partly", "undone"]


@attrs.frozen
class FormerHistory:
    """A history that a folder may adopt: of a `folder` that "moved", or whose path another one took ("replaced").

    `store` is the directory of the history.
    """

    folder: str
    store: str
    why: Literal["moved", "replaced"]


@attrs.frozen
class News:
    """What others did to the work of a session since its agent was last notified: steps undone or redone, and `files`.

    `files` were changed by the session's steps and then by others, and differ from then; ordered by path. The user is
    notified of `former` histories, which the folder may adopt, once in a session.
    """

    undone: tuple[StepView, ...] = ()
    redone: tuple[StepView, ...] = ()
    files: tuple[FileSummary, ...] = ()
    former: tuple[FormerHistory, ...] = ()


@attrs.frozen
class TakenView:
    """A snapshot as recorded; `changed` counts files that differ from the one before, None if there is none or unasked.

    `operation` is None if there is none, or it was interrupted.
    """

    taken: SnapshotRecord
    changed: int | None
    agent: str | None
    operation: OperationKind | None


@attrs.frozen
class UndoResult:
    """The result of an undo or a redo, with the steps and the other operations in the order in which it was done."""

    outcome: Outcome
    steps: tuple[StepView, ...]
    operations: tuple[Operation, ...]


@attrs.frozen
class DeltaPage:
    """Some of the files that differ, ordered by path; `after` is the last path of this page, None on the last page.

    `to` is the tree compared with, so that the next page compares with the same one.
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
    """The state of a workspace, as known without a look at its files."""

    files: int  # how many files the last capture found
    watcher: str  # what reports changes: "inotify", "watchdog" or "none"
    watcher_reason: str | None  # why a better watcher is not used; None if there is no better one
    full_look: FullLook | None  # the latest look at all files; None before the first
    last: ObjectId | None  # the tree of the newest snapshot; None if there is none
    store_path: str
    store_bytes: int
    folder_excludes: tuple[str, ...]  # patterns that the folder's own file adds to those of the settings
    # what is wrong with that file, while the last valid patterns stay in force; None if it is valid
    folder_problem: str | None
    # files with ignore rules, and of the project's git, that the last capture could not read
    unreadable_rules: tuple[bytes, ...]
