"""How the cost of a step grows with the size of the project."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from benchmarks.bench import Pair
from benchmarks.results import Row
from benchmarks.trees import copy_tree, generated_tree, warm

from .tracks import tracks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.bench import Bench

STEPS = {"noop": ("no-op track", 0), "one": ("track, one changed file", 1)}


def growth(bench: Bench, sizes: list[int]) -> Iterator[Row]:
    """Steps in generated projects of these sizes, then the largest against the smallest."""
    measured: dict[tuple[str, int], Row] = {}
    for size in sizes:
        directory = bench.scratch()
        tree = os.path.join(directory, "project")
        copy_tree(generated_tree(bench.cache, size), tree)
        warm(tree)
        with Pair(tree, bench.scratch()) as pair:
            for step, (name, changed) in STEPS.items():
                row = tracks(
                    pair, f"growth-{step}-{size}", f"{name}, {size:,} files", changed, bench.counts.repetitions
                )
                measured[step, size] = row
                yield row
        shutil.rmtree(directory)
    least, most = min(sizes), max(sizes)
    for step, (name, _) in STEPS.items():
        base = measured[step, least].snapd
        yield Row(
            f"growth-{step}", f"{name}, {most:,} files", f"snapd at {least:,} files", measured[step, most].snapd, base
        )
