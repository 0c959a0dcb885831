"""What a workspace answers, and what it tells of by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from .filediff import FileDelta
    from .model import ObjectId, Outcome, RelPath, Skip


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
        kind: "restore" or "revert".
        outcome: what it did.
    """

    kind: str
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


Event = Tracked | Reverted | MovedAway
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


@attrs.frozen
class Status:
    """What is known of a workspace without looking at its files.

    Attributes:
        files: captured files, as of the last look.
        watcher: what says that something may have changed: "inotify", "watchdog" or "none".
        watcher_reason: why it is not the best that there is, where it is not.
        last: the tree of the newest snapshot, None where there is none.
        store_path: where the store lies.
        store_bytes: what it takes.
    """

    files: int
    watcher: str
    watcher_reason: str | None
    last: ObjectId | None
    store_path: str
    store_bytes: int
