"""The params and the result of `snapshot/events`."""

from __future__ import annotations

from typing import Literal

import attrs
from attrs import field

from .notifications import DidChangeParams, DidRevertParams, DidTrackParams, SessionDidChangeParams
from .values import RequestParams, says


@attrs.frozen(kw_only=True)
class EventsParams(RequestParams):
    """The params of `snapshot/events`."""

    since: int = field(metadata=says("The `seq` of the last notification that the client knows."))


@attrs.frozen(kw_only=True)
class ToldNotification:
    """A notification as the daemon sent it."""

    method: str = field(metadata=says("The method of the notification."))
    params: SessionDidChangeParams | DidTrackParams | DidChangeParams | DidRevertParams = field(
        metadata=says("Its params.")
    )


@attrs.frozen(kw_only=True)
class EventsResult:
    """The result of `snapshot/events`."""

    events: list[ToldNotification] | None = field(
        default=None, metadata=says("The notifications after `since`, oldest first.")
    )
    reset: Literal[True] | None = field(
        default=None,
        metadata=says(
            "Present instead of `events` if the daemon no longer has all of them. Start again from the current state."
        ),
    )
    latest: int = field(metadata=says("The `seq` of the last notification."))
