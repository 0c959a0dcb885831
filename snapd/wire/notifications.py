"""The params of the notifications that the daemon sends to every client that has the folder open."""

from __future__ import annotations

from typing import Literal

import attrs
from attrs import field

from .session import Session, Step
from .values import FileChange, FileOutcome, RevertKind, TreeHash, says


@attrs.frozen(kw_only=True)
class NotificationParams:
    """The params that every notification has."""

    workspace_uri: str = field(metadata=says("The workspace."))
    seq: int = field(
        metadata=says(
            "The number of the notification: one more than that of the last one of the workspace, and the same for "
            "every client."
        )
    )


@attrs.frozen(kw_only=True)
class DidTrackParams(NotificationParams):
    """The params of `snapshot/didTrack`."""

    hash: TreeHash = field(metadata=says("The snapshot."))
    previous: TreeHash | None = field(default=None, metadata=says("The snapshot before it, if there is one."))


@attrs.frozen(kw_only=True)
class DidChangeParams(NotificationParams):
    """The params of `snapshot/didChange`."""

    base: TreeHash = field(metadata=says("The last snapshot."))
    files: list[FileChange] = field(
        metadata=says("All files that differ from `base`, ordered by file. Empty if none differs any more.")
    )
    truncated: Literal[True] | None = field(
        default=None, metadata=says("There are more files than are listed. `snapshot/diffFull` has all of them.")
    )


@attrs.frozen(kw_only=True)
class DidRevertParams(NotificationParams):
    """The params of `snapshot/didRevert`."""

    kind: RevertKind = field(metadata=says("The kind of the operation."))
    before: TreeHash = field(metadata=says("The working tree before it."))
    after: TreeHash = field(metadata=says("The working tree after it."))
    files: list[FileOutcome] = field(metadata=says("The files that the operation considered."))


@attrs.frozen(kw_only=True)
class SessionDidChangeParams(NotificationParams):
    """The params of `session/didChange`."""

    session: Session = field(metadata=says("The session as it is now."))
    step: Step | None = field(default=None, metadata=says("The step, if the notification is about one."))
