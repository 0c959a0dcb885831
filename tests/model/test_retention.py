"""What goes and what stays, by a history alone: age, number, links, and clocks that cannot be believed."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapd.model.retention import (
    LASTING_SECONDS,
    Chain,
    DatedSnapshot,
    Inventory,
    Limits,
    Removal,
    Retention,
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


@attrs.frozen
class Recorded:
    """An event: when, in which chain if it may not go by itself, and the tree of the snapshot that it records."""

    seconds: float
    chain: str | None
    tree: bytes | None


def taken(*seconds: float) -> list[Recorded]:
    return [Recorded(second, None, tree(place)) for place, second in enumerate(seconds)]


def of(chain: str, *seconds: float) -> list[Recorded]:
    return [Recorded(second, chain, None) for second in seconds]


def inventory(
    *events: Recorded,
    goes_on: Collection[str] = (),
    trees: Mapping[str, Collection[bytes]] = MappingProxyType({}),
    links: Sequence[tuple[str, str]] = (),
) -> Inventory:
    """What a store has; events of one time stay in their order, and the number of each is its place from 1."""
    found = sorted(events, key=lambda event: event.seconds)
    snapshots = [
        DatedSnapshot(at, at + 1, event.tree, event.chain) for at, event in enumerate(found) if event.tree is not None
    ]
    places: dict[str, list[int]] = {}
    for at, event in enumerate(found):
        if event.chain is not None:
            places.setdefault(event.chain, []).append(at)
    chains = [
        Chain(name, at[0], at[-1], name in goes_on, not name.startswith("day"), frozenset(trees.get(name, ())))
        for name, at in places.items()
    ]
    base = snapshots[-1].seq if snapshots else None
    return Inventory([event.seconds for event in found], snapshots, chains, links, base)


def trees_of(told: Inventory, removal: Removal) -> set[bytes]:
    return {each.tree for each in told.snapshots if each.seq in removal.snapshots}


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
    told = inventory(*taken(*days_ago(30, 20, 10, 9)))
    assert expired(told, Limits(NOW, 7 * DAY)) == Removal(frozenset({1, 2, 3}))
    assert expired(told, Limits(NOW, 7 * DAY), [tree(1)]) == Removal(frozenset({1, 3}))
    assert not expired(told, Limits(NOW, 365 * DAY))
    assert expired(told, Limits(NOW, 0)).snapshots == {1, 2, 3}


def test_of_a_tree_that_is_named_the_newest_record_stays() -> None:
    trees = (tree(1), tree(1), tree(2))
    singles = [Recorded(NOW - (30 - 10 * place) * DAY, None, named) for place, named in enumerate(trees)]
    told = inventory(*singles, *of("s", NOW - 15 * DAY), *of("day", NOW), goes_on=["s"], trees={"s": [tree(1)]})
    assert expired(told, Limits(NOW, DAY)).snapshots == {1}


def test_what_an_event_that_stays_records_needs_no_other_record() -> None:
    begun = Recorded(NOW - 15 * DAY, "s", tree(1))
    told = inventory(*taken(NOW - 30 * DAY, NOW - 20 * DAY, NOW), begun, goes_on=["s"], trees={"s": [tree(1)]})
    assert trees_of(told, expired(told, Limits(NOW, DAY))) == {tree(0), tree(1)}
    assert begun.tree in {each.tree for each in told.snapshots if each.chain == "s"}


def test_sessions_go_when_they_have_ended_and_with_what_they_are_linked_to() -> None:
    times = days_ago(30, 29, 20, 10, 5, 1)
    names = ("old", "linked", "open", "day", "young", "last")
    told = inventory(
        *taken(*times),
        *(event for name, time in zip(names, times, strict=True) for event in of(name, time)),
        goes_on=["open"],
        trees={"old": [tree(0)], "open": [tree(2)]},
        links=[("linked", "open")],
    )
    gone = expired(told, Limits(NOW, 7 * DAY))
    assert gone.chains == {"old", "day"}
    assert trees_of(told, gone) == {tree(0), tree(1), tree(3)}
    assert told.count(gone) == 3
    assert expired(told, Limits(NOW, 0)).chains == {"old", "day", "young"}
    assert expired(told, Limits(NOW, 25 * DAY)).chains == {"old"}


def test_a_session_with_the_newest_snapshot_stays() -> None:
    ended = [Recorded(NOW - 30 * DAY, "s", tree(0)), Recorded(NOW - 29 * DAY, "s", tree(1))]
    told = inventory(*ended, *of("other", NOW - 1), goes_on=["other"])
    assert expired(told, Limits(NOW, DAY)) == Removal()
    # with a younger snapshot it goes, with both of its own
    told = inventory(*ended, *of("other", NOW - 1), Recorded(NOW, None, tree(2)), goes_on=["other"])
    assert expired(told, Limits(NOW, DAY)) == Removal(frozenset(), frozenset({"s"}))
    assert told.count(Removal(frozenset(), frozenset({"s"}))) == 2


@pytest.mark.parametrize("most", [1, 2, 3])
def test_so_many_stay_of_each_session_and_of_none(most: int) -> None:
    """Two sessions that overlap, and a time without any."""
    days = (9, 8, 7, 6, 5, 4, 3, 2, 1)
    told = inventory(
        *taken(*days_ago(*days)),
        *of("one", *days_ago(8.5, 4.5)),
        *of("two", *days_ago(6.5, 2.5)),
        *of("day", NOW),
        trees={"one": [tree(1)]},
    )
    gone = expired(told, Limits(NOW, 100 * DAY, most))
    assert gone.chains == set()
    of_one, of_two, of_none = [1, 2, 3, 4], [3, 4, 5, 6], [0, 7, 8]
    stays = {*of_one[-most:], *of_two[-most:], *of_none[-most:], 1, 8}
    assert trees_of(told, gone) == {tree(place) for place in range(9) if place not in stays}


def test_what_is_configured() -> None:
    assert Retention().limits(NOW) == Limits(NOW, 7 * DAY, None, None)
    assert Retention(2, 3, 4).limits(NOW, 1) == Limits(NOW, DAY, 3, 4)


# -- pieces


def test_the_oldest_piece_goes_first_and_nothing_goes_that_must_not() -> None:
    told = inventory(
        *taken(*days_ago(30, 29.5, 25, 15, 8, 2, 0.5)),
        *of("a", *days_ago(30.5, 29)),
        *of("b", *days_ago(20, 10)),
        *of("open", *days_ago(5)),
        *of("last", *days_ago(1)),
        goes_on=["open"],
        trees={"a": [tree(0), tree(4)], "b": [tree(4)], "open": [tree(3)], "last": [tree(5)]},
    )
    pieces = droppable(told, NOW, [tree(2)])
    assert [(trees_of(told, piece), piece.chains) for piece in pieces] == [
        # older by itself than the session before whose end it was taken
        ({tree(1)}, set()),
        ({tree(0)}, {"a"}),
        # named by both: with the younger one
        ({tree(4)}, {"b"}),
    ]


def test_linked_sessions_are_one_piece() -> None:
    times = days_ago(30, 20, 10, 1)
    events = [event for name, time in zip("abcd", times, strict=True) for event in of(name, time)]
    assert droppable(inventory(*events, links=[("c", "a")]), NOW) == [
        Removal(frozenset(), frozenset("b")),
        Removal(frozenset(), frozenset("ac")),
    ]


@settings(max_examples=amount(60, 1000), deadline=None)
@given(st.integers(0, 1 << 32))
def test_all_pieces_together_are_what_goes_when_all_may_go(seed: int) -> None:
    chance = random.Random(seed)
    names = [f"c{number}" for number in range(4)]
    events = [
        Recorded(
            NOW - chance.random() * 60 * DAY,
            chance.choice([None, *names]),
            chance.choice([None, *map(tree, range(6))]),
        )
        for _ in range(chance.randrange(1, 24))
    ]
    # one that only records a snapshot has one
    events = [event for event in events if event.chain is not None or event.tree is not None]
    told = inventory(
        *events,
        goes_on=[name for name in names if chance.random() < 0.3],
        trees={name: [tree(chance.randrange(6)) for _ in range(chance.randrange(3))] for name in names},
        links=[(chance.choice(names), chance.choice(names)) for _ in range(chance.randrange(3))],
    )
    pieces = droppable(told, NOW)
    assert union(pieces) == expired(told, Limits(NOW, 0))
    assert sum(len(piece.snapshots) for piece in pieces) == len(union(pieces).snapshots)
    assert not expired(told, Limits(NOW, math.inf))
