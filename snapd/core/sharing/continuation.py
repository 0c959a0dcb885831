"""Whether a copy of a session goes on where another one ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.timeline.model import (
    Edited,
    Kept,
    MessageSent,
    Operated,
    SessionEnded,
    SessionStarted,
    StepBegun,
    StepEnded,
    StepsLeft,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from snapd.core.timeline.model import Event


def identity(event: Event) -> tuple[str, str] | None:
    """What tells an event from all others, on whatever machine its copy was made; None for one that can be left out."""
    kind = type(event.what).__name__
    match event.what:
        case StepBegun() | StepEnded():
            return kind, event.what.step_id
        case Operated():
            return kind, event.what.operation_id
        case MessageSent():
            return kind, f"{event.what.message_id} {event.milliseconds}"
        case SessionStarted() | SessionEnded() | Kept():
            return kind, str(event.milliseconds)
        case StepsLeft() | Edited():
            return None


def identities(events: Iterable[Event]) -> frozenset[tuple[str, str]]:
    """What a copy of a session has.

    One that has all of another may take its place: nothing is lost by that, even if files were taken out of the copy.
    """
    return frozenset(found for event in events if (found := identity(event)) is not None)
