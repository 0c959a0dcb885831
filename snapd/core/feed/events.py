"""What a workspace announces: each class becomes a notification of the wire contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from snapd.core.answers import SessionView, StepView
    from snapd.core.compare.file_diff import FileDelta
    from snapd.core.model import ObjectId, Outcome, Skip
    from snapd.core.timeline.model import OperationKind


@attrs.frozen
class Tracked:
    """A snapshot was taken because a client asked for it.

    Attributes:
        tree: its tree.
        previous: the tree of the snapshot before it; None for the first one.
        skipped: files and directories that the capture skipped.
    """

    tree: ObjectId
    previous: ObjectId | None
    skipped: tuple[Skip, ...]


@attrs.frozen
class Reverted:
    """An operation changed the work tree.

    Attributes:
        kind: of the operation.
        outcome: what it did.
    """

    kind: OperationKind
    outcome: Outcome


@attrs.frozen
class MovedAway:
    """The work tree differs from the last snapshot, or no longer does.

    Attributes:
        base: the tree of that snapshot.
        files: all files that differ from it, without contents, ordered by path; empty if none differs any more.
        truncated: whether more files differ.
    """

    base: ObjectId
    files: tuple[FileDelta, ...]
    truncated: bool


@attrs.frozen
class SessionMoved:
    """A session changed; `step` is the step that changed, None for the session as a whole."""

    session: SessionView
    step: StepView | None


@attrs.frozen
class Reviewed:
    """More or less is pending than before.

    Attributes:
        files: how many files have pending changes.
        additions: lines added, in all of them.
        deletions: lines deleted, in all of them.
    """

    files: int
    additions: int
    deletions: int


Notice = Tracked | Reverted | MovedAway | SessionMoved | Reviewed
"""What a workspace announces."""
