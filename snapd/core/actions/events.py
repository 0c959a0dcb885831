"""Reads the events of a workspace backwards, a page at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.ports.timeline import Timeline
    from snapd.core.timeline.model import Event

_AT_ONCE = 200
"""Events of one page: a reader that stops early has read at most one page too many."""


def newest_first(timeline: Timeline, before: int | None = None) -> Iterator[Event]:
    """Yields the events of a timeline, the newest first.

    Args:
        timeline: of the workspace.
        before: the `seq` to begin below; None begins with the latest event.
    """
    while True:
        events = timeline.events(before, _AT_ONCE)
        yield from events
        if len(events) < _AT_ONCE:
            return
        before = events[-1].seq
