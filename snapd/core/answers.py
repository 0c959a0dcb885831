"""What a workspace answers to requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import attrs

if TYPE_CHECKING:
    from snapd.core.compare.file_diff import FileDelta
    from snapd.core.timeline.model import FileSummary, Session, Step

    from .model import FullLook, ObjectId, RelPath

View = TypeVar("View")


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
