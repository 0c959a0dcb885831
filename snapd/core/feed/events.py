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
class SessionMoved:
    """A session changed; `step` is the one that it was about."""

    session: SessionView
    step: StepView | None


Notice = Tracked | Reverted | MovedAway | SessionMoved
"""What a workspace tells of by itself."""
