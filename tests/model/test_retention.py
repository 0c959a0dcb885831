"""What goes and what stays, by a history alone: age, number, links, and clocks that cannot be believed."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapd.model.retention import (
    LASTING_SECONDS,
    Chain,
    Inventory,
    Limits,
    Removal,
    Retention,
    SnapshotDate,
    ages,
    droppable,
    expired,
    union,
)
from tests.support.amounts import amount

DAY = 86400.0
YEAR = 365 * DAY
NOW = 1_800_000_000.0


def tree(number: int) -> bytes:
    return number.to_bytes(20, "big")


def taken(*seconds: float) -> list[SnapshotDate]:
    return [SnapshotDate(place + 1, second, tree(place)) for place, second in enumerate(seconds)]


def inventory(
    snapshots: Sequence[SnapshotDate], times: Sequence[float] = (), *chains: Chain, links: object = ()
) -> Inventory:
    return Inventory(snapshots, snapshots[-1].seq if snapshots else None, times, chains, list(links))  # type: ignore[call-overload]


def days_ago(*days: float) -> list[float]:
    return [NOW - day * DAY for day in days]


# -- clocks


def test_a_clock_that_runs_tells_ages_as_they_are() -> None:
    times = days_ago(40, 30, 8, 3, 0.5)
    assert ages(times, NOW) == pytest.approx([NOW - time for time in times])


@pytest.mark.parametrize("years", [1, 10, 100])
def test_a_leap_ahead_is_not_believed_at_once(years: int) -> None:
    times = days_ago(5, 4, 3, 2, 1)
    for hours in (0, 1, 23):
        now = NOW + years * YEAR + hours * 3600
        wrong = NOW + years * YEAR
        assert max(ages(times, now)) <= 5 * DAY
        # nor where somebody went on working by it
        assert max(ages([*times, wrong, now], now)) <= 6 * DAY


def test_a_leap_that_lasts_is_believed() -> None:
    times = days_ago(5, 4)
    back = NOW + 100 * DAY
    now = back + LASTING_SECONDS
    assert ages([*times, back], now) == pytest.approx([now - times[0], now - times[1], DAY])


def test_an_absence_is_believed_at_once() -> None:
    times = days_ago(5, 4)
    assert ages(times, NOW + 25 * DAY) == pytest.approx([30 * DAY, 29 * DAY])


@pytest.mark.parametrize("wrong", [-50 * YEAR, -40 * DAY, 40 * DAY, 10 * YEAR])
@pytest.mark.parametrize("count", [1, 5])
def test_a_clock_that_was_wrong_for_an_hour_changes_little(wrong: float, count: int) -> None:
    before, after = days_ago(5, 4), days_ago(3, 2, 1)
    amiss = [NOW - 3.5 * DAY + wrong + minute * 60 for minute in range(count)]
    found = ages([*before, *amiss, *after], NOW)
    true = [*before, *[NOW - 3.5 * DAY + minute * 60 for minute in range(count)], *after]
    for age, time in zip(found, true, strict=True):
        assert age >= NOW - time - 1.1 * DAY
        # the hour itself cannot be known: it is taken for no older than what was before it
        assert age <= NOW - time + 1 or (time in true[2 : 2 + count] and age <= 4 * DAY)


@settings(max_examples=amount(100, 3000), deadline=None)
@given(
    st.lists(st.floats(0, 10 * DAY), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 29), st.floats(-50 * YEAR, 50 * YEAR)), max_size=3),
    st.booleans(),
)
def test_no_wrong_clock_makes_anything_older_than_it_is(
    gaps: list[float], wrong: list[tuple[int, float]], now_is_wrong: bool
) -> None:
    """As long as no wrong time lasts for a day."""
    true = [NOW]
    for gap in gaps:
        true.append(true[-1] + gap)
    told = list(true)
    amiss = {place: by for place, by in wrong if place < len(true) - 1 and not now_is_wrong}
    for place, by in amiss.items():
        told[place] = true[place] + by
    now = true[-1] + (7 * YEAR if now_is_wrong else 0)
    found = ages(told[:-1], now)
    assert all(age <= true[-1] - true[place] + 1 for place, age in enumerate(found) if place not in amiss)
    # one whose own time was wrong is taken for no older than what was before it
    assert found == sorted(found, reverse=True)
    assert all(age >= 0 for age in found)


# -- ages and numbers


def test_what_is_old_goes_but_for_the_newest_and_what_is_kept() -> None:
    told = inventory(taken(*days_ago(30, 20, 10, 9)))
    assert expired(told, Limits(NOW, 7 * DAY)) == Removal(frozenset({1, 2, 3}))
    assert expired(told, Limits(NOW, 7 * DAY), [tree(1)]) == Removal(frozenset({1, 3}))
    assert not expired(told, Limits(NOW, 365 * DAY))
    assert expired(told, Limits(NOW, 0)).snapshots == {1, 2, 3}


def test_of_a_tree_that_is_named_the_newest_record_stays() -> None:
    trees = (tree(1), tree(1), tree(2))
    snapshots = [SnapshotDate(seq, NOW - (40 - 10 * seq) * DAY, named) for seq, named in enumerate(trees, 1)]
    times = days_ago(20, 0)
    chain = Chain("s", 0, times[0], None, True, frozenset({tree(1)}))
    last = Chain("o", 1, times[1], times[1], False, frozenset())
    assert expired(inventory(snapshots, times, chain, last), Limits(NOW, DAY)).snapshots == {1}


def test_sessions_go_when_they_have_ended_and_with_what_they_are_linked_to() -> None:
    times = days_ago(30, 29, 20, 10, 5, 1)
    chains = [
        Chain("old", 0, times[0], times[0], True, frozenset({tree(0)})),
        Chain("linked", 1, times[1], times[1], True, frozenset()),
        Chain("open", 2, times[2], None, True, frozenset({tree(2)})),
        Chain("day", 3, times[3], times[3], False, frozenset()),
        Chain("young", 4, times[4], times[4], True, frozenset()),
        Chain("last", 5, times[5], times[5], True, frozenset()),
    ]
    snapshots = taken(*times)
    told = inventory(snapshots, times, *chains, links=[("linked", "open")])
    gone = expired(told, Limits(NOW, 7 * DAY))
    assert gone.chains == {"old", "day"}
    assert gone.snapshots == {1, 2, 4}
    assert expired(told, Limits(NOW, 0)).chains == {"old", "day", "young"}
    assert expired(told, Limits(NOW, 25 * DAY)).chains == {"old"}


@pytest.mark.parametrize("most", [1, 2, 3])
def test_so_many_stay_of_each_session_and_of_none(most: int) -> None:
    """Two sessions that overlap, and a time without any."""
    snapshots = taken(*days_ago(9, 8, 7, 6, 5, 4, 3, 2, 1))
    times = [NOW - 8.5 * DAY, NOW - 6.5 * DAY, NOW - 4.5 * DAY, NOW - 2.5 * DAY, NOW]
    one = Chain("one", 2, times[0], times[2], True, frozenset({tree(1)}))
    two = Chain("two", 3, times[1], times[3], True, frozenset())
    last = Chain("last", 4, times[4], times[4], False, frozenset())
    gone = expired(inventory(snapshots, times, one, two, last), Limits(NOW, 100 * DAY, most))
    assert gone.chains == set()
    of_one, of_two, of_none = [2, 3, 4, 5], [4, 5, 6, 7], [1, 8, 9]
    stays = {*of_one[-most:], *of_two[-most:], *of_none[-most:], 2, 9}
    assert gone.snapshots == set(range(1, 10)) - stays


def test_what_is_configured() -> None:
    assert Retention().limits(NOW) == Limits(NOW, 7 * DAY, None, None)
    assert Retention(2, 3, 4).limits(NOW, 1) == Limits(NOW, DAY, 3, 4)


# -- pieces


def test_the_oldest_piece_goes_first_and_nothing_goes_that_must_not() -> None:
    times = days_ago(30, 29, 20, 10, 5, 1)
    chains = [
        Chain("a", 1, times[0], times[1], True, frozenset({tree(0), tree(4)})),
        Chain("b", 3, times[2], times[3], True, frozenset({tree(4)})),
        Chain("open", 4, times[4], None, True, frozenset({tree(3)})),
        Chain("last", 5, times[5], times[5], False, frozenset({tree(5)})),
    ]
    pieces = droppable(inventory(taken(*days_ago(30, 29.5, 25, 15, 8, 2, 1)), times, *chains), NOW, [tree(2)])
    assert pieces == [
        # older by itself than the session before whose end it was taken
        Removal(frozenset({2}), frozenset()),
        Removal(frozenset({1}), frozenset({"a"})),
        # named by both: with the younger one
        Removal(frozenset({5}), frozenset({"b"})),
    ]


def test_linked_sessions_are_one_piece() -> None:
    times = days_ago(30, 20, 10, 1)
    chains = [Chain(name, place, times[place], times[place], True, frozenset()) for place, name in enumerate("abcd")]
    assert droppable(inventory([], times, *chains, links=[("c", "a")]), NOW) == [
        Removal(frozenset(), frozenset("b")),
        Removal(frozenset(), frozenset("ac")),
    ]


@settings(max_examples=amount(60, 1000), deadline=None)
@given(st.integers(0, 1 << 32))
def test_all_pieces_together_are_what_goes_when_all_may_go(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randrange(1, 12)
    times = sorted(NOW - chance.random() * 60 * DAY for _ in range(count))
    names = [f"c{chance.randrange(4)}" for _ in times]
    snapshots = [SnapshotDate(place + 1, time, tree(chance.randrange(6))) for place, time in enumerate(times)]
    chains = []
    for name in sorted(set(names)):
        places = [place for place, other in enumerate(names) if other == name]
        ended = times[places[-1]] if chance.random() < 0.7 else None
        trees = frozenset(tree(chance.randrange(6)) for _ in range(chance.randrange(3)))
        chains.append(Chain(name, places[-1], times[places[0]], ended, True, trees))
    linked = sorted(set(names))
    links = [(chance.choice(linked), chance.choice(linked)) for _ in range(chance.randrange(3))]
    told = inventory(snapshots, times, *chains, links=links)
    pieces = droppable(told, NOW)
    assert union(pieces) == expired(told, Limits(NOW, 0))
    assert sum(len(piece.snapshots) for piece in pieces) == len(union(pieces).snapshots)
    assert not expired(told, Limits(NOW, math.inf))
