"""Whether a copy of a session goes on where another one ends, and what it adds."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence

from snapd.model.timeline import (
    Edited,
    Event,
    Kept,
    MessageSent,
    Operated,
    SessionEnded,
    SessionId,
    SessionStarted,
    StepBegun,
    StepEnded,
    StepsLeft,
)
from snapd.store.timeline.timeline import TimelineView

Identity = tuple[str, str]


def identity(event: Event) -> Identity | None:
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


def identities(events: Iterable[Event]) -> frozenset[Identity]:
    """What a copy of a session has.

    One that has all of another may take its place: nothing is lost by that, even if files were taken out of the copy.
    """
    return frozenset(found for event in events if (found := identity(event)) is not None)


def events_of(timeline: TimelineView, session_ids: Iterable[SessionId]) -> Iterator[Event]:
    """The events that say anything about some sessions or their steps, each once, oldest first."""
    each = (timeline.events_of_session(session_id) for session_id in sorted(session_ids))
    in_order = heapq.merge(*each, key=lambda event: event.seq)
    return (next(same) for _, same in itertools.groupby(in_order, key=lambda event: event.seq))


def by_session(events: Iterable[Event]) -> dict[SessionId, set[Identity]]:
    """What events say about each session, as `identities` of a copy of it; they have all events of its steps."""
    sessions: dict[str, set[SessionId]] = {}
    found: dict[SessionId, set[Identity]] = {}
    for event in events:
        name = identity(event)
        if name is not None:
            for session_id in _about(event, sessions):
                found.setdefault(session_id, set()).add(name)
    return found


def _about(event: Event, sessions: dict[str, set[SessionId]]) -> set[SessionId]:
    """The sessions that an event is about; `sessions` has those of the steps and operations before it."""
    what = event.what
    match what:
        case SessionStarted() | SessionEnded() | MessageSent():
            return {what.session_id}
        case StepBegun():
            return sessions.setdefault(what.step_id, {what.session_id})
        case StepEnded():
            return sessions.get(what.step_id, set())
        case Kept():
            return {session_id for step in what.steps for session_id in sessions.get(step, ())}
        case Operated():
            about = {session_id for turn in what.turned for session_id in sessions.get(turn.name, ())}
            if what.is_own and what.session_id is not None:
                about.add(what.session_id)
            return sessions.setdefault(what.operation_id, about)
        case StepsLeft() | Edited():
            return set()


def added(timeline: TimelineView, known_here: Collection[Identity], events: Sequence[Event]) -> list[Event]:
    """The events of a copy that a timeline does not have yet, oldest first.

    Args:
        timeline: has some of them, or none.
        known_here: what it has.
        events: of the copy, oldest first.
    """
    common = max((at for at, event in enumerate(events) if identity(event) in known_here), default=-1)

    def is_new(at: int, event: Event) -> bool:
        name = identity(event)
        if name is not None:
            return name not in known_here
        steps = () if event.seen is None else event.seen.steps
        return at > common or any(timeline.step(step) is None for step in steps)

    return [event for at, event in enumerate(events) if is_new(at, event)]
