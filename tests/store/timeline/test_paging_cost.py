"""To find a step by the beginning of its name, or to list a page, costs what is found, however many there are."""

from __future__ import annotations

import pytest

from snapd.model.snapshot import Coverage, Snapshot
from snapd.model.timeline import Event, SessionStarted, StepBegun, StepQuery
from tests.store.steps import Steps

SESSIONS = 12
STEPS = 40


class Counter:
    """Counts the steps of SQLite's own machine, which stand for the rows that a question touches."""

    def __init__(self, steps: Steps) -> None:
        self._connection = steps.store.timeline.database.connection
        self.count = 0

    def of(self, question: object) -> int:
        self.count = 0
        self._connection.set_progress_handler(self._tick, 1)
        question()  # type: ignore[operator]
        self._connection.set_progress_handler(None, 0)
        return self.count

    def _tick(self) -> int:
        self.count += 1
        return 0


def fill(steps: Steps, sessions: range) -> None:
    head = steps.store.identify(Snapshot(steps.take({"a": b"a\n"}), Coverage()))
    timeline = steps.store.timeline
    for session in sessions:
        name = f"s{session}"
        steps.store.append(Event(timeline.next_seq, 1, None, None, SessionStarted(name, None, None)))
        for index in range(STEPS):
            made = f"{(session * STEPS + index) * 7919 % 65536:04x}{index:012x}"
            begun = StepBegun(made, name, index, None, None, None, None, None, True)
            steps.store.append(Event(timeline.next_seq, 1, head, None, begun))


QUESTIONS = {
    "a beginning": lambda timeline: timeline.find_steps(StepQuery("1eef"), 6),
    "the last": lambda timeline: timeline.find_steps(StepQuery(""), 1),
    "a page of sessions": lambda timeline: timeline.session_page(None, 3),
    "a page of steps": lambda timeline: timeline.step_page("s0", 5, 3),
}


@pytest.mark.parametrize("what", QUESTIONS)
def test_it_costs_what_is_found(steps: Steps, what: str) -> None:
    fill(steps, range(SESSIONS // 4))
    timeline = steps.store.timeline
    assert QUESTIONS[what](timeline)
    counter = Counter(steps)
    few = counter.of(lambda: QUESTIONS[what](timeline))
    fill(steps, range(SESSIONS // 4, SESSIONS))
    many = counter.of(lambda: QUESTIONS[what](timeline))
    # a page is sorted by an index, and a tree of pages is hardly deeper
    assert many <= few + 200
    assert counter.of(lambda: timeline.steps("s0")) > STEPS


def test_pages_of_the_database_have_all(steps: Steps) -> None:
    fill(steps, range(5))
    timeline = steps.store.timeline
    for limit in (1, 2, 5, 7):
        found, after, rounds = [], None, 0
        while True:
            page, after = timeline.session_page(after, limit)
            found += page
            rounds += 1
            if after is None:
                break
        assert tuple(found) == timeline.sessions()
        assert rounds == -(-5 // limit)
        listed, place = [], None
        while True:
            some, place = timeline.step_page("s3", place, limit)
            listed += some
            if place is None:
                break
        assert tuple(listed) == timeline.steps("s3")
