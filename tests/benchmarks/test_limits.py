"""The bounds from below: each is measured, does what it says, and is of a row that there is."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import limits
from benchmarks.bench import Counts
from benchmarks.goals import GOALS
from benchmarks.limits import Limits
from benchmarks.trees import generate
from tests.support.places import make_folder

COUNTS = Counts(repetitions=2, heavy=2, many=20, clients=2, slice_seconds=0.2, steps=5)
WITHOUT = {"commit", "idle", "memory-growth", "step-allocated", "packed-apparent", "packed-allocated"}
"""Goals without a bound; benchmarks/README.md says why."""


@pytest.fixture(scope="module")
def measured() -> Iterator[Limits]:
    folder = make_folder("limits-")
    tree, work = folder / "tree", folder / "work"
    tree.mkdir()
    work.mkdir()
    generate(str(tree), 60)
    (tree / ".git").mkdir()
    (tree / ".git" / "not-a-file-of-the-project").write_text("x")
    yield Limits(str(tree), str(work), COUNTS)
    shutil.rmtree(folder)


@pytest.mark.parametrize("key", sorted(key for key in limits.BOUNDS if not key.startswith(("flat-", "restore-many"))))
def test_a_bound_is_measured_once(measured: Limits, key: str) -> None:
    found = measured.of(key)
    assert found is not None
    assert all(value > 0 for value in found.values)
    assert measured.of(key) is found


def test_every_goal_has_a_bound_or_a_reason_for_having_none() -> None:
    known = set(limits.BOUNDS) | set(limits.SAME)
    assert set(limits.SAME.values()) <= set(limits.BOUNDS)
    lacking = {key for key in GOALS if key not in known and not key.startswith(("growth-", "push-", "fetch-"))}
    assert lacking == WITHOUT


def test_what_is_written_is_all_there(measured: Limits, tmp_path: Path) -> None:
    before = set(os.listdir(measured.work))
    measured.written(70)
    (new,) = set(os.listdir(measured.work)) - before
    written = Path(measured.work, new)
    assert sorted(os.listdir(written), key=int) == [str(number) for number in range(70)]
    assert (written / "61").read_bytes() == Path(measured.files[1]).read_bytes()


def test_all_cores_together_do_each_item_once(measured: Limits, tmp_path: Path) -> None:
    limits.on_all_cores(measured.files, lambda path: Path(path).read_bytes(), str(tmp_path))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == sum(map(os.path.getsize, measured.files))
    assert not any("/.git/" in path for path in measured.files)
    assert len(measured.files) == 60


def test_a_step_has_the_file_and_the_trees_above_it(measured: Limits) -> None:
    path = max(measured.files, key=lambda name: name.count("/"))
    blob, *trees = measured.objects([path])
    assert blob == Path(path).read_bytes()
    assert len(trees) == os.path.relpath(path, measured.tree).count("/") + 1
    assert zlib.decompress(zlib.compress(trees[0])) == trees[0]


def test_a_process_that_fails_ends_the_run(measured: Limits) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        measured.program("raise SystemExit(1)")
