"""The params of the notifications that the daemon sends to every client that has the folder open."""

from __future__ import annotations

from typing import Literal

import attrs
from attrs import field

from .session import Session, Step
from .values import FileChange, FileOutcome, RevertKind, TreeHash, says


@attrs.frozen(kw_only=True)
class NotificationParams:
    """What the params of every notification have."""

    workspace_uri: str = field(metadata=says("The workspace that it is about."))
    seq: int = field(metadata=says("Grows by one for each notification of a workspace, the same for every client."))


@attrs.frozen(kw_only=True)
class DidTrackParams(NotificationParams):
    """The params of `snapshot/didTrack`."""

    hash: TreeHash = field(metadata=says("The snapshot."))
    previous: TreeHash | None = field(default=None, metadata=says("The snapshot before it, where there is one."))


@attrs.frozen(kw_only=True)
class DidChangeParams(NotificationParams):
    """The params of `snapshot/didChange`."""

    base: TreeHash = field(metadata=says("The last snapshot."))
    files: list[FileChange] = field(
        metadata=says("All that differs from it, ordered by file; empty where nothing does any more.")
    )
    truncated: Literal[True] | None = field(
        default=None, metadata=says("There is more than is told in one go: `snapshot/diffFull` has all of it.")
    )


@attrs.frozen(kw_only=True)
class DidRevertParams(NotificationParams):
    """The params of `snapshot/didRevert`."""

    kind: RevertKind = field(metadata=says("The operation that it was."))
    before: TreeHash = field(metadata=says("The working tree before it."))
    after: TreeHash = field(metadata=says("The working tree after it."))
    files: list[FileOutcome] = field(metadata=says("The files that it was about."))


@attrs.frozen(kw_only=True)
class SessionDidChangeParams(NotificationParams):
    """The params of `session/didChange`."""

    session: Session = field(metadata=says("The session, as it is now."))
    step: Step | None = field(default=None, metadata=says("The step that it is about, where it is about one."))
