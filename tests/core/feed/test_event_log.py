"""The numbers of notifications: taken ahead, so that what was done can be told when nothing can be written any more."""

from __future__ import annotations

import pytest

from snapd.core.feed import EventLog, TrackNotice
from snapd.model.errors import StorageFull

NEWS = TrackNotice(b"t" * 20, None, ())


class Numbers:
    """Gives out numbers while there is space."""

    def __init__(self, first: int = 1) -> None:
        self.next = first
        self.full = False
        self.asked = 0

    def reserve(self, count: int) -> int:
        if self.full:
            raise StorageFull("no space", path="numbers")
        self.asked += 1
        first, self.next = self.next, self.next + count
        return first


def test_what_was_prepared_can_be_told_on_a_full_disk() -> None:
    numbers = Numbers()
    event_log = EventLog(numbers.reserve)
    for _ in range(3):
        event_log.prepare(10)
        event_log.publish(NEWS)
    numbers.full = True
    told: list[int] = []
    event_log.listen(lambda numbered: told.append(numbered.seq))
    while True:
        try:
            event_log.prepare(10)
        except StorageFull:
            break
        event_log.publish(NEWS)
    for _ in range(9):
        event_log.publish(NEWS)
    assert len(told) >= 9
    assert told == list(range(4, 4 + len(told)))
    with pytest.raises(StorageFull):
        event_log.publish(NEWS)


def test_numbers_are_taken_for_many_at_once() -> None:
    numbers = Numbers()
    event_log = EventLog(numbers.reserve)
    for _ in range(20_000):
        event_log.prepare(10)
        event_log.publish(NEWS)
    assert event_log.since(0)[1] == 20_000
    assert numbers.asked < 20


def test_more_than_a_block_can_be_prepared() -> None:
    numbers = Numbers()
    event_log = EventLog(numbers.reserve)
    event_log.prepare(100_000)
    numbers.full = True
    for _ in range(100_000):
        event_log.publish(NEWS)
    assert event_log.since(0)[1] == 100_000


def test_a_block_that_does_not_continue_the_one_before_leaves_a_gap_and_no_number_twice() -> None:
    numbers = Numbers()
    event_log = EventLog(numbers.reserve)
    told: list[int] = []
    event_log.listen(lambda numbered: told.append(numbered.seq))
    event_log.publish(NEWS)
    numbers.next = 1_000_000
    for _ in range(10_000):
        event_log.prepare(10)
        event_log.publish(NEWS)
    assert told == sorted(set(told))
    assert told[-1] > 1_000_000
