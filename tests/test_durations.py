"""What is recorded of how long the tests take, and how it splits them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.durations import FILE, read_durations, split

MOST = 1 / 16
"""Of the time of a run: a module that takes more is slow, or is two modules."""


def test_a_module_of_make_test_is_quick() -> None:
    recorded = read_durations()["make test"]
    most = MOST * sum(recorded.values())
    assert not {module: seconds for module, seconds in recorded.items() if seconds > most}, "mark them as slow"


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("run", read_durations())
def test_parts_have_every_module_once_and_take_about_the_same_time(run: str, count: int) -> None:
    seconds = read_durations()[run]
    modules = {str(path.relative_to(FILE.parents[1])) for path in Path(FILE.parent).rglob("test_*.py")}
    parts = split(modules, count, seconds)
    assert sorted(module for part in parts for module in part) == sorted(modules)
    lengths = [sum(seconds.get(module, 1) for module in part) for part in parts]
    assert max(lengths) <= 1.1 * min(lengths) + max(seconds.values(), default=1)


def test_the_longest_come_first_and_the_unknown_are_usual() -> None:
    seconds = {"a": 10.0, "b": 6.0, "c": 5.0, "d": 1.0}
    assert split({"a", "b", "c", "d"}, 2, seconds) == [{"a", "d"}, {"b", "c"}]
    assert split({"a", "new"}, 1, seconds) == [{"a", "new"}]
    assert split({"x", "y"}, 3, {}) == [{"x"}, {"y"}, set()]
