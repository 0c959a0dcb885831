"""Samples, their statistics, and taking them from several sides in turn."""

from __future__ import annotations

import gc
import math
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")


class WrongResult(Exception):
    """The two sides do not agree, or snapd gave a wrong answer: the benchmark has failed."""


@dataclass(frozen=True)
class Samples:
    """What was measured of one side.

    Attributes:
        unit: `s`, `B`, `%` or `1/s`.
        values: in the order in which they were taken; never empty.
    """

    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one, or the mean of the two in the middle."""
        return percentile(self.values, 50)

    @property
    def p10(self) -> float:
        """A tenth of the samples are below it."""
        return percentile(self.values, 10)

    @property
    def p90(self) -> float:
        """A tenth of the samples are above it."""
        return percentile(self.values, 90)


def percentile(values: Sequence[float], percent: float) -> float:
    """The percentile with linear interpolation between the two closest ranks.

    Args:
        values: in any order.
        percent: 0 to 100.

    Raises:
        ValueError: there are no values, or `percent` is out of range.
    """
    if not values or not 0 <= percent <= 100:
        raise ValueError("a percentile needs values, and a percentage from 0 to 100")
    ordered = sorted(values)
    rank = (len(ordered) - 1) * percent / 100
    low = math.floor(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (rank - low)


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Does it once.

    Returns:
        How many seconds it took, and what it gave.
    """
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def all_agree(answers: Sequence[object]) -> None:
    """Raises `WrongResult` unless all sides gave the same, of which snapd is the first."""
    for other in answers[1:]:
        agree(answers[0], other)


def agree(snapd: object, git: object) -> None:
    """Raises `WrongResult` unless both sides gave the same."""
    if snapd != git:
        raise WrongResult(f"snapd answered {snapd!r:.200}, git says {git!r:.200}")


def alternate(
    repetitions: int,
    prepare: Callable[[int], object],
    snapd: Callable[[], A],
    git: Callable[[], B],
    check: Callable[[A, B], None] = agree,
    *,
    settle: bool = False,
) -> tuple[Samples, Samples]:
    """Times two sides in turn on the same input; each goes first every other time.

    Args:
        repetitions: how many samples of each.
        prepare: makes the input of a repetition (its number is given); not timed.
        snapd: one side.
        git: the other side.
        check: raises where their results contradict each other; not timed.
        settle: write what waits in the page cache to disk before each sample, so that neither pays for the other.

    Returns:
        Seconds of snapd and of git.

    Raises:
        WrongResult: they do not agree.
    """
    ours, theirs = in_turns(repetitions, prepare, (snapd, git), lambda answers: check(*answers), settle=settle)
    return ours, theirs


def in_turns(
    repetitions: int,
    prepare: Callable[[int], object],
    sides: Sequence[Callable[[], Any]],
    check: Callable[[list[Any]], object],
    *,
    settle: bool = False,
) -> list[Samples]:
    """As `alternate`, for any number of sides; each takes every place in the order, after different sides.

    Args:
        repetitions: how many samples of each.
        prepare: makes the input of a repetition (its number is given); not timed.
        sides: what is timed.
        check: raises where the results of all sides, in their order, contradict each other; not timed.
        settle: write what waits in the page cache to disk before each sample, so that none pays for another.

    Returns:
        Seconds of each side.

    Raises:
        WrongResult: they do not agree.
    """
    count = len(sides)
    seconds: list[list[float]] = [[] for _ in sides]
    # steps through all places: with the same step every time, each side would follow the same one for ever
    steps = [step for step in range(1, count) if math.gcd(step, count) == 1] or [1]
    os.sync()
    for number in range(repetitions):
        prepare(number)
        step = steps[number // count % len(steps)]
        answers: dict[int, Any] = {}
        for place in range(count):
            side = (number + place * step) % count
            answers[side] = _sample(sides[side], seconds[side], settle)
        check([answers[side] for side in range(count)])
    return [Samples("s", tuple(one)) for one in seconds]


def _sample(work: Callable[[], T], seconds: list[float], settle: bool) -> T:
    if settle:
        os.sync()
    gc.collect()
    taken, result = timed(work)
    seconds.append(taken)
    return result
