"""The params and the result of `snapshot/events`."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from .notifications import (
    DidChangeParams,
    DidRevertParams,
    DidTrackParams,
    ReviewDidChangeParams,
    SessionDidChangeParams,
)
from .values import RequestParams


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
