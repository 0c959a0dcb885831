"""The rows of extremes and of parts, in small: what they measure is right, or they end with an error."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest

from benchmarks.bench import Bench, Counts
from benchmarks.git_algorithm import make_project
from benchmarks.measure import WrongResult
from benchmarks.results import Row
from benchmarks.rows.anatomy import anatomy
from benchmarks.rows.extremes import _Step, large, storm
from benchmarks.trees import generate
from tests.support.places import make_folder

COUNTS = Counts(repetitions=1, heavy=1, storm_files=200, storm_seconds=0.5)


@pytest.fixture
def bench() -> Iterator[Bench]:
    # with a short path: a socket lies in it
    folder = make_folder("rows-")
    (folder / "tree").mkdir()
    generate(str(folder / "tree"), 60)
    make_project(str(folder / "tree"))
    with Bench(str(folder / "tree"), str(folder), str(folder), COUNTS) as made:
        yield made
    shutil.rmtree(folder)


@pytest.mark.parametrize(("row", "keys"), [
    (anatomy, ["anatomy-refused", "anatomy-diff", "anatomy-track", "anatomy-client"]),
    (large, ["large-end", "large-files", "large-undo"]),
    (storm, ["storm-undo", "storm-p99"]),
])  # fmt: skip
def test_each_part_is_measured(bench: Bench, row: Callable[[Bench], Iterator[Row]], keys: list[str]) -> None:
    found = list(row(bench))
    assert [one.key for one in found] == keys
    assert all(value > 0 for one in found for value in one.snapd.values)


@pytest.mark.parametrize(("row", "part"), [(large, "undo"), (large, "files"), (storm, "undo"), (storm, "files")])
def test_a_wrong_answer_ends_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, row: Callable[[Bench], Iterator[Row]], part: str
) -> None:
    monkeypatch.setattr(_Step, part, lambda _: -1)
    with pytest.raises(WrongResult):
        list(row(bench))
