"""What a workspace answers, and what it tells of by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import attrs

if TYPE_CHECKING:
    from .filediff import FileDelta
    from .history import FileSummary, OperationKind, Session, Step
    from .model import FullLook, ObjectId, Outcome, RelPath, Skip

View = TypeVar("View")


@attrs.frozen
class Tracked:
    """A snapshot was taken because a client asked.

    Attributes:
        tree: its id.
        previous: the tree of the one before it, None where it is the first.
        skipped: what was there and was not captured.
    """

    tree: ObjectId
    previous: ObjectId | None
    skipped: tuple[Skip, ...]


@attrs.frozen
class Reverted:
    """An operation changed the work tree.

    Attributes:
        kind: which.
        outcome: what it did.
    """

    kind: OperationKind
    outcome: Outcome


@attrs.frozen
class MovedAway:
    """The work tree is no longer what the last snapshot has, or is so again.

    Attributes:
        base: the tree of that snapshot.
        files: all that differs from it, without contents, ordered by path; empty where nothing does any more.
        truncated: there is more.
    """

    base: ObjectId
    files: tuple[FileDelta, ...]
    truncated: bool


@attrs.frozen
class Page(Generic[View]):
    """A part of a list.

    Attributes:
        views: what is on it.
        after: where the next one goes on; None where this is the last.
    """

    views: tuple[View, ...]
    after: int | None


@attrs.frozen
class SessionView:
    """A session, with what can be done in it.

    Attributes:
        session: it.
        undoable: how many of its steps can be taken back.
        redoable: how many of those taken back can be done again.
    """

    session: Session
    undoable: int
    redoable: int


@attrs.frozen
class StepView:
    """A step, with what is known of its session and what it changed.

    Attributes:
        step: it.
        agent: of its session.
        files: what it changed, its parts included; None while it is open.
    """

    step: Step
    agent: str | None
    files: tuple[FileSummary, ...] | None


@attrs.frozen
class SessionMoved:
    """A session changed; `step` is the one that it was about."""

    session: SessionView
    step: StepView | None


Notice = Tracked | Reverted | MovedAway | SessionMoved
"""What a workspace tells of by itself."""


@attrs.frozen
class DeltaPage:
    """Some of the files that differ.

    Attributes:
        deltas: ordered by path.
        to: the tree compared with, so that the next page compares with the same.
        after: the last path of this page where there are more, else None.
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


SettingSource = Literal["default", "file", "environment", "client", "otherClient", "folder"]


@attrs.frozen
class SettingInUse:
    """A setting as it holds for a workspace.

    Attributes:
        name: of the setting.
        value: what it is; patterns are a tuple of strings.
        source: where that comes from: nobody said anything, the user's file, the environment of the process that
            answers, the client that asks, another client, or the folder itself.
    """

    name: str
    value: bool | float | str | tuple[str, ...] | None
    source: SettingSource


@attrs.frozen
class Status:
    """What is known of a workspace without looking at its files.

    Attributes:
        files: captured files, as of the last look.
        watcher: what says that something may have changed: "inotify", "watchdog" or "none".
        watcher_reason: why it is not the best that there is, where it is not.
        full_look: the latest look at all files, None where there was none yet.
        last: the tree of the newest snapshot, None where there is none.
        store_path: where the store lies.
        store_bytes: what it takes.
        folder_excludes: patterns that the folder's own file adds to those of the settings.
        folder_problem: what is wrong with that file: then no snapshot is taken; None where it is all right.
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
