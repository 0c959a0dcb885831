"""The numbers of notifications: taken ahead, so that what was done can be told when nothing can be written any more."""

from __future__ import annotations

import pytest

from snapd.core.errors import StorageFull
from snapd.core.feed.event_log import EventLog
from snapd.core.feed.events import Tracked

NEWS = Tracked(b"t" * 20, None, ())


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
    bulletin = EventLog(numbers.reserve)
    for _ in range(3):
        bulletin.prepare(10)
        bulletin.tell(NEWS)
    numbers.full = True
    told: list[int] = []
    bulletin.listen(lambda news: told.append(news.seq))
    while True:
        try:
            bulletin.prepare(10)
        except StorageFull:
            break
        bulletin.tell(NEWS)
    for _ in range(9):
        bulletin.tell(NEWS)
    assert len(told) >= 9
    assert told == list(range(4, 4 + len(told)))
    with pytest.raises(StorageFull):
        bulletin.tell(NEWS)


def test_numbers_are_taken_for_many_at_once() -> None:
    numbers = Numbers()
    bulletin = EventLog(numbers.reserve)
    for _ in range(20_000):
        bulletin.prepare(10)
        bulletin.tell(NEWS)
    assert bulletin.latest == 20_000
    assert numbers.asked < 20


def test_more_than_a_block_can_be_prepared() -> None:
    numbers = Numbers()
    bulletin = EventLog(numbers.reserve)
    bulletin.prepare(100_000)
    numbers.full = True
    for _ in range(100_000):
        bulletin.tell(NEWS)
    assert bulletin.latest == 100_000


def test_a_block_that_does_not_continue_the_one_before_leaves_a_gap_and_no_number_twice() -> None:
    numbers = Numbers()
    bulletin = EventLog(numbers.reserve)
    told: list[int] = []
    bulletin.listen(lambda news: told.append(news.seq))
    bulletin.tell(NEWS)
    numbers.next = 1_000_000
    for _ in range(10_000):
        bulletin.prepare(10)
        bulletin.tell(NEWS)
    assert told == sorted(set(told))
    assert told[-1] > 1_000_000
