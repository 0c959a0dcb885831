"""Converts events to notifications; handles `snapshot/events`, for clients that missed some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.core.feed.events import MovedAway, Reviewed, SessionMoved, Tracked
from snapd.core.paths import to_uri
from snapd.wire import methods
from snapd.wire.converter import unstructure
from snapd.wire.notifications import (
    DidChangeParams,
    DidRevertParams,
    DidTrackParams,
    EventsParams,
    EventsResult,
    ReviewDidChangeParams,
    SessionDidChangeParams,
    ToldNotification,
)

from . import convert, history
from .binding import handles

if TYPE_CHECKING:
    from snapd.core.feed.event_log import NumberedNotice

    from .binding import Context


@handles(methods.EVENTS)
def events(context: Context, params: EventsParams) -> EventsResult:
    """Lists the notifications after one."""
    found, latest = context.workspace.event_log.since(params.since)
    if found is None:
        return EventsResult(reset=True, latest=latest)
    return EventsResult(events=[_notification(context.workspace.root, news) for news in found], latest=latest)


def encode_news(root: bytes, news: NumberedNotice) -> tuple[str, dict[str, Any]]:
    """Returns the method and the params (JSON values) of the notification for an event of a workspace."""
    made = _notification(root, news)
    return made.method, unstructure(made.params)


def _notification(root: bytes, news: NumberedNotice) -> ToldNotification:
    uri, seq, event = to_uri(root), news.seq, news.event
    if isinstance(event, Tracked):
        previous = None if event.previous is None else event.previous.hex()
        return ToldNotification(
            method="snapshot/didTrack",
            params=DidTrackParams(workspace_uri=uri, seq=seq, hash=event.tree.hex(), previous=previous),
        )
    if isinstance(event, MovedAway):
        return ToldNotification(
            method="snapshot/didChange",
            params=DidChangeParams(
                workspace_uri=uri,
                seq=seq,
                base=event.base.hex(),
                files=[convert.file_change(root, delta) for delta in event.files],
                truncated=True if event.truncated else None,
            ),
        )
    if isinstance(event, SessionMoved):
        return ToldNotification(
            method="session/didChange",
            params=SessionDidChangeParams(
                workspace_uri=uri,
                seq=seq,
                session=history.session(event.session),
                step=None if event.step is None else history.step(root, event.step),
            ),
        )
    if isinstance(event, Reviewed):
        return ToldNotification(
            method="review/didChange",
            params=ReviewDidChangeParams(
                workspace_uri=uri,
                seq=seq,
                pending_files=event.files,
                additions=event.additions,
                deletions=event.deletions,
            ),
        )
    outcome = event.outcome
    return ToldNotification(
        method="snapshot/didRevert",
        params=DidRevertParams(
            workspace_uri=uri,
            seq=seq,
            kind=event.kind,
            before=outcome.before.hex(),
            after=outcome.after.hex(),
            files=convert.file_outcomes(root, outcome.files),
        ),
    )
