"""The results that a workspace returns to requests."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import attrs

from snapd.core.compare.file_diff import FileDelta
from snapd.core.review.comment_place import Place
from snapd.model.git import GitChange, GitReason
from snapd.model.handover import SignatureStatus
from snapd.model.snapshot import FullLook, ObjectId, Outcome, RelPath, UncapturedChange
from snapd.model.snapshot_records import SnapshotRecord
from snapd.model.timeline import Comment, FileSummary, Message, Operation, OperationKind, Session, Step

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
    """A session, with what can be done in it."""

    session: Session
    undoable: int  # how many of its steps can be undone
    redoable: int  # how many of the undone steps can be redone
    origin: SessionOrigin | None = None  # None for a session of this folder
    taken_over: SessionOrigin | None = None  # who took it over after the folder handed it over; None if nobody did
    signature: SignatureStatus | None = None  # of a fetched session; None if it is not signed


@attrs.frozen
class OverlapView:
    """A file that another agent changed too: with a step of which session, and which lines, if it has any left."""

    path: RelPath
    milliseconds: int  # when, since 1970
    step: Step
    session: Session
    lines: tuple[int, int] | None = None  # the first one, from 1, and how many to the last one


@attrs.frozen
class StepView:
    """A step, with the agent of its session and what it changed."""

    step: Step
    agent: str | None
    files: tuple[FileSummary, ...] | None  # what it changed, including its parts; None while it is open
    uncaptured: tuple[UncapturedChange, ...] = ()  # changes of files that no snapshot has, made while the step was open
    git: GitChange | None = None  # how it changed the git state, including its parts; None while it is open
    overlaps: tuple[OverlapView, ...] = ()  # what other agents changed in its files without its agent knowing


@attrs.frozen
class MessageView:
    """A message, the number of its steps, and what these and their parts changed."""

    message: Message
    steps: int
    files: int
    additions: int
    deletions: int
    # "undone" if all steps that changed something were undone, "partly" if only some of it was
    state: Literal["applied", "partly", "undone"]


@attrs.frozen
class FormerHistory:
    """A history that a folder may adopt."""

    folder: str  # the former path of the history's folder
    store: str  # the directory of the history
    # the folder was "moved" from there, or another one had its path and was "replaced"
    why: Literal["moved", "replaced"]


@attrs.frozen
class CommentView:
    """A comment, where its lines are now, and what they were."""

    comment: Comment
    place: Place
    lines: bytes  # of the version that was commented on; empty if that was purged


@attrs.frozen
class News:
    """What others did to the work of a session since its agent was last notified."""

    undone: tuple[StepView, ...] = ()
    redone: tuple[StepView, ...] = ()
    # the files of its steps that others changed and that differ from then, ordered by path
    files: tuple[FileSummary, ...] = ()
    git: GitChange | None = None  # how operations changed the git state
    comments: tuple[CommentView, ...] = ()  # of which the agent has yet to hear
    overlaps: tuple[OverlapView, ...] = ()  # files that other agents changed without its agent knowing
    news_id: str = ""  # names these comments and overlaps, for `SessionNews.acknowledge`
    # the histories that the folder may adopt; the user is notified of them once in a session
    former: tuple[FormerHistory, ...] = ()


@attrs.frozen
class TakenView:
    """A snapshot as recorded."""

    taken: SnapshotRecord
    changed: int | None  # how many files differ from the snapshot before it; None for the first, or if not requested
    agent: str | None
    operation: OperationKind | None  # None if there is none, or it was interrupted


@attrs.frozen
class UndoResult:
    """The result of an undo or a redo, with the steps and the other operations in the order in which it was done."""

    outcome: Outcome
    steps: tuple[StepView, ...]
    operations: tuple[Operation, ...]


@attrs.frozen
class DeltaPage:
    """Some of the files that differ, ordered by path."""

    deltas: tuple[FileDelta, ...]
    to: ObjectId  # the tree compared with, so that the next page compares with the same one
    after: RelPath | None  # the last path of this page; None on the last page


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
    git_reason: GitReason | None  # why the git state is not recorded; None if it is, or there is no repository
