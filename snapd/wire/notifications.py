"""The params of the notifications that the daemon sends to every client of a folder, and of `snapshot/events`."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from .session import Session, Step
from .values import FileChange, FileOutcome, RequestParams, RevertKind, TreeHash


@attrs.frozen(kw_only=True)
class NotificationParams:
    """The params that every notification has."""

    workspace_uri: Annotated[str, "The workspace."]
    seq: Annotated[
        int,
        "The number of the notification, the same for every client: one more than that of the last one of the "
        "workspace while the daemon runs, and a greater one after it was started again.",
    ]


@attrs.frozen(kw_only=True)
class DidTrackParams(NotificationParams):
    """A snapshot was taken."""

    hash: Annotated[TreeHash, "The snapshot."]
    previous: Annotated[TreeHash | None, "The snapshot before it, if there is one."] = None


@attrs.frozen(kw_only=True)
class DidChangeParams(NotificationParams):
    """The working tree changed from the last snapshot, or became equal to it again.

    It has the whole difference from `base`, not only what is new, so that a client need not remember anything.
    Changes in quick succession are combined, with at most four notifications a second. There are none before the
    first snapshot. After `snapshot/didTrack` and `snapshot/didRevert`, nothing differs until the next
    `snapshot/didChange`. It lists up to 500 files, and only as many as can be compared by reading 8 MiB of the
    working tree and 32 MiB of snapshots; beyond that, `truncated` is set. The daemon sends it while at least one
    client that has the folder open has snapshots turned on.
    """

    base: Annotated[TreeHash, "The last snapshot."]
    files: Annotated[
        list[FileChange], "All files that differ from `base`, ordered by file. Empty if none differs any more."
    ]
    truncated: Annotated[
        Literal[True] | None, "There are more files than are listed. `snapshot/diffFull` has all of them."
    ] = None


@attrs.frozen(kw_only=True)
class DidRevertParams(NotificationParams):
    """An operation changed the working tree."""

    kind: Annotated[RevertKind, "The kind of the operation."]
    before: Annotated[TreeHash, "The working tree before it."]
    after: Annotated[TreeHash, "The working tree after it."]
    files: Annotated[list[FileOutcome], "The files that the operation considered."]


@attrs.frozen(kw_only=True)
class SessionDidChangeParams(NotificationParams):
    """A session started or ended, or one of its steps began, ended, or was undone or redone."""

    session: Annotated[Session, "The session as it is now."]
    step: Annotated[Step | None, "The step, if the notification is about one."] = None


@attrs.frozen(kw_only=True)
class ReviewDidChangeParams(NotificationParams):
    """What is pending has changed, or a comment: somebody made, answered or resolved one, or its agent was told.

    The daemon sends it for a folder once a client has asked `review/list`, `review/file` or `review/comments`, first
    with what is pending then, and at most four times a second.
    """

    pending_files: Annotated[int, "The number of files with pending changes."]
    additions: Annotated[int, "Lines added, in all of them."]
    deletions: Annotated[int, "Lines deleted, in all of them."]
    comments: Annotated[int, "The number of open comments."]


@attrs.frozen(kw_only=True)
class EventsParams(RequestParams):
    """Returns the notifications that a client missed.

    The daemon keeps the latest 1,000, and none across a restart. If it no longer has all of them, or never gave out
    `since`, the response is `reset`.
    """

    since: Annotated[int, "The `seq` of the last notification that the client knows."]


@attrs.frozen(kw_only=True)
class ToldNotification:
    """A notification as the daemon sent it."""

    method: Annotated[str, "The method of the notification."]
    params: Annotated[
        SessionDidChangeParams | DidTrackParams | DidChangeParams | DidRevertParams | ReviewDidChangeParams,
        "Its params.",
    ]


@attrs.frozen(kw_only=True)
class EventsResult:
    """The result of `snapshot/events`."""

    events: Annotated[list[ToldNotification] | None, "The notifications after `since`, oldest first."] = None
    reset: Annotated[
        Literal[True] | None,
        "Present instead of `events` if the daemon no longer has all of them. Start again from the current state.",
    ] = None
    latest: Annotated[int, "The `seq` of the last notification."]
