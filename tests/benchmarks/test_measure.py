"""Statistics of the benchmark, and how it takes samples from two sides."""

from __future__ import annotations

import random
import statistics
from functools import partial
from itertools import pairwise

import pytest

from benchmarks.measure import Samples, WrongResult, all_agree, alternate, in_turns, percentile


def test_percentiles_are_those_of_the_standard_library() -> None:
    chance = random.Random(1)
    for size in (2, 3, 10, 11, 101):
        values = [chance.random() for _ in range(size)]
        cuts = statistics.quantiles(values, n=100, method="inclusive")
        for percent in (1, 10, 50, 90, 99):
            assert percentile(values, percent) == pytest.approx(cuts[percent - 1])
        samples = Samples("s", tuple(values))
        assert samples.median == pytest.approx(statistics.median(values))
        assert samples.p10 < samples.median < samples.p90 or size == 2


def test_the_ends_and_a_single_sample() -> None:
    assert percentile([3.0, 1.0, 2.0], 0) == 1.0
    assert percentile([3.0, 1.0, 2.0], 100) == 3.0
    assert percentile([7.0], 10) == percentile([7.0], 90) == 7.0


@pytest.mark.parametrize(("values", "percent"), [([], 50), ([1.0], -1), ([1.0], 101)])
def test_no_percentile_of_nothing(values: list[float], percent: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        percentile(values, percent)


def test_the_sides_take_turns_and_each_goes_first_every_other_time() -> None:
    log: list[str] = []
    snapd, git = alternate(
        3, lambda number: log.append(f"prepare {number}"), lambda: log.append("snapd"), lambda: log.append("git")
    )
    assert log == ["prepare 0", "snapd", "git", "prepare 1", "git", "snapd", "prepare 2", "snapd", "git"]
    assert len(snapd.values) == len(git.values) == 3


def test_a_different_answer_ends_the_run() -> None:
    answers = iter([1, 1, 1, 2])
    with pytest.raises(WrongResult, match="answered 1, git says 2"):
        alternate(5, lambda _: None, lambda: 1, lambda: next(answers))
    assert next(answers, None) is None


@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_every_side_has_each_place_and_follows_several_others(count: int) -> None:
    rounds: list[list[int]] = []
    checked: list[list[int]] = []

    def side(number: int) -> int:
        rounds[-1].append(number)
        return number

    repetitions = 4 * count
    samples = in_turns(
        repetitions,
        lambda _: rounds.append([]),
        [partial(side, number) for number in range(count)],
        checked.append,
    )
    assert rounds[0] == list(range(count))
    assert checked == [list(range(count))] * repetitions
    assert [len(one.values) for one in samples] == [repetitions] * count
    for places in zip(*rounds, strict=True):
        assert [places.count(number) for number in range(count)] == [4] * count
    followed = {pair for order in rounds for pair in pairwise(order)}
    assert count != 5 or len(followed) == 5 * 4


def test_one_side_that_differs_ends_the_run() -> None:
    with pytest.raises(WrongResult, match="answered 1, git says 2"):
        in_turns(1, lambda _: None, [lambda: 1, lambda: 1, lambda: 2], all_agree)
