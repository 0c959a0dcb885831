"""The search and what comes out of it, against a model: a row of states that are good up to one, and bad from there."""

from __future__ import annotations

import math
from itertools import chain, combinations, pairwise
from typing import TYPE_CHECKING

import pytest

from snapd.cli.commands.bisect_trials import Change, Search, Trial, find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def row(*trees: str) -> list[Change]:
    return [Change(before, after, after, ()) for before, after in pairwise(trees)]


def states(changes: int) -> list[Change]:
    return row(*(f"t{number}" for number in range(changes + 1)))


def runs(codes: Callable[[int], int]) -> tuple[Callable[[int, str, int], Trial], list[tuple[int, int]]]:
    """A command that exits with these codes, and the states on which it ran, each with the runs to come."""
    ran: list[tuple[int, int]] = []

    def run(state: int, tree: str, more: int) -> Trial:
        ran.append((state, more))
        return Trial(tree, codes(state))

    return run, ran


def some(states: Iterable[int]) -> Iterable[tuple[int, ...]]:
    every = list(states)
    return chain.from_iterable(combinations(every, size) for size in range(len(every) + 1))


@pytest.mark.parametrize("changes", [*range(1, 20), 100, 1000])
def test_each_change_is_found_in_the_logarithm_of_all(changes: int) -> None:
    for first_bad in range(1, changes + 1):
        run, ran = runs(lambda state, first_bad=first_bad: int(state >= first_bad))  # type: ignore[misc]
        found = find(states(changes), run)
        assert (found.outcome, found.exit_code) == ("found", 1)
        assert found.suspects == (states(changes)[first_bad - 1],)
        assert [state for state, _ in ran[:2]] == [0, changes]
        assert len(ran) == len(set(ran)) <= 2 + math.ceil(math.log2(changes))
        # what was foretold is never too little
        assert all(more >= len(ran) - number for number, (_, more) in enumerate(ran, 1))
        assert ran[0][1] == 1 + math.ceil(math.log2(changes))


def test_ten_steps_take_four_runs_beside_the_ends() -> None:
    assert Search(10).most == 4


@pytest.mark.parametrize("changes", range(1, 8))
def test_what_is_skipped_is_never_believed_to_be_anything(changes: int) -> None:
    for first_bad in range(1, changes + 1):
        for skipped in some(range(1, changes)):

            def code(state: int, first_bad: int = first_bad, skipped: tuple[int, ...] = skipped) -> int:
                return 125 if state in skipped else int(state >= first_bad)

            run, ran = runs(code)
            found = find(states(changes), run)
            last_good = max(state for state in range(first_bad) if state not in skipped)
            next_bad = min(state for state in range(first_bad, changes + 1) if state not in skipped)
            wanted = tuple(states(changes)[last_good:next_bad])
            assert (found.suspects, found.outcome) == (wanted, "found" if len(wanted) == 1 else "unclear")
            assert len(ran) == len(set(ran))


@pytest.mark.parametrize("changes", range(1, 9))
def test_it_finds_a_change_for_the_worse_whatever_the_states_are(changes: int) -> None:
    for bad in some(range(1, changes)):
        run, _ = runs(lambda state, bad=bad: int(state in bad or state == changes))  # type: ignore[misc]
        (found,) = find(states(changes), run).suspects
        before, after = int(found.before[1:]), int(found.after[1:])
        assert (before not in bad, after in (*bad, changes)) == (True, True)


@pytest.mark.parametrize(
    ("codes", "outcome", "code", "ran"),
    [
        ({0: 1}, "badBefore", 1, 1),
        ({0: 127}, "badBefore", 127, 1),
        ({}, "goodAfter", 0, 2),
        ({0: 125}, "untested", 125, 1),
        ({5: 125}, "untested", 125, 2),
        ({0: 128}, "aborted", 128, 1),
        ({5: 137}, "aborted", 137, 2),
        ({5: 1, 2: 130}, "aborted", 130, 3),
    ],
)
def test_what_keeps_it_from_being_found(codes: dict[int, int], outcome: str, code: int, ran: int) -> None:
    run, calls = runs(lambda state: codes.get(state, 0))
    found = find(states(5), run)
    assert (found.outcome, found.exit_code, len(calls)) == (outcome, code, ran)
    assert found.suspects == ()


@pytest.mark.parametrize("code", [1, 2, 124, 126, 127])
def test_the_exit_code_is_that_of_the_first_bad_state(code: int) -> None:
    run, _ = runs(lambda state: 0 if state < 3 else code if state == 3 else 9)
    assert find(states(6), run).exit_code == code


def test_a_snapshot_that_comes_twice_is_tried_once() -> None:
    bad = {"c", "d"}
    ran: list[str] = []

    def run(_: int, tree: str, __: int) -> Trial:
        ran.append(tree)
        return Trial(tree, int(tree in bad))

    found = find(row("a", "b", "a", "b", "a", "c", "d", "c"), run)
    assert found.suspects == (Change("a", "c", "c", ()),)
    assert len(ran) == len(set(ran))
    # all that was done is undone again
    assert find(row("a", "b", "a"), run).outcome == "goodAfter"
